"""An oracle and its chain, as a worker reads them by JSON-RPC."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from eth_utils import (
    function_abi_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)

from pyevm_agents.artifacts import describe_contract
from pyevm_agents.contracts import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking.remote_client import (
    MAX_BATCH,
    RemoteClient,
    RemoteError,
    Request,
    split,
)
from pyevm_agents.oracle.codec import SELECTOR_BYTES, get_topic, hash_commitment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.oracle.messages import AgentRequest, Commitment

Value = TypeVar("Value")

CONTRACT = "ChallengeableOracle"
"""Has the functions and errors of an `AgentOracle` too."""

LATEST = "latest"
FALLBACK_PRIORITY_WEI = 10**9
"""Priority fee where the node names none. Source: geth's --miner.gasprice."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block's header, as far as a worker reads it."""

    number: int
    hash: bytes
    timestamp: int
    """In seconds since 1970."""

    base_fee: int | None
    """In wei; None before London."""

    gas_limit: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A mined transaction."""

    hash: bytes
    block_number: int
    block_hash: bytes
    is_success: bool
    gas_used: int


@dataclass(frozen=True, slots=True)
class ProposedAnswer:
    """A `Proposal` of an oracle whose answers can be challenged."""

    proposal_id: bytes
    answer_hash: bytes
    worker: bytes
    challengeable_until: int
    status: int
    """1 open, 2 challenged, 3 upheld."""

    challenger: bytes
    ruleable_until: int


OPEN, CHALLENGED, UPHELD = 1, 2, 3


@dataclass(frozen=True, slots=True)
class RequestState:
    """What the chain says of a request."""

    commitment_hash: bytes
    """32 bytes; zeros if it does not wait for an answer."""

    outcome: int
    """0 none, 1 answered, 2 refused, 3 expired."""

    worker: bytes
    """Who answered, 20 bytes."""

    proposal: ProposedAnswer | None
    """None without one, and for oracles whose answers are final."""


@dataclass(frozen=True, slots=True)
class ChallengeTerms:
    """How an oracle's answers are challenged."""

    arbiter: bytes
    bond: int
    """In wei."""


