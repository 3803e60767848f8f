"""An oracle on the plain EVM: workers that sign, a clock, block hashes, agents and answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_abi import decode, encode
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_canonical_address

from tests.contracts.plain_evm import GAS, OWNER, STRANGER, ZERO, Account, Evm, plain_evm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.contracts.plain_evm import Contract

WORKER = Account(PrivateKey(b"\x11" * 32))
OTHER_WORKER = Account(PrivateKey(b"\x12" * 32))
ETHER = 10**18
PRICES = (10**15, 10**9, 300_000)
"""Wei of an inference, wei of one gas, gas of an answer."""

CALLBACK_GAS = 500_000
FEE = PRICES[0] + PRICES[1] * (CALLBACK_GAS + PRICES[2])
TIMEOUT = 600
LIFETIME = 3_600
AGENT_GAS = 3_000_000
MAX_ITERATIONS = 4
ITERATION_TYPE = "(bool,string,address,((uint8,bytes)[],bytes),string)"
COMMITMENT_TYPE = "(uint256,address,uint256,bytes32,uint32,uint128,uint64,uint64)"
REQUESTED = int.from_bytes(keccak(text=f"AgentRequested(uint256,address,{COMMITMENT_TYPE},bytes)"))
ANSWERED, REFUSED, EXPIRED = 1, 2, 3
"""Members of `Outcome`."""


@dataclass(frozen=True, slots=True)
class Order:
    """`Order` of IAgentOracle.sol."""

    arguments: bytes = b"the arguments"
    budget_id: int = 0
    subscription_id: int = 0
    payer: str = ZERO
    steps: int = 1
    callback_gas_limit: int = CALLBACK_GAS
    lifetime: int = LIFETIME
    timeout: int = TIMEOUT

    def encoded(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that waits; the members are those of `Commitment`."""

    request_id: int
    client: str
    budget_id: int
    arguments_hash: bytes
    callback_gas_limit: int
    fee: int
    block_number: int
    deadline: int

    def encoded(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """All that a worker hands in."""

    request: Request
    output: bytes
    refused: bool
    evidence: tuple[bytes, ...]
    signature: bytes

    def arguments(self) -> tuple[object, ...]:
        return (
            self.request.encoded(),
            (self.refused, self.output),
            self.evidence,
            self.signature,
        )


class RecordingEvm(Evm):
    """Keeps every request that any oracle logged."""

    def __init__(self) -> None:
        super().__init__(plain_evm().vm)
        self.seen: dict[int, Request] = {}

    def send(
        self,
        to: str | None,
        data: bytes,
        *,
        sender: Account = OWNER,
        value_wei: int = 0,
        gas: int = GAS,
    ) -> bytes:
        output = super().send(to, data, sender=sender, value_wei=value_wei, gas=gas)
        for _, topics, logged in self.last.get_log_entries():
            if topics[0] == REQUESTED:
                commitment, _arguments = decode([COMMITMENT_TYPE, "bytes"], logged)
                self.seen[topics[1]] = Request(*commitment)
        return output


@dataclass
class OracleBench:
    """An oracle with two registered workers."""

    evm: RecordingEvm = field(default_factory=RecordingEvm)
    oracle_name: str = "AgentOracle"
    oracle_arguments: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        for worker in (WORKER, OTHER_WORKER):
            self.evm.vm.state.set_balance(to_canonical_address(worker.address), 10**24)
        self.pass_time(blocks=1_000)
        self.oracle = self.evm.deploy(
            self.oracle_name, OWNER.address, PRICES, *self.oracle_arguments
        )
        for worker in (WORKER, OTHER_WORKER):
            self.oracle("setWorker", worker.address, True)  # noqa: FBT003 - Solidity's order

    # ---- Blocks

    @property
    def now(self) -> int:
        return self.evm.now

    @property
    def block_number(self) -> int:
        return self.evm.block_number

    def pass_time(self, seconds: int = 0, *, blocks: int = 0) -> None:
        """Go on to a later time and block; block n has the hash keccak(n)."""
        self.evm.pass_time(seconds, blocks=blocks, hash_of=hash_of_block)

    def balance(self, address: str) -> int:
        return self.evm.vm.state.get_balance(to_canonical_address(address))

    # ---- Requests

    def client(self) -> Contract:
        return self.evm.deploy("OracleClient", self.oracle.address)

    def request(
        self,
        client: Contract | Account,
        order: Order | None = None,
        *,
        value_wei: int | None = None,
    ) -> Request:
        """Send an order as a client; by default its value is what the new budget costs."""
        order = order or Order()
        if value_wei is None:
            pays = not order.budget_id and not order.subscription_id
            value_wei = order.steps * self.fee(order.callback_gas_limit) if pays else 0
        if isinstance(client, Account):
            self.oracle("request", order.encoded(), sender=client, value_wei=value_wei)
        else:
            data = self.oracle.artifact.encode_call("request", order.encoded())
            client("callOracle", data, value_wei=value_wei)
        return self.requests()[-1]

    def fee(self, callback_gas_limit: int) -> int:
        fee: int = self.oracle("feeOf", callback_gas_limit)
        return fee

    def requests(self) -> list[Request]:
        """Return the requests of the last transaction."""
        return [Request(*e["commitment"]) for e in self.oracle.events("AgentRequested")]

    # ---- Answers

    def sign(
        self,
        request: Request,
        output: bytes = b"the output",
        *,
        refused: bool = False,
        worker: Account = WORKER,
        **changed: bytes,
    ) -> SignedAnswer:
        """Return an answer with a worker's signature."""
        members = {
            "block_hash": hash_of_block(request.block_number),
            "model_digest": b"\x01" * 32,
            "profile_fingerprint": b"\x02" * 32,
            "prompt_hash": b"\x03" * 32,
            "output_hash": keccak(output),
        }
        evidence = tuple((members | changed).values())
        digest = self.oracle(
            "digestOf", request.request_id, request.arguments_hash, refused, evidence
        )
        signature = worker.key.sign_msg_hash(digest)
        vrs = (signature.v + 27).to_bytes(1, "big")
        signed = signature.r.to_bytes(32, "big") + signature.s.to_bytes(32, "big") + vrs
        return SignedAnswer(request, output, refused, evidence, signed)

    def send(self, answer: SignedAnswer, *, sender: Account = STRANGER, gas: int = GAS) -> bool:
        """Hand in an answer; return whether the client took it."""
        delivered: bool = self.oracle("answer", *answer.arguments(), sender=sender, gas=gas)
        return delivered

    def answer(
        self,
        request: Request,
        output: bytes = b"the output",
        *,
        refused: bool = False,
        worker: Account = WORKER,
        gas: int = GAS,
    ) -> bool:
        """Sign an answer and hand it in, in a later block."""
        self.pass_time(12, blocks=1)
        return self.send(self.sign(request, output, refused=refused, worker=worker), gas=gas)

    def expire(self, request: Request) -> bool:
        """End a request after its deadline."""
        self.pass_time(max(0, request.deadline + 1 - self.now), blocks=1)
        delivered: bool = self.oracle("expire", request.encoded(), sender=STRANGER)
        return delivered

    # ---- Agents

    def agent(
        self,
        tools: Iterable[Contract] = (),
        *,
        name: str = "Some Agent",
        max_iterations: int = MAX_ITERATIONS,
        callback_gas_limit: int = AGENT_GAS,
        step_timeout: int = TIMEOUT,
        run_timeout: int = LIFETIME,
    ) -> Contract:
        return self.evm.deploy(
            "SimpleCallbackAgent",
            (self.oracle.address, callback_gas_limit, step_timeout, run_timeout),
            *("some-model", name, "Does things", "What to do", "You do things."),
            [tool.address for tool in tools],
            max_iterations,
        )

    def ask(
        self,
        agent: Contract,
        prompt: str = "the prompt",
        handler: str = ZERO,
        *,
        sender: Account = STRANGER,
    ) -> int:
        """Start a run with the value that it costs; return its ID."""
        cost = agent("costOfRun")
        run_id: int = agent("ask", prompt, handler, sender=sender, value_wei=cost)
        return run_id

    def say(self, *steps: tuple[object, ...], run_id: int = 1, agent: Contract) -> None:
        """Answer the requests of a run one after the other with these iteration results."""
        for step in steps:
            assert self.answer(self.request_of(agent, run_id), encode_iteration(step))

    def request_of(self, agent: Contract, run_id: int = 1) -> Request:
        """Return the request that a run waits for."""
        _, _, _, _, _, request_id, _ = agent("runOf", run_id)
        return self.evm.seen[request_id]


def hash_of_block(number: int) -> bytes:
    """Return the hash of a block on this bench."""
    return keccak(number.to_bytes(32, "big"))


def encode_iteration(step: tuple[object, ...]) -> bytes:
    """Return an AgentIterationResult as the executor returns it."""
    return encode([ITERATION_TYPE], [step])
