"""A council's oracle on the chain of a node, by JSON-RPC alone, and money for participants."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.council.council_client import CONTRACT, CouncilClient
from pyevm_agents.workers.identity import StoreIdentity
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

NOBODY = "0x" + "00" * 20
ETHER = 10**18
BOND, REWARD = 10**16, 10**17
HOUR = 3_600
OPTIONS = "OPTIONS: yes|no"
TRANSACTION_GAS = 16_000_000
TOKEN_ANSWER = 3
"""`Answer.True` of RewardToken: as ERC-20 says."""

MARKET = "PredictionMarket"
LOWEST = -(2**31)
EVENTS = (
    "AgentCommitted(uint256,address,bytes32)",
    "AgentRevealed(uint256,address,bytes)",
    "DisputeResolved(uint256,bool,bytes)",
    "JudgeReasoned(uint256,address,bytes)",
    "JudgeRegistered(uint256,address)",
    "RewardsDistributed(uint256,address[],uint256[])",
)
NO_DISPUTES = (0, 600, 200_000, 1_000, 0, 0, 0)
DISPUTES = (HOUR, HOUR, 200_000, 1_000, 5_000, 5_000, 5_000)
"""Window, time to register, gas of callbacks; then parts in 10,000: the judge's fee, the dispute's
bond, and what the disputer and the dispute's judges get."""

DISPUTE_JUDGES = 3
EVERYBODY = bytes.fromhex("6760015f5260205ff35f5260086018f3")
"""Creates a source of reputation that answers 1 to all questions, so that everybody has a score."""


@dataclass
class CouncilChain:
    """A council on a node whose first account is unlocked."""

    ask_node: Callable[..., Any]
    url: str
    disputes: tuple[int, ...] = NO_DISPUTES
    phase_seconds: int = HOUR
    """Time to commit, to reveal, to draw and to judge."""

    has_plain_commitments: bool = False

    def __post_init__(self) -> None:
        self.sender = self.ask_node("eth_accounts")[0]
        receipt = self.send(None, self.build_creation())
        self.oracle = to_checksum_address(receipt["contractAddress"])

    def build_creation(self) -> bytes:
        """Return the creation code of the oracle."""
        has_disputes = self.disputes[0] > 0
        source = self.send(None, EVERYBODY)["contractAddress"] if has_disputes else NOBODY
        return load_artifact(CONTRACT).encode_creation(
            build_terms(self), to_checksum_address(source)
        )

    @property
    def canonical(self) -> bytes:
        return bytes.fromhex(self.oracle[2:])

    def send(self, to: str | None, data: bytes, value: int = 0) -> dict[str, Any]:
        receipt = self.attempt(self.sender, to, data, value)
        assert receipt["status"] == "0x1"
        return receipt

    def attempt(self, sender: str, to: str | None, data: bytes, value: int = 0) -> dict[str, Any]:
        """Send a transaction of an unlocked account; return its receipt, whatever became of it."""
        form = {"from": sender, "data": "0x" + data.hex(), "value": hex(value)}
        form["gas"] = hex(TRANSACTION_GAS)
        if to is not None:
            form["to"] = to
        sent = self.ask_node("eth_sendTransaction", form)
        end = time.monotonic() + HANG_SECONDS
        receipt: dict[str, Any] | None = None
        while receipt is None:  # anvil mines it after its answer.
            assert time.monotonic() < end
            receipt = self.ask_node("eth_getTransactionReceipt", sent)
        return receipt

    def call(self, function: str, *arguments: object, value: int = 0) -> None:
        self.send(self.oracle, load_artifact(CONTRACT).encode_call(function, *arguments), value)

    def fund(self, key: PrivateKey, wei: int = ETHER) -> str:
        address = key.public_key.to_checksum_address()
        self.ask_node("anvil_setBalance", address, hex(wei))
        return address

    def ask(
        self,
        *,
        agents: int = 1,
        specifications: str = OPTIONS,
        bond: int = BOND,
        required: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        query: str = "Is 7 a prime?",
        token: str = NOBODY,
    ) -> int:
        """Ask a question; return its number. A token is taken by its allowance."""
        block = self.ask_node("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC
        deadline = int(block["timestamp"], 16) + self.phase_seconds
        self.call(
            "createRequest",
            *(query, agents, bond, deadline, token, specifications, required),
            value=REWARD if token == NOBODY else 0,
        )
        return self.count_requests()

    def ask_by_market(self) -> str:
        """Deploy a market, a contract that asks one agent; return its address."""
        block = self.ask_node("eth_getBlockByNumber", "pending", False)  # noqa: FBT003 - JSON-RPC
        deadline = int(block["timestamp"], 16) + self.phase_seconds
        terms = (self.oracle, NOBODY, "Is 7 a prime?", 1, BOND, deadline)
        receipt = self.send(None, load_artifact(MARKET).encode_creation(*terms), REWARD)
        return to_checksum_address(receipt["contractAddress"])

    def count_requests(self) -> int:
        return int(self.read("requestCount"))

    def make_token(self) -> str:
        """Deploy a token, and approve one reward; return its address."""
        artifact = load_artifact("RewardToken")
        creation = artifact.encode_creation(TOKEN_ANSWER, REWARD)
        token = to_checksum_address(self.send(None, creation)["contractAddress"])
        self.send(token, artifact.encode_call("approve", self.oracle, REWARD))
        return token

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        client = CouncilClient(self.url, self.canonical)
        try:
            return client.read(function, *arguments)
        finally:
            client.close()

    def pass_time(self, seconds: int) -> None:
        block = self.ask_node("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
        self.ask_node("evm_setNextBlockTimestamp", int(block["timestamp"], 16) + seconds)
        self.ask_node("evm_mine")

    def find_events(self, name: str, request_id: int) -> list[dict[str, Any]]:
        [signature] = [each for each in EVENTS if each.startswith(f"{name}(")]
        topics = ["0x" + compute_topic(signature).hex(), f"0x{request_id:064x}"]
        query = {"address": self.oracle, "fromBlock": "0x0", "toBlock": "latest", "topics": topics}
        logs: list[dict[str, Any]] = self.ask_node("eth_getLogs", query)
        return logs

    def identify(self, client: CouncilClient, key: PrivateKey) -> StoreIdentity:
        return StoreIdentity.read(
            client, client.read_chain_id(), self.canonical, key.public_key.to_canonical_address()
        )


def read_lines(text: str) -> list[dict[str, Any]]:
    """Return events that were written as JSON lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def build_terms(chain: CouncilChain) -> tuple[object, ...]:
    """Return the rules of a chain's council: `Terms` of ICouncil.sol."""
    has_disputes = chain.disputes[0] > 0
    return (
        *[chain.phase_seconds] * 3,
        *chain.disputes,
        2,
        False,
        False,
        False,
        1,
        *[LOWEST] * 2,
        1 if has_disputes else LOWEST,
        DISPUTE_JUDGES,
        chain.has_plain_commitments,
    )
