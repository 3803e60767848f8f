"""An oracle, its worker and an agent on a served node, and the commands against them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_account import Account

from pyevm_agents.cli.app import main
from pyevm_agents.client.logs import parse_log
from pyevm_agents.oracle.codec import decode_request, get_topic
from pyevm_agents.oracle.recomputation import ForkComputer
from tests.byte_model import ByteModel
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import KEYS
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import Deployed, OracleChain, count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from pyevm_agents.oracle.messages import AgentRequest

PASSWORD = "correct horse"  # noqa: S105 - of a test's key
OWNER = KEYS[0].public_key.to_checksum_address()
OTHER = KEYS[1].public_key.to_checksum_address()
NO_CONTRACT = "0x" + "12" * 20


def write_keystore(path: Path, key: bytes) -> Path:
    """Write a keystore that is opened at once, for its key derivation has one iteration."""
    path.write_text(json.dumps(Account.encrypt(key, PASSWORD, kdf="pbkdf2", iterations=1)))
    return path


@dataclass
class Commands:
    """A chain with an oracle, and the commands on it."""

    chain: OracleChain

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        """Call a method of the node."""
        return self.chain.ask(method, *params)

    @property
    def oracle(self) -> str:
        return self.chain.oracle.address

    @property
    def agent(self) -> str:
        return self.chain.agent.address

    def run(self, *words: object, sender: str | None = OWNER, status: int = 0) -> Result:
        """Run a command of `oracle`; check its exit status."""
        options = ["--rpc-url", self.chain.url]
        if sender is not None:
            options += ["--unlocked", sender]
        environment = {"AGENT_ORACLE": self.oracle, "ETH_KEYSTORE": None, "ETH_PASSWORD": None}
        words = ("oracle", *words, *options)
        result = CliRunner().invoke(main, [str(word) for word in words], env=environment)
        assert result.exit_code == status, result.output
        return result

    def read(self, *words: object, sender: str | None = OWNER, status: int = 0) -> Any:  # noqa: ANN401
        """Run a command with `--json`; return its JSON."""
        return json.loads(self.run(*words, "--json", sender=sender, status=status).stdout)

    def status(self, *words: object) -> Any:  # noqa: ANN401
        """Return the oracle's status."""
        return self.read("status", *words, sender=None)

    def find_unsettled(self) -> list[dict[str, Any]]:
        """Return the requests that the oracle's status lists."""
        requests: list[dict[str, Any]] = self.status()["requests"]
        return requests

    def find_waiting(self) -> list[AgentRequest]:
        """Return the requests that wait for an answer, the oldest first."""
        query = {"fromBlock": "0x0", "topics": ["0x" + get_topic("AgentRequested").hex()]}
        requests = [decode_request(parse_log(log)) for log in self.ask("eth_getLogs", query)]
        return [
            each
            for each in requests
            if any(self.chain.oracle.read("commitmentOf", each.commitment.request_id))
        ]

    def answer(self, write: Any = count_and_answer) -> dict[str, Any] | None:  # noqa: ANN401
        """Answer the oldest request that waits; return the receipt, None if there is none."""
        waiting = self.find_waiting()
        if not waiting:
            return None
        with ForkComputer(self.chain.url, host(ByteModel(write)), retries=0) as computer:
            return self.chain.submit(waiting[0], computer.compute(waiting[0]))

    def answer_while_waiting(
        self,
        patch: pytest.MonkeyPatch,
        write: Any = count_and_answer,  # noqa: ANN401
    ) -> None:
        """Answer a request whenever a command waits for a run."""
        patch.setattr(
            "pyevm_agents.cli.oracle.run_output.sleep", lambda _seconds: self.answer(write)
        )

    def pass_time(self, seconds: int) -> None:
        """Mine a block so much later."""
        header = self.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC's
        self.ask("evm_setNextBlockTimestamp", int(header["timestamp"], 16) + seconds)
        self.ask("evm_mine")

    def use_challengeable(self, *options: object) -> str:
        """Replace the oracle by one whose answers can be challenged; return its address."""
        deployed = self.read(
            *("deploy", "--challengeable", "--arbiter", OTHER, "--bond", "1ether"), *options
        )
        address = str(deployed["oracle"])
        self.chain.oracle = Deployed(self.chain, "ChallengeableOracle", address)
        self.chain.agent = self.chain.deploy_agent()
        return address


@contextmanager
def serve_commands() -> Iterator[Commands]:
    """Serve a new chain with an oracle, for the commands."""
    served = Served()
    with fake_remote(served) as remote:
        yield Commands(OracleChain(served.ask, remote.url))
    served.close()


@pytest.fixture
def commands() -> Iterator[Commands]:
    with serve_commands() as commands:
        yield commands


@pytest.fixture(scope="module")
def unchanged_commands() -> Iterator[Commands]:
    """Commands for tests that change nothing on the chain."""
    with serve_commands() as commands:
        yield commands
