"""Simulation of runs on a fork, to the end: how much gas the callbacks take.

The run is started, each request is answered by the model, and each answer is handed in as a worker
would. The callback gas of a step is the least `callbackGasLimit` with which the callback does the
same as with the most gas: the same calls, each with the same success, and the same logs. A search
tries limits: the callback does the same with the found limit, and not with one gas less.

Exact, for an unchanged state:

* Callback gas, where the callback reads nothing of the block or of the transaction that carries the
  callback. The gas is a function of state, request and answer, and the answer is a pure function of
  the model.
  Request IDs are known before: they are hashes of chain, oracle, client and the oracle's count of
  requests. The oracle's own reads of the block's time and number are harmless: both go into a hash
  and an event, whose gas does not depend on the value.

Upper bounds:

* Callback gas, where a tool or the agent reads the block or the transaction: TIMESTAMP, NUMBER,
  PREVRANDAO, BASEFEE, COINBASE, BLOCKHASH, GASLIMIT, BLOBBASEFEE, ORIGIN, GASPRICE. The estimate is
  the most of `ENVIRONMENTS`. A contract that does something else at another time may need more.
* Callback gas, where the callback calls or inspects the account that is the latest block's
  coinbase, which is warm from the start (EIP-3651). The account is counted as cold, and reported as
  COINBASE. The worker's account, which is warm as well, is counted as cold.
* Gas of the answer transaction: the worker has been credited nothing yet, and every byte of ID,
  block, deadline and signature is counted as non-zero.

Other requests to the oracle in the meantime change the IDs of later steps. Agents use an ID as a
key alone, which costs the same for every value.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eth.constants import GAS_TX
from eth.exceptions import OutOfGas, VMError
from eth.vm import opcode_values as op
from eth_abi.exceptions import DecodingError
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.chain import AccountOverride, BlockSettings, Call, Chain
from pyevm_agents.chain.calls import BlockOverride
from pyevm_agents.chain.gas_estimation import GasTrial, find_least_gas
from pyevm_agents.chain.mined_logs import list_logs
from pyevm_agents.chain.transactions import impersonate
from pyevm_agents.client.contract import INVALID_INTERFACE, compute_interface_id
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.agent_run import STATUSES, split_steps
from pyevm_agents.oracle.callback_estimate import (
    CallbackEstimate,
    StepEstimate,
    TransactionGas,
)
from pyevm_agents.oracle.codec import (
    MessageError,
    decode_request,
    encode_answer,
    encode_finalize,
    get_topic,
    hash_commitment,
)
from pyevm_agents.oracle.signatures import sign_evidence
from pyevm_agents.tracing.tracer import NoopTracer
from pyevm_agents.tracing.vm import make_traced_vm
from pyevm_agents.vm import RuleError
from pyevm_agents.vm.stack_depth import iter_computations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.abc import BlockHeaderAPI, ComputationAPI, StateAPI

    from pyevm_agents.chain import CallResult, MinedBlock
    from pyevm_agents.oracle.messages import AgentRequest, Answer, Commitment, ComputedAnswer
    from pyevm_agents.oracle.recomputation import RequestExecutor
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep
    from pyevm_agents.vm import AgentVM, ForkBlock, Interruption

MAX_CALLBACK_GAS = 11_000_000
"""Source: `AgentOracle.MAX_CALLBACK_GAS`."""

TRIAL_GAS = 100_000_000
"""Gas of a simulated answer, which pays nothing: enough for the most callback gas."""

MAX_STEPS = 256
"""Requests of one estimate: agents can ask each other without end."""

BYTE_GAS_DIFFERENCE = 12
"""Gas between a byte of calldata that is zero and one that is not. Source: EIP-2028."""

FLOOR_TOKEN_GAS, TOKENS_OF_BYTE = 10, 4
"""Floor price of calldata: gas of a token, tokens of a byte that is not zero. Source: EIP-7623."""

WORKER_KEY = PrivateKey(keccak(b"pyevm-agents: worker of callback estimates"))
"""Signs the simulated answers. Nobody has reason to send it anything."""

WORKER = Address(WORKER_KEY.public_key.to_canonical_address())
OTHER_SENDER = Address(b"\xff" * 20)
COINBASE = Address(keccak(b"pyevm-agents: coinbase of callback estimates")[:20])
"""An address that no contract calls: one that is warm from the start would be cheaper."""

BALANCE_WEI = 10**24
"""Ether that simulated senders get in addition to theirs."""

HOUR_SECONDS = 3_600
MAX_HASH = b"\xff" * 32
MAX_ID, MAX_NUMBER = 2**256 - 1, 2**64 - 1

ENVIRONMENT_OPCODES: Mapping[int, str] = {
    op.ORIGIN: "ORIGIN",
    op.GASPRICE: "GASPRICE",
    op.BLOCKHASH: "BLOCKHASH",
    op.COINBASE: "COINBASE",
    op.TIMESTAMP: "TIMESTAMP",
    op.NUMBER: "NUMBER",
    op.DIFFICULTY: "PREVRANDAO",
    op.GASLIMIT: "GASLIMIT",
    op.BASEFEE: "BASEFEE",
    op.BLOBHASH: "BLOBHASH",
    op.BLOBBASEFEE: "BLOBBASEFEE",
}
"""Opcodes that read the block or the transaction."""

AGENT_KINDS: Mapping[str, str] = {
    "IERCAgentTool": "CallbackAgent",
    "IERCAgentToolV1": "CallbackAgentV1",
}
"""The contract of an agent with callbacks, by the interface of the ERC's version."""