class OracleClient:
    """Reads an oracle and sends transactions. Thread-safe, as its `RemoteClient` is."""

    def __init__(self, remote: RemoteClient, address: bytes) -> None:
        """Input: the node; the oracle's address, 20 bytes."""
        self.remote, self.address = remote, address
        self._artifact = load_artifact(CONTRACT)
        self._log_filter = {
            "address": _hex(address),
            "topics": [_hex(get_topic("AgentRequested"))],
        }

    # -- start -- #

    def require_oracle(self) -> None:
        """Raises: ConfigError: there is no `AgentOracle` at the address."""
        name = to_checksum_address(self.address)
        if self.remote.request("eth_getCode", [_hex(self.address), LATEST]) in {"0x", None}:
            raise ConfigError(
                f"oracle {name}: no contract there at {self.remote.host}; check address and URL"
            )
        if not self._supports("IAgentOracle"):
            raise ConfigError(f"oracle {name}: the contract there is no AgentOracle; check it")

    def read_terms(self) -> ChallengeTerms | None:
        """Return how answers are challenged; None for an oracle whose answers are final."""
        if not self._supports("IChallengeableOracle"):
            return None
        arbiter, bond = self.read("arbiter"), self.read("bond")
        return ChallengeTerms(to_canonical_address(arbiter), bond)

    def _supports(self, interface: str) -> bool:
        try:
            return bool(self.read("supportsInterface", compute_interface_id(interface)))
        except (RemoteError, ValueError):
            return False

    def read_chain_id(self) -> int:
        """Return the chain's ID."""
        return _int(self.remote.request("eth_chainId", []))

    def read_genesis_hash(self) -> bytes:
        """Return the hash of block 0."""
        return self.read_block(0).hash

    # -- blocks and logs -- #

    def read_block(self, number: int | str = LATEST) -> Block:
        """Return a block; a `RemoteError` if there is none."""
        [block] = self.find_blocks([number])
        if block is None:
            raise RemoteError(0, f"{self.remote.host} has no block {number}")
        return block

    def find_blocks(self, numbers: Sequence[int | str]) -> list[Block | None]:
        """Return the blocks with these numbers; None for those that the chain lacks."""
        names = [each if isinstance(each, str) else hex(each) for each in numbers]
        forms = self._ask_all([Request("eth_getBlockByNumber", [name, False]) for name in names])
        return [
            None if each is None else self._read("a block", _read_block, each) for each in forms
        ]

    def read_request_logs(self, first: int, last: int) -> list[Mapping[str, Any]]:
        """Return the `AgentRequested` logs of a range of blocks, in order.

        Raises: RemoteError: the node refuses the range.
        """
        bounds = {"fromBlock": hex(first), "toBlock": hex(last)}
        logs = self.remote.request("eth_getLogs", [{**self._log_filter, **bounds}])
        if not isinstance(logs, list):
            raise self.remote.build_fault(
                "eth_getLogs", "the result is not a list", "pass the URL of an Ethereum node"
            )
        return [log for log in logs if isinstance(log, dict) and not log.get("removed")]

    # -- the oracle -- #

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Return what a view function of the oracle returns.

        Raises: RemoteError: the call failed.
        """
        result = self.remote.request("eth_call", [self._call(function, *arguments), LATEST])
        return self._artifact.decode_result(function, _bytes(result))

    def read_workers(self) -> tuple[bytes, ...]:
        """Return the addresses of the registered workers, in order."""
        return tuple(to_canonical_address(each) for each in self.read("workers"))

    def read_states(
        self,
        commitments: Sequence[Commitment],
        *,
        has_proposals: bool,
        block: int | str = LATEST,
    ) -> list[RequestState]:
        """Return what the chain says of some requests after a block, in few round trips."""
        tag = block if isinstance(block, str) else hex(block)
        functions = ("commitmentOf", "answerOf") + (("proposalOf",) if has_proposals else ())
        calls = [
            Request("eth_call", [self._call(function, each.request_id), tag])
            for each in commitments
            for function in functions
        ]
        results = self._ask_all(calls)
        states = []
        for index in range(len(commitments)):
            own = results[index * len(functions) : (index + 1) * len(functions)]
            values = [
                self._artifact.decode_result(function, _bytes(result))
                for function, result in zip(functions, own, strict=True)
            ]
            outcome, _, worker, _ = values[1]
            states.append(
                RequestState(
                    commitment_hash=values[0],
                    outcome=outcome,
                    worker=to_canonical_address(worker),
                    proposal=_read_proposal(values[2][0]) if has_proposals else None,
                )
            )
        return states

    def is_waiting(self, request: AgentRequest) -> bool:
        """Return whether a request is on the chain, in its block, and waits for an answer."""
        commitment = request.commitment
        call = self._call("commitmentOf", commitment.request_id)
        block, stored = self._ask_all(
            [
                Request("eth_getBlockByNumber", [hex(commitment.block_number), False]),
                Request("eth_call", [call, LATEST]),
            ]
        )
        is_there = isinstance(block, dict) and block.get("hash") == _hex(request.block_hash)
        return is_there and stored == _hex(hash_commitment(commitment))

    def encode(self, function: str, *arguments: object) -> bytes:
        """Return the calldata of a function of the oracle."""
        return self._artifact.encode_call(function, *arguments)

    def _call(self, function: str, *arguments: object) -> dict[str, str]:
        return {"to": _hex(self.address), "data": _hex(self.encode(function, *arguments))}

    # -- accounts and transactions -- #

    def read_balance(self, account: bytes) -> int:
        """Return an account's wei."""
        return _int(self.remote.request("eth_getBalance", [_hex(account), LATEST]))

    def read_nonce(self, account: bytes) -> int:
        """Return how many transactions of an account are mined."""
        return _int(self.remote.request("eth_getTransactionCount", [_hex(account), LATEST]))

    def estimate_gas(self, sender: bytes, to: bytes, data: bytes, value: int) -> int:
        """Return the gas that a transaction needs. Raises: RemoteError: it would revert."""
        form = {"from": _hex(sender), "to": _hex(to), "data": _hex(data), "value": hex(value)}
        return _int(self.remote.request("eth_estimateGas", [form]))

    def suggest_priority_fee(self) -> int:
        """Return a priority fee in wei."""
        try:
            return _int(self.remote.request("eth_maxPriorityFeePerGas", []))
        except RemoteError:
            return FALLBACK_PRIORITY_WEI

    def suggest_gas_price(self) -> int:
        """Return a gas price in wei, for chains without a base fee."""
        return _int(self.remote.request("eth_gasPrice", []))

    def send(self, raw: bytes) -> None:
        """Send a signed transaction. Raises: RemoteError: the node does not take it."""
        self.remote.request("eth_sendRawTransaction", [_hex(raw)])

    def find_receipts(self, hashes: Sequence[bytes]) -> list[Receipt | None]:
        """Return the receipt of each transaction; None where it is not mined."""
        forms = self._ask_each("eth_getTransactionReceipt", hashes)
        return [
            self._read("a receipt", _read_receipt, each)
            if isinstance(each, dict) and each.get("blockHash")
            else None
            for each in forms
        ]

    def are_known(self, hashes: Sequence[bytes]) -> list[bool]:
        """Return for each transaction whether the node has it, mined or not."""
        return [
            isinstance(each, dict) for each in self._ask_each("eth_getTransactionByHash", hashes)
        ]

    def _ask_each(self, method: str, hashes: Sequence[bytes]) -> list[object]:
        return self._ask_all([Request(method, [_hex(each)]) for each in hashes])

    def _ask_all(self, requests: Sequence[Request]) -> list[object]:
        """Return the results of requests. Raises: RemoteError: the first refusal."""
        results: list[object] = []
        for part in split(requests, MAX_BATCH):
            results += self.remote.request_all(part)
        for result in results:
            if isinstance(result, RemoteError):
                raise result
        return results

    def _read(self, name: str, read: Callable[[Any], Value], form: object) -> Value:
        """Return what a function reads of an answer. Raises: RemoteFault: it can't."""
        try:
            return read(form)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self.remote.build_fault(
                "JSON-RPC", f"an answer is not {name}", "pass the URL of an Ethereum node"
            ) from error


