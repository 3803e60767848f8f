"""What an agent that is a contract says, as the answer of an info agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.council.answers import fold
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.deployed_agents import AgentAnswer, find_result
from pyevm_agents.errors import ConfigError
from tests.byte_model import ByteModel
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import count_and_answer

if TYPE_CHECKING:
    from tests.pyevm_agents.council.council_chain import CouncilChain


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ("Paris", "Paris"),
        ("Done. count_ships: 61", "61"),
        ("Done. count_ships: 61; count_cranes: 9", "61; count_cranes: 9"),
        ("Done. a:b: c", "c"),
        ("Done. It is: 61", "Done. It is: 61"),
        ("Done.", "Done."),
    ],
)
def test_the_result_of_a_tool_is_the_answer(said: str, result: str) -> None:
    assert find_result(said) == result


def test_quotes_around_an_answer_do_not_count() -> None:
    assert fold(b' "Lyon".') == fold(b"lyon") == b"lyon"


@pytest.mark.parametrize(
    ("is_contract", "message"), [(True, "not an IERCAgent"), (False, "no contract on chain")]
)
def test_what_is_no_agent_is_refused(
    chain: CouncilChain, *, is_contract: bool, message: str
) -> None:
    client = CouncilClient(chain.url, chain.canonical, retries=0)
    agent = chain.canonical if is_contract else b"\x12" * 20
    source = AgentAnswer(
        client, chain.url, host(ByteModel(count_and_answer)), agent, caller=bytes(20)
    )
    with pytest.raises(ConfigError, match=message):
        source.require_agent()
    client.close()
