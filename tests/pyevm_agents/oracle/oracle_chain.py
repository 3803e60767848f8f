"""A chain without executor with an oracle, a worker, a counter and an agent, by JSON-RPC alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.logs import parse_log
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.models.fakes.scripted import render_step
from pyevm_agents.oracle.codec import decode_request, encode_answer, get_topic
from pyevm_agents.oracle.signatures import sign_evidence
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.oracle.messages import AgentRequest, ComputedAnswer

WORKER_KEY = PrivateKey(b"\x77" * 32)
WORKER = WORKER_KEY.public_key.to_checksum_address()
NOBODY = "0x" + "00" * 20
COINBASE = "0x" + "c0" * 20
"""Not the zero address, which is the result handler of runs without one."""

PRICES = (10**12, 10**9, 250_000)
"""Wei of an inference, wei of a gas, gas of an answer."""

BOND, WINDOW = 10**15, 600
CALLBACK_GAS = 2_000_000
TRANSACTION_GAS = 12_000_000
PROMPT = "Add 7 to the counter"
BASE_PROMPT = "You count. Use CounterTool to add a number to the counter."


def count_and_answer(request: GenerationRequest) -> str:
    """Add 7, then say so."""
    prompt = "".join(segment.text for segment in request.segments)
    if "The counter is:" in prompt:
        return render_step(answer("The counter has it.", thought="It is done"), request.handles)
    step = use("CounterTool", thought="The user wants 7", amount=7)
    return render_step(step, request.handles)


@dataclass
class Deployed:
    """A contract and its address."""

    chain: OracleChain
    name: str
    address: str

    @property
    def canonical(self) -> bytes:
        return bytes.fromhex(self.address[2:])

    def encode(self, function: str, *arguments: object) -> bytes:
        return load_artifact(self.name).encode_call(function, *arguments)

    def send(self, function: str, *arguments: object, value: int = 0) -> dict[str, Any]:
        return self.chain.send(self.address, self.encode(function, *arguments), value=value)

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401
        contract = load_artifact(self.name)
        call = {"to": self.address, "data": "0x" + contract.encode_call(function, *arguments).hex()}
        output = self.chain.ask("eth_call", call, "latest")
        return contract.decode_result(function, bytes.fromhex(output[2:]))


class OracleChain:
    """The contracts on a chain of a node whose first account is unlocked."""

    def __init__(self, ask: Callable[..., Any], url: str, *, iterations: int = 3) -> None:
        self.ask, self.url = ask, url
        self.sender = ask("eth_accounts")[0]
        ask("hardhat_setCoinbase", COINBASE)
        self.chain_id = int(ask("eth_chainId"), 16)
        self.oracle = self.deploy("AgentOracle", self.sender, PRICES)
        self.oracle.send("setWorker", WORKER, True)  # noqa: FBT003 - an argument of a contract
        self.counter = self.deploy("CounterTool")
        self.agent = self.deploy_agent(iterations=iterations)

    def deploy(self, name: str, *arguments: object) -> Deployed:
        receipt = self.send(None, load_artifact(name).encode_creation(*arguments))
        return Deployed(self, name, to_checksum_address(receipt["contractAddress"]))

    def deploy_agent(
        self,
        *,
        tools: tuple[str, ...] | None = None,
        iterations: int = 3,
        model: str = "llama_model_3",
        callback_gas: int = CALLBACK_GAS,
        oracle: Deployed | None = None,
    ) -> Deployed:
        return self.deploy(
            "SimpleCallbackAgent",
            ((oracle or self.oracle).address, callback_gas, 3_600, 86_400),
            model,
            "Counting Agent",
            "Counts",
            "what to count",
            BASE_PROMPT,
            [self.counter.address] if tools is None else [*tools],
            iterations,
        )

    def deploy_challengeable(self) -> Deployed:
        """Deploy an oracle whose answers can be challenged, with the worker and its stake."""
        terms = (NOBODY[:-1] + "1", BOND, WINDOW, WINDOW)
        oracle = self.deploy("ChallengeableOracle", self.sender, PRICES, terms)
        oracle.send("setWorker", WORKER, True)  # noqa: FBT003 - an argument of a contract
        return oracle

    def stake_of_worker(self, oracle: Deployed) -> None:
        """Let the worker stake a bond."""
        self.ask("anvil_setBalance", WORKER, hex(10**20))
        self.ask("anvil_impersonateAccount", WORKER)
        data = "0x" + load_artifact(oracle.name).encode_call("stake").hex()
        fields = {"from": WORKER, "to": oracle.address, "data": data, "value": hex(BOND)}
        receipt = self.wait_for_receipt(self.ask("eth_sendTransaction", fields))
        assert receipt["status"] == "0x1"

    def send(
        self,
        to: str | None,
        data: bytes,
        *,
        value: int = 0,
        gas: int = TRANSACTION_GAS,
        sender: str | None = None,
    ) -> dict[str, Any]:
        """Send a transaction; return its receipt."""
        fields = {
            "from": sender or self.sender,
            "data": "0x" + data.hex(),
            "value": hex(value),
            "gas": hex(gas),
        }
        if to is not None:
            fields["to"] = to
        transaction = self.ask("eth_sendTransaction", fields)
        receipt = self.wait_for_receipt(transaction)
        assert receipt["status"] == "0x1", self.ask("eth_call", fields, "latest")
        return receipt

    def wait_for_receipt(self, transaction: str) -> dict[str, Any]:
        """Return the receipt of a transaction once it is mined: anvil answers before."""
        end = time.monotonic() + HANG_SECONDS
        while (receipt := self.ask("eth_getTransactionReceipt", transaction)) is None:
            assert time.monotonic() < end, transaction
            time.sleep(0.01)
        found: dict[str, Any] = receipt
        return found

    def ask_agent(self, prompt: str = PROMPT, agent: Deployed | None = None) -> AgentRequest:
        """Start a run; return its request."""
        agent = agent or self.agent
        self.agent_cost = agent.read("costOfRun")
        return self.find_requests(agent.send("ask", prompt, NOBODY, value=self.agent_cost))[0]

    def find_requests(self, receipt: dict[str, Any]) -> list[AgentRequest]:
        """Return the requests in a transaction."""
        topic = "0x" + get_topic("AgentRequested").hex()
        return [
            decode_request(parse_log(log)) for log in receipt["logs"] if log["topics"][0] == topic
        ]

    def encode_signed(self, request: AgentRequest, computed: ComputedAnswer) -> bytes:
        """Return the calldata of an answer that the worker signed."""
        signature = sign_evidence(
            WORKER_KEY, self.chain_id, request, computed.answer, computed.evidence
        )
        return encode_answer(request.commitment, computed.answer, computed.evidence, signature)

    def submit(
        self, request: AgentRequest, computed: ComputedAnswer, *, gas: int = TRANSACTION_GAS
    ) -> dict[str, Any]:
        """Hand in an answer; return the receipt."""
        oracle = "0x" + request.oracle.hex()
        return self.send(oracle, self.encode_signed(request, computed), gas=gas)
