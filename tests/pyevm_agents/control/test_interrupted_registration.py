"""Registrations that stop between the first transaction and agent.json, and the next try."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.identity import REGISTER, SET_URI, register_agent
from pyevm_agents.control.pending_registration import (
    PENDING_FILE,
    REGISTERED,
    PendingRegistration,
    read_pending,
    write_pending,
)
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault, RemoteFault
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.client.accounts import AccountNonces, SentTransaction

REGISTRY = REGISTRY_ADDRESSES[TESTNET].identity
OWNER = to_checksum_address(DEVELOPMENT_ADDRESS)


class ProcessEnd(BaseException):
    """The end of the process: nothing that the product catches."""


class InterruptedAccount(LocalAccount):
    """Stops before or after its first transaction, or lies about the pool."""

    before: BaseException | None = None
    after: BaseException | None = None
    unmined = 0
    """How many transactions the pool has."""

    def read_nonces(self) -> AccountNonces:
        nonces = super().read_nonces()
        return nonces._replace(pending=nonces.mined + self.unmined)

    def transact(self, to: bytes | None, data: bytes, **options: Any) -> SentTransaction:  # noqa: ANN401 - of the base class
        if self.before is not None:
            raise self.before
        mined = super().transact(to, data, **options)
        if self.after is not None:
            raise self.after
        return mined


@pytest.fixture
def chain() -> Chain:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    funded = dict.fromkeys([DEVELOPMENT_ADDRESS, *ADDRESSES], funds)
    return Chain(ChainConfig(), {}, accounts={**funded, **build_registries(TESTNET)})


@pytest.fixture
def account(chain: Chain) -> InterruptedAccount:
    account = InterruptedAccount(chain)
    account.transact(REGISTRY, REGISTER + encode(["string"], ["other:1"]))
    return account


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    return make_agent(tmp_path)


def list_entries(account: LocalAccount) -> list[int]:
    """Return the IDs of all entries but the other agent's."""
    found = account.find_logs(REGISTRY, (REGISTERED, None, account.address.rjust(32, b"\0")), 0)
    return [int.from_bytes(each.topics[1], "big") for each in found][1:]


def interrupt(folder: AgentFolder, account: InterruptedAccount, moment: str) -> PendingRegistration:
    """Begin a registration that ends at a moment; return what it left."""
    setattr(account, moment, ProcessEnd())
    with pytest.raises(ProcessEnd):
        register_agent(folder, account, REGISTRY)
    setattr(account, moment, None)
    assert folder.read_manifest().identity is None
    pending = read_pending(folder.path / PENDING_FILE)
    assert pending is not None
    return pending


def complete(
    folder: AgentFolder, account: LocalAccount, uri: str | None = None
) -> tuple[list[str], int]:
    """Register; check that the agent has one entry. Return what was told, and the transactions."""
    told: list[str] = []
    result = register_agent(folder, account, REGISTRY, uri=uri, tell=told.append)
    identity = result.manifest.identity
    assert identity is not None
    assert result.is_new
    assert list_entries(account) == [identity.agent_id]
    assert folder.read_manifest() == result.manifest
    assert validate_folder(folder) == ()
    assert not (folder.path / PENDING_FILE).exists()
    artifact = load_artifact("IdentityRegistry")
    output = account.read(REGISTRY, artifact.encode_call("tokenURI", identity.agent_id))
    assert artifact.decode_result("tokenURI", output) == result.uri
    return told, len(result.transaction_hashes)


def test_the_file_names_the_transaction(folder: AgentFolder, account: InterruptedAccount) -> None:
    pending = interrupt(folder, account, "before")
    assert pending == PendingRegistration(
        chain_id=account.chain_id,
        genesis_hash=account.genesis_hash,
        registry=REGISTRY,
        sender=DEVELOPMENT_ADDRESS,
        nonce=1,
        block_number=1,
        uri="",
    )
    assert json.loads((folder.path / PENDING_FILE).read_text())["sender"] == OWNER


def test_what_was_not_sent_is_sent_again(folder: AgentFolder, account: InterruptedAccount) -> None:
    interrupt(folder, account, "before")
    told, count = complete(folder, account)
    assert told == [
        "The interrupted registration with nonce 1 is not on the chain and is sent again."
    ]
    assert count == 2


def test_a_mined_entry_is_completed(folder: AgentFolder, account: InterruptedAccount) -> None:
    interrupt(folder, account, "after")
    [agent_id] = list_entries(account)
    account.transact(REGISTRY, REGISTER + encode(["string"], ["other:2"]))
    told: list[str] = []
    result = register_agent(folder, account, REGISTRY, uri="https://me.example/a", tell=told.append)
    identity = result.manifest.identity
    assert identity is not None
    assert (identity.agent_id, result.is_new, result.uri) == (
        agent_id,
        True,
        "https://me.example/a",
    )
    assert len(result.transaction_hashes) == 1  # The URI alone.
    [line] = told
    assert line.endswith(f" made agent {agent_id}, in transaction {identity.registration_hash}.")
    assert not (folder.path / PENDING_FILE).exists()
    assert register_agent(folder, account, REGISTRY, uri=result.uri).transaction_hashes == ()
    assert list_entries(account) == [agent_id, agent_id + 1]