HARMLESS_READERS = frozenset({"AgentOracle", "ChallengeableOracle"})
"""Contracts whose gas does not depend on what they read of the block."""


class NotCallbackAgentError(AgentsError):
    """An address is not an agent whose callback gas can be estimated."""


class UnestimableError(AgentsError):
    """A run, or the run's oracle, can't be simulated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A block and a sender in which a callback is tried."""

    seconds: int = 0
    """After the next block; at most until the request's deadline."""

    blocks: int = 0
    prev_randao: bytes | None = None
    base_fee_wei: int | None = None
    coinbase: Address = COINBASE
    sender: Address = WORKER
    gas_price_wei: int = 0


ENVIRONMENTS = (
    Environment(),
    Environment(seconds=1, blocks=1, prev_randao=bytes(32), base_fee_wei=0),
    Environment(
        seconds=HOUR_SECONDS,
        blocks=300,
        prev_randao=MAX_HASH,
        base_fee_wei=10**12,
        gas_price_wei=10**12,
        sender=OTHER_SENDER,
    ),
    Environment(seconds=24 * HOUR_SECONDS, blocks=7_200, prev_randao=b"\x01" + bytes(31)),
    Environment(seconds=365 * 24 * HOUR_SECONDS, blocks=2_628_000, coinbase=OTHER_SENDER),
)
"""The next block first; then later ones, with the extremes of what a block can have."""


# -- runs -- #


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredRun:
    """A run that was executed to the end on the chain of an estimator."""

    agent: Address
    sender: Address
    oracles: frozenset[Address]
    base_prompt: str
    blocks: tuple[MinedBlock, ...]
    """The blocks of its transactions, in order: that which asks, then the answers."""

    answers: tuple[Answer, ...]
    status: str
    """Where it is after the last answer, such as `Answered`."""

    result: str
    """The answer, or the reason of the failure."""

    reasoning: tuple[str, ...]
    tool_results: tuple[str, ...]
    """Of each step that used a tool."""


