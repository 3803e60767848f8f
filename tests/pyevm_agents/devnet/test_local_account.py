"""An account of a chain of this process, and the same account by JSON-RPC: equal in all they do."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.accounts import NodeAccount, RevertedError, SentTransaction
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import AgentsError
from tests.pyevm_agents.forking.fake_remote import build_remote_chain, fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.client.accounts import SendingAccount

ORACLE = load_artifact("AgentOracle")


@pytest.fixture(params=["local", "key", "unlocked"])
def account(request: pytest.FixtureRequest) -> Iterator[SendingAccount]:
    served = build_remote_chain()
    with fake_remote(served) as remote, closing(RemoteClient(remote.url, retries=0)) as client:
        node = served.node
        kinds: dict[str, Callable[[], SendingAccount]] = {
            "local": lambda: LocalAccount(node.chain, KEYS[0], mine=node.mine_signed),
            "key": lambda: NodeAccount(client, KEYS[0]),
            "unlocked": lambda: NodeAccount(client, ADDRESSES[0]),
        }
        yield kinds[request.param]()
    served.close()


def test_every_kind_of_account_does_the_same(account: SendingAccount) -> None:
    before, nonces = account.read_block_number(), account.read_nonces()
    creation = ORACLE.encode_creation(account.address, (1, 2, 3))
    oracle = account.deploy(creation, purpose="AgentOracle")
    sent = account.transact(oracle, ORACLE.encode_call("setWorker", ADDRESSES[1], True))  # noqa: FBT003 - Solidity's
    assert isinstance(sent, SentTransaction)
    assert (sent.block_number, sent.contract) == (before + 2, None)
    assert account.read_nonces() == (nonces.mined + 2, nonces.pending + 2)
    output = account.read(oracle, ORACLE.encode_call("owner"))
    assert to_canonical_address(ORACLE.decode_result("owner", output)) == account.address
    [log] = sent.logs
    assert (log.address, log.transaction_hash) == (oracle, sent.hash)
    assert [*account.find_logs(oracle, log.topics, before)] == [log]
    assert [*account.find_logs(oracle, log.topics, before + 3)] == []
    assert account.read_origin(sent.hash) == (account.address, nonces.mined + 1)
    withdraw = ORACLE.encode_call("withdraw", ADDRESSES[1])
    for call in (account.read, account.transact):
        with pytest.raises(RevertedError) as raised:
            call(oracle, withdraw)
        assert raised.value.name == "NothingToWithdraw"
    with pytest.raises(AgentsError):
        account.deploy(creation[:-1])
    mined = account.read_block_number(), account.read_nonces().mined
    assert mined == (before + 2, nonces.mined + 2)  # What reverts is not sent.
    with pytest.raises(RevertedError):
        account.transact(oracle, withdraw, gas=100_000)
    assert account.read_block_number() == before + 3
    with pytest.raises(AgentsError):
        account.transact(ADDRESSES[1], b"", nonce=nonces.mined)
