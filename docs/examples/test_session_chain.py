"""A chain that the tests of a session share: docs/testing.md."""

import pytest

from pyevm_agents.testing import AgentChain


@pytest.fixture(scope="session")
def shared_chain():
    with AgentChain() as chain:
        yield chain


@pytest.fixture
def chain(shared_chain):
    with shared_chain.rolled_back():
        yield shared_chain
        shared_chain.model.verify()  # the script is used up


def test_a_contract_is_deployed(chain):
    assert chain.deploy("CounterTool").functions.number().call() == 0
