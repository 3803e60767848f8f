"""Logs of a live chain before a fork: holders of roles, from nodes that answer and that refuse."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.config import ChainConfig
from pyevm_agents.contract_intelligence import remote_logs
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.remote_logs import read_remote_logs
from pyevm_agents.forking import open_fork
from tests.pyevm_agents.contract_intelligence.deployment import AGENT, list_functions
from tests.pyevm_agents.contract_intelligence.exchange import USER, build_account
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Iterator

DOORMAN, CASHIER = (str(to_checksum_address("0x" + digits * 20)) for digits in ("51", "52"))
RANGES = (None, 4)
IDLE_BLOCKS = 6


class LimitedServed(Served):
    """A node that refuses the logs of more blocks than some."""

    most_blocks = 0

    def ask(self, method: str, *params: Any) -> Any:  # noqa: ANN401 - JSON
        if method == "eth_getLogs":
            first, last = (int(params[0][each], 16) for each in ("fromBlock", "toBlock"))
            if last - first >= self.most_blocks:
                raise RefusedError({"code": -32005, "message": "exceed maximum block range"})
        return super().ask(method, *params)


@contextmanager
def open_on_fork(url: str) -> Iterator[Chain]:
    """Open a fork of a node's chain."""
    with closing(open_fork(url)) as block:
        chain = Chain(build_fork_config(ChainConfig(), block), fork=block)
        with closing(chain):
            yield chain


@pytest.mark.parametrize(
    ("most_blocks", "idle_blocks", "has_holders"),
    [(10**9, IDLE_BLOCKS, True), (4, 0, True), (4, IDLE_BLOCKS, False), (0, 0, False)],
)
def test_holders_of_roles_are_found_as_far_as_the_node_tells(
    most_blocks: int, idle_blocks: int, *, has_holders: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_logs, "ROLE_RANGES", RANGES)
    account, artifact = build_account(), load_artifact("ClubBox")
    club = account.deploy(artifact.encode_creation(USER, DOORMAN, CASHIER))
    for _ in range(idle_blocks):
        account.chain.mine()
    served = LimitedServed(chain=account.chain)
    served.most_blocks = most_blocks
    with fake_remote(served) as remote, open_on_fork(remote.url) as chain:
        found = analyse_functions(chain, club, list_functions(artifact.abi), AGENT)
    served.close()
    callers = {each.name: each.callers for each in found}
    expected = ((DOORMAN,), (CASHIER,)) if has_holders else ((), ())
    assert (callers["admit"], callers["reset"]) == expected


@pytest.mark.parametrize(
    "answer",
    [None, {}, [{}], [{"topics": ["0x1"], "data": 5}, "x", {"topics": 1}], [{"topics": ["x"]}]],
)
def test_malformed_logs_are_left_out(answer: object) -> None:
    account = build_account()
    served = Served(chain=account.chain)

    def answer_logs(method: str, result: object) -> object:
        return answer if method == "eth_getLogs" else result

    with fake_remote(served) as remote:
        remote.faults.change_result = answer_logs
        with open_on_fork(remote.url) as chain:
            assert read_remote_logs(chain, account.address) == []
    served.close()


def test_a_chain_of_its_own_has_no_earlier_logs() -> None:
    account = build_account()
    assert read_remote_logs(account.chain, account.address) == []
