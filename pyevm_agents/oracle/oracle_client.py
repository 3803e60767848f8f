"""An oracle and its chain, as a worker reads them by JSON-RPC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import (
    function_abi_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)

from pyevm_agents.contracts import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking.remote_client import RemoteClient, RemoteError, Request
from pyevm_agents.oracle.codec import decode_request, get_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.oracle.messages import AgentRequest, Commitment

LATEST = "latest"
REVERT_CODE = 3
"""Source: execution-apis; geth's, anvil's and this package's code of a reverted call."""

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
        self._artifact = load_artifact("ChallengeableOracle")
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
        tag = number if isinstance(number, str) else hex(number)
        form: Any = self.remote.request("eth_getBlockByNumber", [tag, False])
        if not isinstance(form, dict):
            raise RemoteError(0, f"{self.remote.host} has no block {number}")
        base_fee = form.get("baseFeePerGas")
        return Block(
            number=_int(form["number"]),
            hash=_bytes(form["hash"]),
            timestamp=_int(form["timestamp"]),
            base_fee=None if base_fee is None else _int(base_fee),
            gas_limit=_int(form["gasLimit"]),
        )

    def read_requests(self, first: int, last: int) -> list[AgentRequest]:
        """Return the requests of a range of blocks, in order.

        Raises: RemoteError: the node refuses the range.
        """
        bounds = {"fromBlock": hex(first), "toBlock": hex(last)}
        logs: Any = self.remote.request("eth_getLogs", [{**self._log_filter, **bounds}])
        return [decode_request(log) for log in logs if not log.get("removed")]

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
        self, commitments: Sequence[Commitment], *, has_proposals: bool
    ) -> list[RequestState]:
        """Return what the chain says of some requests, in few round trips."""
        functions = ("commitmentOf", "answerOf") + (("proposalOf",) if has_proposals else ())
        calls = [
            Request("eth_call", [self._call(function, each.request_id), LATEST])
            for each in commitments
            for function in functions
        ]
        results: list[Any] = []
        for start in range(0, len(calls), BATCH):
            results += self.remote.request_all(calls[start : start + BATCH])
        states = []
        for index in range(len(commitments)):
            own = results[index * len(functions) : (index + 1) * len(functions)]
            for result in own:
                if isinstance(result, RemoteError):
                    raise result
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

    def find_receipts(self, hashes: Sequence[bytes]) -> list[tuple[int, bool] | None]:
        """Return block number and success of each transaction; None where it is not mined."""
        found = self._ask_each("eth_getTransactionReceipt", hashes)
        return [
            (_int(each["blockNumber"]), each.get("status") != "0x0")
            if isinstance(each, dict) and each.get("blockNumber")
            else None
            for each in found
        ]

    def are_known(self, hashes: Sequence[bytes]) -> list[bool]:
        """Return for each transaction whether the node has it, mined or not."""
        return [
            isinstance(each, dict) for each in self._ask_each("eth_getTransactionByHash", hashes)
        ]

    def _ask_each(self, method: str, hashes: Sequence[bytes]) -> list[object]:
        results: list[object] = []
        for start in range(0, len(hashes), BATCH):
            part = hashes[start : start + BATCH]
            results += self.remote.request_all([Request(method, [_hex(each)]) for each in part])
        for result in results:
            if isinstance(result, RemoteError):
                raise result
        return results


BATCH = 48
"""Requests in a round trip: the strictest known node takes 50."""


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


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _bytes(text: object) -> bytes:
    return bytes.fromhex(str(text).removeprefix("0x"))


def _int(text: object) -> int:
    return int(str(text), 16)
