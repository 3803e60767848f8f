"""The kit under `unittest`, without pytest."""

from __future__ import annotations

import threading
import unittest
from contextlib import suppress

from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.errors import ScriptError
from pyevm_agents.models import answer, use
from pyevm_agents.testing.assertions import assert_agent
from pyevm_agents.testing.run_log import open_sources
from pyevm_agents.testing.unittest_case import AgentTestCase
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

    before = threading.active_count(), tuple(open_sources)
    result = result_of(Case)
    assert result.testsRun == 2
    assert result.wasSuccessful(), result.errors + result.failures
    assert (threading.active_count(), tuple(open_sources)) == before


def test_a_set_up_that_begins_no_chain_is_told() -> None:
    class Case(AgentTestCase):
        def setUp(self) -> None:
            self.limit = 1

        def test_deploys(self) -> None:
            self.deploy("CounterTool")

    (*_, (_, told)) = result_of(Case).errors
    assert "has no attribute 'chain': it has no chain yet; call super().setUp() first" in told


def test_a_script_that_is_not_used_up_fails() -> None:
    class Case(AgentTestCase):
        def test_forgets(self) -> None:
            self.model.script(answer("done"))

    before = threading.active_count()
    result = result_of(Case)
    ((_, told),) = result.errors
    assert "The script is not used up" in told
    assert not result.failures
    assert threading.active_count() == before


def test_what_a_model_failed_with_is_told_once() -> None:
    class Case(AgentTestCase):
        def test_asks_for_more(self) -> None:
            agent = clerk(self.chain, self.deploy("CounterTool"))
            self.model.script(use("CounterTool", amount=5))
            self.chain.ask(agent, "Add five")

        def test_fails_for_another_reason(self) -> None:
            self.model.script(answer("done"))
            self.fail("on purpose")

    result = result_of(Case)
    ((_, told),) = result.errors
    assert "The script has 1 step and all are used" in told
    ((_, told),) = result.failures
    assert "on purpose" in told


def test_a_failure_that_a_test_swallowed_is_told() -> None:
    class Case(AgentTestCase):
        def test_swallows(self) -> None:
            agent = clerk(self.chain, self.deploy("CounterTool"))
            self.model.script(use("CounterTool", amount=5))
            with suppress(ScriptError):
                self.chain.ask(agent, "Add five")

    ((_, told),) = result_of(Case).errors
    assert "The script has 1 step and all are used" in told


def test_a_failed_assertion_ends_with_the_line_of_the_test() -> None:
    class Case(AgentTestCase):
        def test_asserts(self) -> None:
            agent = clerk(self.chain, self.deploy("CounterTool"))
            self.model.script(answer("done"))
            assert_agent(self.chain.ask(agent, "Add five")).used("CounterTool")

    ((_, told),) = result_of(Case).failures
    assert told.count("  File ") == 1
    assert 'assert_agent(self.chain.ask(agent, "Add five")).used("CounterTool")' in told
    assert "used('CounterTool') does not hold" in told


def test_an_assertion_of_unittests_ends_with_the_line_of_the_test() -> None:
    class Case(AgentTestCase):
        def test_asserts(self) -> None:
            self.assertEqual(1, 2)  # noqa: PT009 - as a user of unittest has it

    ((_, told),) = result_of(Case).failures
    assert told.count("  File ") == 1
    assert "self.assertEqual(1, 2)" in told


def test_asynchronous_tests_are_verified_too() -> None:
    class First(unittest.IsolatedAsyncioTestCase, AgentTestCase):
        async def test_forgets(self) -> None:
            self.model.script(answer("done"))

    class Second(AgentTestCase, unittest.IsolatedAsyncioTestCase):
        async def test_forgets(self) -> None:
            self.model.script(answer("done"))

    for case in (First, Second):
        ((_, told),) = result_of(case).errors
        assert "The script is not used up" in told


def test_a_test_that_fails_leaves_nothing() -> None:
    class Case(AgentTestCase):
        def test_fails(self) -> None:
            self.deploy("CounterTool")
            self.fail("on purpose")

    before = threading.active_count(), tuple(open_sources)
    assert len(result_of(Case).failures) == 1
    assert (threading.active_count(), tuple(open_sources)) == before


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


def test_a_fork_is_the_classs() -> None:
    class Case(AgentTestCase):
        agent_fork = "cancun"

        def test_fork(self) -> None:
            assert self.chain.chain.config.fork == "cancun"

    assert result_of(Case).wasSuccessful()


def test_a_schedules_file_that_is_none_is_told() -> None:
    class Case(AgentTestCase):
        agent_schedule = "none.json"

        def test_nothing(self) -> None: ...

    [(_, told)] = result_of(Case).errors
    assert "schedule in none.json: the file can't be read" in told