class CallbackEstimator:
    """Simulates runs on a separate chain, which continues a block of another one."""

    def __init__(
        self,
        block: ForkBlock,
        executor: RequestExecutor,
        *,
        hardfork: str | None = None,
        interruption: Interruption | None = None,
    ) -> None:
        """Open the chain.

        Input:
            block: the block to continue, which the caller closes.
            executor: of the requests.
            hardfork: the rules of the contracts; None for those of the block.
            interruption: ends simulated executions from another thread.

        Raises: ConfigError: the chain has other code at the executor's address. RemoteFault.
        """
        self._executor, self._interruption = executor, interruption
        self._chain = executor.open_fork(block, hardfork=hardfork)
        self._ready_oracles: set[bytes] = set()
        self.coinbase = Address(block.header.coinbase)
        """Of the latest block of the chain that this one continues."""

    def close(self) -> None:
        """Close the chain."""
        self._chain.close()

    def estimate_run(
        self, agent: bytes, prompt: str, *, sender: bytes | None = None
    ) -> CallbackEstimate:
        """Estimate a run that `ask` starts.

        Input:
            agent: the CallbackAgent or CallbackAgentV1, 20 bytes.
            prompt: of the run.
            sender: of the transaction; None for the agent's owner.

        Raises:
            NotCallbackAgentError: there is no such agent.
            UnestimableError: the run does not start, or the oracle is not an AgentOracle.
            EngineFault: the model or the remote node failed.
        """
        address = Address(agent)
        kind = self._find_kind(address)
        asker = Address(sender or self._read_address(address, kind, "owner"))
        contract = load_artifact(kind)
        cost = int(self._read(address, kind, "costOfRun"))
        base_fee_wei = int(self._chain.build_next_header().base_fee_per_gas or 0)
        self._fund(asker)
        data = contract.encode_call("ask", prompt, "0x" + "00" * 20)
        call = Call(to=address, sender=asker, data=data, value_wei=cost)
        try:
            ask_gas = self._chain.estimate_gas(replace(call, interruption=self._interruption))
        except VMError as error:
            result = self._chain.call(call)
            reason = explain_failure(result.computation) if result.error else str(error)
            raise UnestimableError(
                f"agent {to_checksum_address(agent)}: ask fails: {reason}; pass another sender "
                "with --from, or mend it"
            ) from error
        mined = self._send(asker, address, data, value_wei=cost)
        run_id = int(contract.decode_result("ask", mined.computations[0].output))
        steps = self._estimate_all(self._find_requests(mined))
        status = int(self._read(address, kind, "statusOf", run_id))
        return CallbackEstimate(
            steps=steps,
            ask_gas=ask_gas,
            reserved_wei=cost,
            base_fee_wei=base_fee_wei,
            status=STATUSES[status] if status < len(STATUSES) else str(status),
            result=str(self._read(address, kind, "resultOf", run_id)) or None,
        )

    def deliver_run(
        self, agent: bytes, prompt: str, *, sender: bytes | None = None
    ) -> DeliveredRun:
        """Execute a run to the end, with the callback gas that the agent pays for.

        Input and errors are those of `estimate_run`. No gas is searched, so this takes less time.
        """
        address = Address(agent)
        kind = self._find_kind(address)
        asker = Address(sender or self._read_address(address, kind, "owner"))
        cost = int(self._read(address, kind, "costOfRun"))
        self._fund(asker)
        data = load_artifact(kind).encode_call("ask", prompt, "0x" + "00" * 20)
        mined = self._send(asker, address, data, value_wei=cost)
        run_id = int(load_artifact(kind).decode_result("ask", mined.computations[0].output))
        blocks: list[MinedBlock] = [mined]
        answers: list[Answer] = []
        oracles: set[Address] = set()
        queue = deque(self._find_requests(mined))
        while queue:
            if len(answers) == MAX_STEPS:
                raise UnestimableError(f"run of more than {MAX_STEPS} requests: must have fewer")
            request = queue.popleft()
            computed = self._execute(request)
            self._prepare_oracle(request.oracle)
            mined = _Delivery(self, request, computed).deliver()
            blocks.append(mined)
            answers.append(computed.answer)
            oracles.add(Address(request.oracle))
            queue.extend(self._find_requests(mined))
        status = int(self._read(address, kind, "statusOf", run_id))
        is_v1 = kind == AGENT_KINDS["IERCAgentToolV1"]
        steps = self._read(address, kind, "stepsOf", run_id)
        reasoning, results = split_steps(steps) if is_v1 else steps
        return DeliveredRun(
            agent=address,
            sender=asker,
            oracles=frozenset(oracles),
            base_prompt=str(self._read(address, kind, "description" if is_v1 else "basePrompt")),
            blocks=tuple(blocks),
            answers=tuple(answers),
            status=STATUSES[status] if status < len(STATUSES) else str(status),
            result=str(self._read(address, kind, "resultOf", run_id)),
            reasoning=tuple(reasoning),
            tool_results=tuple(results),
        )

    def estimate_request(self, request: AgentRequest, computed: ComputedAnswer) -> CallbackEstimate:
        """Estimate a run from a request on, which waits for its answer.

        Input: the request; the answer.
        Raises: see `estimate_run`.
        """
        waiting = self._read_hash(request)
        if waiting != hash_commitment(request.commitment):
            raise UnestimableError(
                f"request 0x{request.commitment.request_id:064x}: does not wait for an answer: it "
                "was answered or has expired; pass one that waits"
            )
        return CallbackEstimate(steps=self._estimate_all([request], computed))

    def _estimate_all(
        self, requests: list[AgentRequest], first: ComputedAnswer | None = None
    ) -> tuple[StepEstimate, ...]:
        """Answer requests, and the requests that follow."""
        queue, steps = deque(requests), list[StepEstimate]()
        while queue:
            if len(steps) == MAX_STEPS:
                raise UnestimableError(f"run of more than {MAX_STEPS} requests: must have fewer")
            request = queue.popleft()
            computed = first or self._execute(request)
            first = None
            self._prepare_oracle(request.oracle)
            step, mined = _Delivery(self, request, computed).estimate()
            steps.append(step)
            if mined is not None:
                queue.extend(self._find_requests(mined))
        return tuple(steps)

    def _execute(self, request: AgentRequest) -> ComputedAnswer:
        header = self._chain.header_by_hash(request.block_hash)
        return self._executor.execute(self._chain, request, header, self._interruption)

    # -- the simulated chain -- #

    @property
    def chain(self) -> Chain:
        """The chain."""
        return self._chain

    def call(self, call: Call, **options: Any) -> CallResult:  # noqa: ANN401 - of `Chain.call`
        """Execute a call that ends when this estimate has to."""
        return self._chain.call(replace(call, interruption=self._interruption), **options)

    def send(self, sender: Address, to: Address, data: bytes, **settings: Any) -> MinedBlock:  # noqa: ANN401 - of `_send`
        """Mine a transaction that has to succeed."""
        return self._send(sender, to, data, **settings)

    def _send(
        self,
        sender: Address,
        to: Address,
        data: bytes,
        *,
        value_wei: int = 0,
        timestamp_seconds: int | None = None,
    ) -> MinedBlock:
        call = Call(to=to, sender=sender, data=data, value_wei=value_wei)
        unsigned = self._chain.build_unsigned_transaction(call)
        signed = unsigned.as_signed_transaction(WORKER_KEY, chain_id=self._chain.config.chain_id)
        try:
            mined = self._chain.mine(
                [impersonate(signed, sender)],
                settings=BlockSettings(timestamp_seconds=timestamp_seconds, coinbase=COINBASE),
            )
        except RuleError as error:
            raise UnestimableError(f"simulated transaction: {error}") from error
        computation = mined.computations[0]
        if computation.is_error:
            raise UnestimableError(
                f"simulated transaction to {to_checksum_address(to)} fails: "
                f"{explain_failure(computation)}"
            )
        return mined

    def _fund(self, *accounts: Address) -> None:
        def add_ether(state: StateAPI) -> None:
            for each in dict.fromkeys(accounts):
                state.set_balance(each, state.get_balance(each) + BALANCE_WEI)

        self._chain.patch_state(add_ether)

    def _prepare_oracle(self, oracle: bytes) -> None:
        """Register the estimate's worker with an oracle, with a stake where needed."""
        if oracle in self._ready_oracles:
            return
        address = Address(oracle)
        owner = self._read_address(address, "AgentOracle", "owner")
        self._fund(owner, WORKER)
        register = load_artifact("AgentOracle").encode_call(
            "setWorker",
            to_checksum_address(WORKER),
            True,  # noqa: FBT003 - an argument of a contract
        )
        self._send(owner, address, register)
        if self.has_window(oracle):
            bond = int(self._read(address, "ChallengeableOracle", "bond"))
            data = load_artifact("ChallengeableOracle").encode_call("stake")
            self._send(WORKER, address, data, value_wei=bond)
        self._ready_oracles.add(oracle)

    def has_window(self, oracle: bytes) -> bool:
        """Return whether answers of an oracle wait before their callbacks."""
        try:
            return bool(self._read(Address(oracle), "ChallengeableOracle", "challengeWindow"))
        except UnestimableError:
            return False

    def read_window(self, oracle: bytes) -> int:
        """Return the seconds in which an oracle's answers can be challenged."""
        return int(self._read(Address(oracle), "ChallengeableOracle", "challengeWindow"))

    def _find_kind(self, agent: Address) -> str:
        """Return the contract whose ABI an agent with callbacks has, by ERC-165.

        Raises: NotCallbackAgentError: not such an agent.
        """
        name = to_checksum_address(agent)
        if not self._chain.code(agent):
            raise NotCallbackAgentError(f"agent {name}: has no code; pass a contract's address")
        if self._supports(agent, "IAgentOracleClient"):
            for interface, kind in AGENT_KINDS.items():
                if self._supports(agent, interface):
                    return kind
        raise NotCallbackAgentError(
            f"agent {name}: not a CallbackAgent or CallbackAgentV1, by its supportsInterface "
            "(ERC-165); for the gas of an agent that runs in one transaction, omit --callback"
        )

    def _supports(self, contract: Address, interface: str) -> bool:
        """Return whether a contract states an interface. Source: ERC-165, "How to Detect"."""
        wanted, invalid = (
            self._states(contract, each)
            for each in (compute_interface_id(interface), INVALID_INTERFACE)
        )
        return wanted and not invalid

    def _states(self, contract: Address, interface_id: bytes) -> bool:
        try:
            return bool(self._read(contract, "CallbackAgent", "supportsInterface", interface_id))
        except UnestimableError:
            return False

    def _read_hash(self, request: AgentRequest) -> bytes:
        oracle, request_id = Address(request.oracle), request.commitment.request_id
        return bytes(self._read(oracle, "AgentOracle", "commitmentOf", request_id))

    def _read_address(self, contract: Address, artifact: str, function: str) -> Address:
        return Address(bytes.fromhex(str(self._read(contract, artifact, function))[2:]))

    def _read(self, contract: Address, artifact: str, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        described = load_artifact(artifact)
        call = Call(to=contract, data=described.encode_call(function, *arguments))
        result = self.call(call)
        try:
            if result.error is None and result.output:
                return described.decode_result(function, result.output)
        except (DecodingError, OverflowError):
            pass
        raise UnestimableError(
            f"contract {to_checksum_address(contract)}: not of the kind {artifact}: {function} "
            "fails; pass an agent of an AgentOracle"
        )

    def _find_requests(self, mined: MinedBlock) -> list[AgentRequest]:
        """Return the requests that wait for an answer since a block."""
        topic = get_topic("AgentRequested")
        found = []
        for log in list_logs(mined.block, 0, mined.receipts[0]):
            if log.topics[:1] != (topic,):
                continue
            try:
                request = decode_request(log)
                if self._read_hash(request) == hash_commitment(request.commitment):
                    found.append(request)
            except (MessageError, UnestimableError):
                continue  # Not an oracle's.
        return found


# -- one callback -- #


class _Delivery:
    """The transaction that calls a client with an answer, with any callback gas."""

    def __init__(
        self, estimator: CallbackEstimator, request: AgentRequest, computed: ComputedAnswer
    ) -> None:
        self._estimator, self._request, self._computed = estimator, request, computed
        self._chain = estimator.chain
        self._oracle = Address(request.oracle)
        self._client = Address(request.commitment.client)
        self._signature = sign_evidence(
            WORKER_KEY,
            self._chain.config.chain_id,
            request,
            computed.answer,
            computed.evidence,
        )
        self._has_window = estimator.has_window(request.oracle)
        self._slot = -1
        self._header = self._build_header()
        self._tried: dict[tuple[int, Environment], ComputationAPI] = {}

    def estimate(self) -> tuple[StepEstimate, MinedBlock | None]:
        """Return the step's estimate, and the callback's block; None if the callback fails."""
        commitment = self._request.commitment
        answer_gas = self._bound_gas(self._encode_answer(commitment), commitment)
        finalize_gas, timestamp = None, self._prepare()
        if self._has_window:
            finalize_gas = self._bound_gas(self._encode(commitment), commitment)
        most = self._try(MAX_CALLBACK_GAS, ENVIRONMENTS[0])
        callback = self._find_callback(most)
        if callback is None or callback.is_error:
            reason = "the client has no code" if callback is None else explain_failure(callback)
            return self._build(None, (), answer_gas, finalize_gas, reason), None
        environment = self._list_environment()
        tried = ENVIRONMENTS if environment else ENVIRONMENTS[:1]
        callback_gas = max(self._find_least_gas(each) for each in tried)
        if not environment and self._touches_coinbase(callback_gas):
            environment = (ENVIRONMENT_OPCODES[op.COINBASE],)
        mined = self._mine(max(callback_gas, commitment.callback_gas_limit), timestamp)
        return self._build(callback_gas, environment, answer_gas, finalize_gas), mined

    def deliver(self) -> MinedBlock:
        """Return the block of the callback, which has the gas that the request pays for."""
        return self._mine(self._request.commitment.callback_gas_limit, self._prepare())

    def _prepare(self) -> int | None:
        """Propose an answer that has to wait; return the time of the callback's block."""
        timestamp = None
        if self._has_window:
            data = self._encode_answer(self._request.commitment)
            proposed = self._estimator.send(WORKER, self._oracle, data)
            window = self._estimator.read_window(self._request.oracle)
            timestamp = proposed.block.header.timestamp + window + 1
        self._header = self._build_header(timestamp)
        self._slot = self._find_slot()
        return timestamp

    def _build(
        self,
        callback_gas: int | None,
        environment: tuple[str, ...],
        answer_gas: TransactionGas,
        finalize_gas: TransactionGas | None,
        failure: str | None = None,
    ) -> StepEstimate:
        return StepEstimate(
            request=self._request,
            answer=self._computed.answer,
            callback_gas=callback_gas,
            environment=environment,
            answer_gas=answer_gas,
            finalize_gas=finalize_gas,
            failure=failure,
        )

    def _build_header(self, timestamp: int | None = None) -> BlockHeaderAPI:
        settings = BlockSettings(timestamp_seconds=timestamp, coinbase=COINBASE)
        return self._chain.build_next_header(settings)

    # -- transactions -- #

    def _encode_answer(self, commitment: Commitment) -> bytes:
        computed = self._computed
        return encode_answer(commitment, computed.answer, computed.evidence, self._signature)

    def _encode(self, commitment: Commitment) -> bytes:
        """Return the calldata of the transaction with the callback."""
        return encode_finalize(commitment) if self._has_window else self._encode_answer(commitment)

    def _with_gas(self, callback_gas: int) -> Commitment:
        return replace(self._request.commitment, callback_gas_limit=callback_gas)

    def _mine(self, callback_gas: int, timestamp: int | None) -> MinedBlock:
        """Mine the transaction with the callback, with enough gas."""
        commitment = self._with_gas(callback_gas)
        value = int.from_bytes(hash_commitment(commitment), "big")
        self._chain.patch_state(lambda state: state.set_storage(self._oracle, self._slot, value))
        return self._estimator.send(
            WORKER, self._oracle, self._encode(commitment), timestamp_seconds=timestamp
        )

    def _find_slot(self) -> int:
        """Return the slot in which the oracle keeps the commitment's hash.

        Raises: UnestimableError: no slot has the hash.
        """
        function = "proposalOf" if self._has_window else "commitmentOf"
        artifact = load_artifact("ChallengeableOracle" if self._has_window else "AgentOracle")
        data = artifact.encode_call(function, self._request.commitment.request_id)
        stored = int.from_bytes(hash_commitment(self._request.commitment), "big")
        state = self._chain.state()
        for slot in self._chain.find_call_slots(Call(to=self._oracle, data=data), self._oracle):
            if state.get_storage(self._oracle, slot) == stored:
                return slot
        raise UnestimableError(
            f"oracle {to_checksum_address(self._oracle)}: does not store the request as an "
            "AgentOracle does"
        )

    # -- callback gas -- #

    def _find_least_gas(self, environment: Environment) -> int:
        wanted = self._try(MAX_CALLBACK_GAS, environment)

        def attempt(gas: int) -> GasTrial:
            tried = self._try(gas, environment)
            callback = self._find_callback(tried)
            if callback is None or _get_outcome(tried) != _get_outcome(wanted):
                return GasTrial(error=OutOfGas(), needed_gas=gas, is_gas_independent=False)
            trial = GasTrial.from_call(callback)
            return replace(trial, error=None, is_gas_independent=False)

        return find_least_gas(attempt, 0, MAX_CALLBACK_GAS)

    def _try(self, callback_gas: int, environment: Environment) -> ComputationAPI:
        """Return the computation of the transaction with the callback; kept for the next time."""
        key = (callback_gas, environment)
        if key not in self._tried:
            self._tried[key] = self._execute(callback_gas, environment)
        return self._tried[key]

    def _execute(
        self,
        callback_gas: int,
        environment: Environment,
        trace: Callable[[type[AgentVM]], type[AgentVM]] | None = None,
    ) -> ComputationAPI:
        commitment = self._with_gas(callback_gas)
        stored = int.from_bytes(hash_commitment(commitment), "big")
        call = Call(
            to=self._oracle,
            sender=environment.sender,
            data=self._encode(commitment),
            gas=TRIAL_GAS,
            gas_price_wei=environment.gas_price_wei,
        )
        result = self._estimator.call(
            call,
            header=self._header,
            overrides={self._oracle: AccountOverride(storage_diff={self._slot: stored})},
            block=self._override_block(environment),
            trace=trace,
        )
        if result.error is not None:
            raise self._build_error(result.computation)
        return result.computation

    def _override_block(self, environment: Environment) -> BlockOverride:
        seconds = self._header.timestamp + environment.seconds
        if not self._has_window:
            seconds = max(self._header.timestamp, min(seconds, self._request.commitment.deadline))
        return BlockOverride(
            number=self._header.block_number + environment.blocks,
            timestamp_seconds=seconds,
            prev_randao=environment.prev_randao,
            base_fee_wei=environment.base_fee_wei,
            coinbase=environment.coinbase,
        )

    def _find_callback(self, computation: ComputationAPI) -> ComputationAPI | None:
        """Return the call of the client."""
        return next((each for each in computation.children if each.msg.to == self._client), None)

    def _touches_coinbase(self, callback_gas: int) -> bool:
        """Return whether a callback needs less gas where the latest block's coinbase is warm."""
        latest = Environment(coinbase=self._estimator.coinbase)
        return callback_gas > 0 and _get_outcome(
            self._try(callback_gas - 1, latest)
        ) == _get_outcome(self._try(MAX_CALLBACK_GAS, latest))

    def _list_environment(self) -> tuple[str, ...]:
        """Return the opcodes by which the callback reads the block or the transaction."""
        tracer = _EnvironmentTracer(self._client)
        self._execute(MAX_CALLBACK_GAS, ENVIRONMENTS[0], lambda vm: make_traced_vm(vm, tracer))
        known = self._chain.known_contracts
        read = {
            ENVIRONMENT_OPCODES[opcode]
            for opcode, address in tracer.reads
            if known.find_name(self._chain.code(address)) not in HARMLESS_READERS
        }
        return tuple(sorted(read))

    # -- gas of transactions -- #

    def _bound_gas(self, data: bytes, commitment: Commitment) -> TransactionGas:
        """Return upper bounds of the gas of a transaction to the oracle."""
        call = Call(to=self._oracle, sender=WORKER, data=data, gas=TRIAL_GAS)
        result = self._estimator.call(call, header=self._header)
        if result.error is not None:
            raise self._build_error(result.computation)
        least = self._chain.estimate_gas(call, header=self._header)
        most = self._encode_most(commitment, is_answer=data == self._encode_answer(commitment))
        extra = (data.count(0) - most.count(0)) * BYTE_GAS_DIFFERENCE
        tokens = most.count(0) + TOKENS_OF_BYTE * (len(most) - most.count(0))
        floor = GAS_TX + tokens * FLOOR_TOKEN_GAS
        return TransactionGas(max(least + extra, floor), max(result.gas_used + extra, floor))

    def _build_error(self, computation: ComputationAPI) -> UnestimableError:
        return UnestimableError(
            f"request 0x{self._request.commitment.request_id:064x}: its simulated answer fails: "
            f"{explain_failure(computation)}"
        )

    def _encode_most(self, commitment: Commitment, *, is_answer: bool) -> bytes:
        """Return calldata in which nothing is zero that another block or worker changes."""
        commitment = replace(
            commitment, request_id=MAX_ID, block_number=MAX_NUMBER, deadline=MAX_NUMBER
        )
        if not is_answer:
            return encode_finalize(commitment)
        evidence = replace(self._computed.evidence, block_hash=MAX_HASH)
        signature = b"\xff" * len(self._signature)
        return encode_answer(commitment, self._computed.answer, evidence, signature)


class _EnvironmentTracer(NoopTracer):
    """Notes which code reads the block or the transaction in a callback."""

    watched_opcodes = frozenset(ENVIRONMENT_OPCODES)

    def __init__(self, client: Address) -> None:
        self._client = client
        self._is_inside = False
        self.reads: set[tuple[int, Address]] = set()
        """Opcodes, and the addresses of the code that executed them."""

    def on_enter(self, frame: CallFrame) -> None:
        if frame.depth == 1:
            self._is_inside = frame.to == self._client

    def on_exit(self, frame: CallFrame) -> None:
        if frame.depth == 1:
            self._is_inside = False

    def on_opcode(self, step: OpcodeStep) -> None:
        if self._is_inside:
            self.reads.add((step.op, step.computation.msg.code_address))


def _get_outcome(computation: ComputationAPI) -> object:
    """Return the effects of a transaction: the logs, and each call with its success."""
    calls = iter_computations(computation)
    return computation.get_log_entries(), [(call.msg.to, call.is_error) for call in calls]
