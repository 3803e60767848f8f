"""`agent register` is ended by `kill -9` at every moment: the next try makes no second entry."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.cli.app import main
from pyevm_agents.control.pending_registration import PENDING_FILE, REGISTERED
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.devnet.node_process import run_anvil
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_folder
from tests.clients.packages import foundry_program
from tests.clients.running_node import RunningNode, running_node
from tests.deadlines import HANG_SECONDS
from tests.killed_registration import MOMENTS
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.control.agents_of_tests import make_agent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click.testing import Result

ROOT = Path(__file__).resolve().parents[1]
REGISTRY = REGISTRY_ADDRESSES[TESTNET].identity
SENDER = DEVELOPMENT_KEY.public_key.to_checksum_address()

MINED = {"mined", "manifest", "documents", "removed", "uri", "uri sent"}
"""Moments after the first transaction was mined."""

REGISTERED_THERE = MINED - {"mined"}
"""Moments after agent.json has the entry."""


class KilledRegistrations:
    """The process whose forks begin registrations."""

    def __init__(self, folder: Path) -> None:
        self._errors = folder / "killed.err"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.killed_registration"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip

    def begin(self, moment: str, words: Sequence[str]) -> None:
        """Begin a registration that ends at a moment."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([moment, *words]) + "\n")
        self._process.stdin.flush()
        status = self._process.stdout.readline().strip()
        assert status == str(-signal.SIGKILL), self._errors.read_text()

    def close(self) -> None:
        self._process.communicate(timeout=HANG_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registrar:
    """Registers agents on a node, some of them not to the end."""

    node: RunningNode
    signer: tuple[str, ...]
    killed: KilledRegistrations

    def kill(self, folder: AgentFolder, moment: str) -> None:
        """Begin a registration that ends at a moment."""
        self.killed.begin(moment, self._words(folder))

    def register(self, folder: AgentFolder, *, status: int = 0) -> Result:
        """Register to the end; check the exit status."""
        empty = {"ETH_KEYSTORE": None, "ETH_RPC_URL": None}
        result = CliRunner().invoke(main, ["agent", "register", *self._words(folder)], env=empty)
        assert result.exit_code == status, result.output
        return result

    def _words(self, folder: AgentFolder) -> list[str]:
        return [str(folder.path), "--rpc-url", self.node.url, *self.signer]

    def list_entries(self) -> list[int]:
        """Return the IDs of all entries of the registry."""
        form = {
            "address": to_checksum_address(REGISTRY),
            "fromBlock": "0x0",
            "topics": ["0x" + REGISTERED.hex()],
        }
        return [int(each["topics"][1], 16) for each in self.node.ask("eth_getLogs", form)]

    def set_automatic(self, *, is_automatic: bool) -> None:
        """Mine a block for each transaction, or none."""
        self.node.ask("evm_setAutomine", is_automatic)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledRegistrations]:
    with closing(KilledRegistrations(tmp_path_factory.mktemp("killed"))) as killed:
        yield killed


@pytest.fixture(scope="module")
def node(
    killed: KilledRegistrations, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registrar]:
    """Registers by an account that our node signs for."""
    with running_node(tmp_path_factory.mktemp("node"), "--registries", "--no-model") as node:
        yield Registrar(node=node, signer=("--unlocked", SENDER), killed=killed)


@pytest.fixture(scope="module")
def anvil(
    killed: KilledRegistrations, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registrar]:
    """Registers by a keystore, on anvil."""
    folder = tmp_path_factory.mktemp("anvil")
    (folder / "password").write_text(PASSWORD)
    keystore = write_keystore(folder / "key.json", DEVELOPMENT_KEY.to_bytes())
    signer = ("--keystore", str(keystore), "--password-file", str(folder / "password"))
    with run_anvil(foundry_program("anvil", "anvil"), "--hardfork", "prague") as url:
        node = RunningNode(url)
        code = build_registries(TESTNET)[REGISTRY].code
        node.ask("anvil_setCode", to_checksum_address(REGISTRY), "0x" + code.hex())
        node.ask("anvil_setBalance", SENDER, hex(10**20))
        yield Registrar(node=node, signer=signer, killed=killed)


def require_registered(registrar: Registrar, folder: AgentFolder, before: list[int]) -> None:
    """Check that an agent has one entry, and that nothing of a kill is left."""
    identity = folder.read_manifest().identity
    assert identity is not None
    assert registrar.list_entries() == [*before, identity.agent_id]
    receipt: Any = registrar.node.ask("eth_getTransactionReceipt", identity.registration_hash)
    assert receipt["from"] == SENDER.lower()
    assert validate_folder(folder) == ()
    assert not (folder.path / PENDING_FILE).exists()
    assert list(folder.path.glob("*.part")) == []
    assert "was registered before" in registrar.register(folder).stdout
    assert registrar.list_entries() == [*before, identity.agent_id]


def try_a_kill(registrar: Registrar, folder: AgentFolder, moment: str) -> None:
    """End a registration at a moment, and complete it."""
    before = registrar.list_entries()
    registrar.kill(folder, moment)
    assert (len(registrar.list_entries()) > len(before)) == (moment in MINED | {"sent"})
    assert (folder.read_manifest().identity is not None) == (moment in REGISTERED_THERE)
    told = registrar.register(folder).stdout
    state = "was registered before" if moment in REGISTERED_THERE else "is registered"
    assert f"gas-watcher {state}: agent " in told
    assert ("The interrupted registration" in told) == (moment in {"unsent", "sent", "mined"})
    require_registered(registrar, folder, before)


def try_a_full_pool(registrar: Registrar, folder: AgentFolder) -> None:
    """End a registration before it is mined, and complete it when it is."""
    before = registrar.list_entries()
    registrar.set_automatic(is_automatic=False)
    try:
        registrar.kill(folder, "sent")
        nonce = int(registrar.node.ask("eth_getTransactionCount", SENDER, "latest"), 16)
        refused = registrar.register(folder, status=1).stderr
        assert f"its next nonce is {nonce} now and {nonce + 1} after them; try again" in refused
        assert registrar.list_entries() == before
        registrar.node.ask("evm_mine")
    finally:
        registrar.set_automatic(is_automatic=True)
    assert f"nonce {nonce} made agent " in registrar.register(folder).stdout
    require_registered(registrar, folder, before)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_agent_has_one_entry_after_a_kill(node: Registrar, tmp_path: Path, moment: str) -> None:
    try_a_kill(node, make_agent(tmp_path), moment)


@pytest.mark.slow
def test_a_transaction_in_the_pool_is_not_sent_again(node: Registrar, tmp_path: Path) -> None:
    try_a_full_pool(node, make_agent(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["sent", "mined"])
def test_an_agent_of_a_keystore_has_one_entry_on_anvil(
    anvil: Registrar, tmp_path: Path, moment: str
) -> None:
    try_a_kill(anvil, make_agent(tmp_path), moment)


@pytest.mark.slow
def test_a_transaction_in_the_pool_of_anvil_is_not_sent_again(
    anvil: Registrar, tmp_path: Path
) -> None:
    try_a_full_pool(anvil, make_agent(tmp_path))
