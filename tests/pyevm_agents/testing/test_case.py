"""The kit under `unittest`, without pytest."""

from __future__ import annotations

import threading
import unittest

from pyevm_agents.models import answer, use
from pyevm_agents.schedule_file import ScheduleFile
from pyevm_agents.testing.case import AgentTestCase
from pyevm_agents.testing.chain import live_chains
from tests.pyevm_agents.testing.agents import clerk


def result_of(case: type[AgentTestCase]) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_each_test_has_a_chain() -> None:
    class Case(AgentTestCase):
        def test_counts(self) -> None:
            counter = self.deploy("CounterTool")
            agent = clerk(self.chain, counter)
            self.model.script(use("CounterTool", amount=5), answer("done"))
            self.chain.ask(agent, "Add five")
            assert counter.functions.number().call() == 5
            assert self.w3.eth.get_balance(self.accounts[9]) == 10_000 * 10**18

        def test_begins_anew(self) -> None:
            assert self.w3.eth.block_number == 0

    before = threading.active_count(), live_chains()
    result = result_of(Case)
    assert result.testsRun == 2
    assert result.wasSuccessful(), result.errors + result.failures
    assert (threading.active_count(), live_chains()) == before


def test_a_script_that_is_not_used_up_fails() -> None:
    class Case(AgentTestCase):
        def test_forgets(self) -> None:
            self.model.script(answer("done"))

    before = threading.active_count()
    assert not result_of(Case).wasSuccessful()
    assert threading.active_count() == before


def test_a_test_that_fails_leaves_nothing() -> None:
    class Case(AgentTestCase):
        def test_fails(self) -> None:
            self.deploy("CounterTool")
            self.fail("on purpose")

    before = threading.active_count(), live_chains()
    assert len(result_of(Case).failures) == 1
    assert (threading.active_count(), live_chains()) == before


def test_an_unknown_model_is_told() -> None:
    class Case(AgentTestCase):
        agent_model = "gpt"

        def test_nothing(self) -> None: ...

    [(_, told)] = result_of(Case).errors
    assert "there is no model 'gpt'" in told


def test_a_schedule_is_the_classs() -> None:
    class Case(AgentTestCase):
        agent_schedule = ScheduleFile(models={"*": {"output_token_gas": 29}})

        def test_costs(self) -> None:
            assert self.chain.chain.config.models[0].output_token_gas == 29
            self.model.script(answer("done"))
            receipt = self.chain.ask(clerk(self.chain), "Nothing")
            (step,) = self.chain.steps(receipt["transactionHash"])
            assert step.inference.output_gas == 29 * step.inference.output_tokens

    result = result_of(Case)
    assert result.wasSuccessful(), result.errors + result.failures


def test_a_schedules_file_that_is_none_is_told() -> None:
    class Case(AgentTestCase):
        agent_schedule = "none.json"

        def test_nothing(self) -> None: ...

    [(_, told)] = result_of(Case).errors
    assert "schedule in none.json: the file can't be read" in told
