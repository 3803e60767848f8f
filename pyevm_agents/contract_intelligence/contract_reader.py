"""Reads of contracts by calls: few, bounded in gas, and never an exception.

Contracts may return anything, revert, or never end: every unexpected result is None.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth.vm.forks.prague.state import PragueState
from eth_abi import encode
from eth_typing import Address
from eth_utils import to_checksum_address

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.values import compute_topic, decode_values
from pyevm_agents.chain import Call
from pyevm_agents.contract_intelligence.capabilities import TokenFacts
from pyevm_agents.contract_intelligence.function_abi import split_types
from pyevm_agents.contract_intelligence.tool_limits import MAX_DECIMALS
from pyevm_agents.contract_intelligence.untrusted_text import clean_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import BlockHeaderAPI, StateAPI

    from pyevm_agents.chain import CallResult, ChainSimulator

READ_GAS = 400_000
"""Gas of one read. The dearest quote of three tokens takes some 60,000."""

MAX_ENDLESS_READS = 3
"""Reads of one contract that may use up their gas. After these it is not called any more."""

MAX_OUTPUT_BYTES = 16_384
"""Bytes of an answer. `facets()` of a large diamond has some 10,000."""

OLD_SYMBOL_TYPE = "bytes32"
"""The type of symbol and name of tokens from before ERC-20 was final, such as MKR."""

MAX_TOLD_CHARACTERS = 64
"""Characters of a token's symbol that are kept as they are."""


class ContractReader:
    """Calls contracts on the state after one block, from the zero address."""

    def __init__(self, chain: ChainSimulator, header: BlockHeaderAPI | None = None) -> None:
        """Input: the chain; the header of the block, None for the head."""
        self.chain = chain
        self.header = chain.head if header is None else header
        self._tokens: dict[str, TokenFacts | None] = {}
        self._endless_reads: Counter[str] = Counter()

    def read(
        self, address: str, signature: str, outputs: Sequence[str], *values: object
    ) -> tuple[object, ...] | None:
        """Call a function; return the outputs, None if the call fails or returns other types."""
        types = split_types(signature[signature.index("(") :])
        data = compute_topic(signature)[:SELECTOR_BYTES] + encode(types, values)
        result = self.call(address, data)
        if result is None or result.error is not None or len(result.output) > MAX_OUTPUT_BYTES:
            return None
        return decode_values(outputs, result.output)

    def read_address(self, address: str, signature: str, *values: object) -> str:
        """Call a function that returns an address; empty for a failure or the zero address."""
        match self.read(address, signature, ["address"], *values):
            case (str(text),) if int(text, 16):
                return str(to_checksum_address(text))
            case _:
                return ""

    def read_first_address(self, address: str, signatures: Sequence[str]) -> str:
        """Return the first address that one of several functions returns; empty if none does."""
        found = (self.read_address(address, signature) for signature in signatures)
        return next(filter(None, found), "")

    def does_answer(self, address: str, signature: str) -> bool:
        """Return whether a function without arguments answers with at least a word."""
        result = self.call(address, compute_topic(signature)[:SELECTOR_BYTES])
        if result is None or result.error is not None:
            return False
        return len(result.output) >= WORD_BYTES

    def read_token(self, address: str) -> TokenFacts | None:
        """Return symbol, decimals and name of a token; None if the first two are missing."""
        if address not in self._tokens:
            self._tokens[address] = self._read_token(address)
        return self._tokens[address]

    def get_code(self, address: str) -> bytes:
        """Return the code of an account: of EIP-7702, the designation of the delegate."""
        return bytes(self._state.get_code(_to_canonical(address)))

    def get_slot(self, address: str, slot: int) -> int:
        """Return the value of a storage slot."""
        return int(self._state.get_storage(_to_canonical(address), slot))

    def call(self, address: str, data: bytes) -> CallResult | None:
        """Call a contract with the gas of a read; None after too many reads without an end."""
        if self._endless_reads[address] >= MAX_ENDLESS_READS:
            return None
        call = Call(to=_to_canonical(address), data=data, gas=READ_GAS)
        result = self.chain.call(call, header=self.header)
        # Old compilers burn all gas at once where a function is missing: that is another error.
        self._endless_reads[address] += isinstance(result.error, OutOfGas)
        return result

    @property
    def has_delegations(self) -> bool:
        """Whether accounts may delegate to code, as from Prague on (EIP-7702)."""
        return isinstance(self._state, PragueState)

    @property
    def _state(self) -> StateAPI:
        return self.chain.state(self.header)

    def _read_token(self, address: str) -> TokenFacts | None:
        told = self._read_text(address, "symbol()")
        symbol = clean_label(told, "")
        decimals = None
        match self.read(address, "decimals()", ["uint256"]):
            case (int(number),) if number <= MAX_DECIMALS:
                decimals = number
            case _:
                pass
        if not symbol and decimals is None:
            return None
        return TokenFacts(
            address=address,
            symbol=symbol,
            decimals=decimals,
            name=clean_label(self._read_text(address, "name()"), ""),
            told_symbol=told[:MAX_TOLD_CHARACTERS],
        )

    def _read_text(self, address: str, signature: str) -> str:
        match self.read(address, signature, ["string"]):
            case (str(text),):
                return text
            case _:
                pass
        match self.read(address, signature, [OLD_SYMBOL_TYPE]):
            case (bytes(word),):
                return word.rstrip(b"\0").decode("utf-8", "replace")
            case _:
                return ""


def _to_canonical(address: str) -> Address:
    return Address(bytes.fromhex(address[2:]))