def test_a_reorganization_does_not_hide_an_entry(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    pending = interrupt(folder, account, "after")
    path = folder.path / PENDING_FILE
    write_pending(path, replace(pending, block_number=pending.block_number + 2))
    assert complete(folder, account)[1] == 1


@pytest.mark.parametrize("uri", [None, "other:2"])
def test_a_nonce_that_was_used_otherwise_begins_anew(
    folder: AgentFolder, account: InterruptedAccount, uri: str | None
) -> None:
    interrupt(folder, account, "before")
    if uri is None:
        account.transact(ADDRESSES[1], b"")
    else:
        account.transact(REGISTRY, REGISTER + encode(["string"], [uri]))
    before = list_entries(account)
    told: list[str] = []
    result = register_agent(folder, account, REGISTRY, tell=told.append)
    identity = result.manifest.identity
    assert identity is not None
    [line] = told
    assert line.endswith("is not on the chain: another transaction has the nonce. It begins anew.")
    assert list_entries(account) == [*before, identity.agent_id]
    assert not (folder.path / PENDING_FILE).exists()


def test_unmined_transactions_are_waited_for(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    interrupt(folder, account, "before")
    account.unmined = 2
    with pytest.raises(AgentsError, match=r"nonce is 1 now and 3 after them; try again when"):
        register_agent(folder, account, REGISTRY)
    assert list_entries(account) == []
    account.unmined = 0
    complete(folder, account)


def test_transactions_that_are_gone_are_waited_for(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    account.unmined = 2
    assert interrupt(folder, account, "before").nonce == 3
    account.unmined = 0
    with pytest.raises(AgentsError, match=r"nonce 3 of .* next nonce is 1, and the node has no"):
        register_agent(folder, account, REGISTRY)
    (folder.path / PENDING_FILE).unlink()
    complete(folder, account)


def test_an_entry_that_has_another_uri_since_is_not_taken(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    interrupt(folder, account, "after")
    [agent_id] = list_entries(account)
    data = encode(["uint256", "string"], [agent_id, "other:3"])
    account.transact(REGISTRY, SET_URI + data)
    with pytest.raises(ConfigError, match=f"made agent {agent_id} of .* to 'other:3'; if that is"):
        register_agent(folder, account, REGISTRY)
    assert folder.read_manifest().identity is None


def test_a_file_that_outlives_the_manifest_is_removed(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    pending = interrupt(folder, account, "before")
    complete(folder, account)
    write_pending(folder.path / PENDING_FILE, pending)
    result = register_agent(folder, account, REGISTRY)
    assert (result.is_new, result.transaction_hashes) == (False, ())
    assert not (folder.path / PENDING_FILE).exists()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"chain_id": 1}, "chain ID 1 was interrupted, and this one has chain ID "),
        ({"genesis_hash": b"\x11" * 32}, f"genesis block 0x{'11' * 32} was interrupted"),
        ({"registry": b"\x11" * 20}, f"registry 0x{'11' * 20} was interrupted"),
        ({"sender": b"\x11" * 20}, f"sender 0x{'11' * 20} was interrupted.* sender {OWNER}; "),
    ],
)
def test_a_registration_elsewhere_is_not_given_up(
    folder: AgentFolder, account: InterruptedAccount, change: dict[str, Any], text: str
) -> None:
    pending = interrupt(folder, account, "before")
    path = folder.path / PENDING_FILE
    write_pending(path, replace(pending, **change))
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=text + ".*remove the file"):
        register_agent(folder, account, REGISTRY)
    assert path.read_bytes() == before
    assert list_entries(account) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda text: text[:40], "not a pending registration: .*then remove the file"),
        (lambda _: "[]", "not a pending registration: "),
        (lambda text: text.replace('"nonce": 1', '"nonce": -1'), "nonce -1: must be a whole"),
        (lambda text: text.replace('"nonce": 1', '"nonce": true'), "nonce True: must be a whole"),
        (lambda text: text.replace("uri", "url"), "uri None: must "),
        (lambda text: text.replace(OWNER, "0x12"), "sender '0x12': must match"),
    ],
)
def test_a_damaged_file_is_not_overwritten(
    folder: AgentFolder, account: InterruptedAccount, change: Callable[[str], str], text: str
) -> None:
    interrupt(folder, account, "before")
    path = folder.path / PENDING_FILE
    damaged = change(path.read_text())
    path.write_text(damaged)
    with pytest.raises(ConfigError, match=text):
        register_agent(folder, account, REGISTRY)
    assert path.read_text() == damaged
    assert list_entries(account) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_lost_connection_leaves_the_file(
    folder: AgentFolder, account: InterruptedAccount, moment: str
) -> None:
    setattr(account, moment, RemoteFault("the node is gone"))
    with pytest.raises(EngineFault):
        register_agent(folder, account, REGISTRY)
    setattr(account, moment, None)
    assert (folder.path / PENDING_FILE).exists()
    complete(folder, account)


def test_a_refused_transaction_leaves_no_file(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    account.before = AgentsError("too little ether")
    with pytest.raises(AgentsError, match="too little ether"):
        register_agent(folder, account, REGISTRY)
    assert not (folder.path / PENDING_FILE).exists()
    account.before = None
    account.after = AgentsError("an error after it was mined")
    with pytest.raises(AgentsError, match="an error after"):
        register_agent(folder, account, REGISTRY)
    assert (folder.path / PENDING_FILE).exists()
    account.after = None
    with pytest.raises(ConfigError, match=r"registry .* was interrupted"):
        register_agent(folder, account, b"\x11" * 20)
    complete(folder, account)


def test_a_contract_that_is_no_registry_leaves_no_file(
    folder: AgentFolder, account: InterruptedAccount
) -> None:
    with pytest.raises(AgentsError, match="emitted no Registered event"):
        register_agent(folder, account, b"\x11" * 20)
    assert not (folder.path / PENDING_FILE).exists()
    complete(folder, account)


def test_another_transaction_with_the_nonce_is_not_followed_by_a_second_one(
    account: InterruptedAccount,
) -> None:
    with pytest.raises(AgentsError, match=r"nonce 0: must be the account's next one, 1;"):
        account.transact(REGISTRY, REGISTER + encode(["string"], [""]), nonce=0)
    assert list_entries(account) == []