def compute_interface_id(interface: str) -> bytes:
    """Return the ERC-165 identifier of an interface: its own functions' selectors, combined."""
    parents = {"IChallengeableOracle": "IAgentOracle", "IAgentOracle": "IERC165"}
    own = _selectors(interface)
    if (parent := parents.get(interface)) is not None:
        own -= _selectors(parent)
    number = 0
    for selector in own:
        number ^= int.from_bytes(selector)
    return number.to_bytes(4)


def _selectors(interface: str) -> set[bytes]:
    if interface == "IERC165":
        return {bytes.fromhex("01ffc9a7")}
    abi = load_artifact(interface).abi
    return {function_abi_to_4byte_selector(each) for each in abi if each["type"] == "function"}


def _read_proposal(values: Any) -> ProposedAnswer | None:  # noqa: ANN401 - what Solidity returns
    proposal_id, _, answer_hash, worker, until, status, _, challenger, ruleable, _ = values
    if status == 0:
        return None
    return ProposedAnswer(
        proposal_id=proposal_id,
        answer_hash=answer_hash,
        worker=to_canonical_address(worker),
        challengeable_until=until,
        status=status,
        challenger=to_canonical_address(challenger),
        ruleable_until=ruleable,
    )


def _read_block(form: Any) -> Block:  # noqa: ANN401 - JSON
    base_fee = form.get("baseFeePerGas")
    return Block(
        number=_int(form["number"]),
        hash=_bytes(form["hash"]),
        timestamp=_int(form["timestamp"]),
        base_fee=None if base_fee is None else _int(base_fee),
        gas_limit=_int(form["gasLimit"]),
    )


def _read_receipt(form: Any) -> Receipt:  # noqa: ANN401 - JSON
    return Receipt(
        hash=_bytes(form["transactionHash"]),
        block_number=_int(form["blockNumber"]),
        block_hash=_bytes(form["blockHash"]),
        is_success=_int(form["status"]) == 1,
        gas_used=_int(form["gasUsed"]),
    )


# -- errors -- #


def find_revert_data(error: RemoteError) -> bytes:
    """Return the revert data in a node's error response; empty if it has none."""
    data = error.data
    while isinstance(data, dict):  # Hardhat wraps them.
        data = data.get("data")
    try:
        return _bytes(data) if isinstance(data, str) else b""
    except ValueError:
        return b""


def read_refusal(error: RemoteError) -> str | None:
    """Return the name of the oracle's error in a node's error response; None if it has none."""
    names = _list_errors()
    name = names.get(find_revert_data(error)[:SELECTOR_BYTES])
    if name is not None:
        return name
    return next((name for name in names.values() if f"{name}(" in error.message), None)


@cache
def _list_errors() -> Mapping[bytes, str]:
    described = describe_contract(CONTRACT, load_artifact(CONTRACT).abi)
    return {selector: error.name for selector, error in described.errors.items()}


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _bytes(text: object) -> bytes:
    return bytes.fromhex(str(text).removeprefix("0x"))


def _int(text: object) -> int:
    return int(str(text), 16)
