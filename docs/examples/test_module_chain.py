"""A chain that the tests of a module share: docs/testing.md."""

import pytest


@pytest.fixture(scope="module")
def counter(module_agent_chain):
    return module_agent_chain.deploy("CounterTool")


@pytest.mark.parametrize("turn", range(2))
def test_each_test_starts_with_the_deployed_state(counter, turn):
    assert counter.functions.number().call() == 0
    counter.functions.add(5).transact()


def test_the_fixtures_are_those_of_the_modules_chain(agent_chain, module_agent_chain, counter):
    assert agent_chain is module_agent_chain
