"""Two agents and a judge on a real anvil: its headers are proven, and its fees are paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.council.participants import Judge
from tests.clients.anvil_node import running_anvil
from tests.pyevm_agents.council.council_chain import NOBODY, CouncilChain
from tests.pyevm_agents.council.living import KEYS, CountingAnswer, living

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_a_council_on_anvil(tmp_path: Path) -> None:
    with running_anvil(tmp_path) as node:
        chain = CouncilChain(node.ask, node.url)
        accounts = [chain.fund(key) for key in KEYS[:3]]
        number = chain.ask(agents=2, specifications="")
        with (
            living(chain, tmp_path / "0", source=CountingAnswer("Paris")) as one,
            living(chain, tmp_path / "1", key=KEYS[1], source=CountingAnswer("Lyon")) as two,
            living(chain, tmp_path / "2", Judge, key=KEYS[2]) as judge,
        ):
            judge.work_until("mined", kind="registerJudge")
            for life in (one, two):
                life.work_until("mined", kind="commit")
            for life in (one, two):
                life.work_until("mined", kind="reveal")
            chain.ask_node("anvil_mine", "0x3")
            judge.work_until("mined", kind="selectJudge")
            judge.work_until("mined", kind="aggregate")
            for life in (judge, one):
                life.work_until("mined", kind="withdraw")
            assert two.work_until("ended")["outcome"] == "wrong"
        assert chain.read("getResolution", number) == (b"Paris", True)
        assert [chain.read("claimable", NOBODY, each) for each in accounts] == [0, 0, 0]
        head = chain.ask_node("eth_getBlockByNumber", "latest", True)  # noqa: FBT003 - JSON-RPC
        [withdrawal] = head["transactions"]
        assert withdrawal["type"] == "0x2"
