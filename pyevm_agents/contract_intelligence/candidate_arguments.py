"""Candidates for arguments and callers: a contract's getters, logs, and accounts named there.

Executions decide which are right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from eth_abi.exceptions import EncodingError
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.values import decode_values
from pyevm_agents.contract_intelligence.bytecode import list_reverting, list_writers
from pyevm_agents.contract_intelligence.call_search import KnownAddresses
from pyevm_agents.contract_intelligence.calldata_layout import encode_arguments
from pyevm_agents.contract_intelligence.caller_taint import OWNED_FLAG
from pyevm_agents.contract_intelligence.probe import Prober, to_hex_address
from pyevm_agents.contract_intelligence.remote_logs import read_remote_logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.call_search import CallAttempt
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.probe import ProbeResult

MAX_CALLERS = 24
"""Other accounts for which a call is tried."""

MAX_LOG_BLOCKS = 1_000
"""Blocks of the chain whose logs are searched for accounts with a role, the latest."""

MAX_LOG_WORDS = 8
"""Words of a log's data that are read, the first ones."""

MAX_KNOWN = 32
MAX_WORDS = 32
"""Words of a contract's getters and logs that are kept; of the logs, those of the latest blocks."""

MAX_MEMBER_READS = 16
"""Calls of one getter that returns accounts for a word, such as the members of a role."""

LEAST_ADDRESS = 2**80
"""A smaller word is taken for a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Getter:
    """A function without parameters, and the word returned."""

    name: str
    word: int
    slots: frozenset[tuple[Address, int]]
    is_address: bool
    is_word: bool = False
    """Whether it may be a word of 32 bytes, such as the name of a role."""


@dataclass(slots=True, kw_only=True)
class LoggedWords:
    """Words of a contract's logs, those of the latest blocks first, each once."""

    accounts: dict[Address, None] = field(default_factory=dict)
    words: dict[bytes, None] = field(default_factory=dict)
    selectors: dict[bytes, None] = field(default_factory=dict)

    def add_log(self, topics: Sequence[int], data: bytes) -> None:
        """Keep the words of a log."""
        read = data[: MAX_LOG_WORDS * WORD_BYTES]
        for topic in topics[1:]:
            self._add(topic)
        for start in range(0, len(read), WORD_BYTES):
            self._add(int.from_bytes(read[start : start + WORD_BYTES], "big"))

    def _add(self, word: int) -> None:
        """Keep a word that looks like an address, a selector or a hash; drop small numbers."""
        data = word.to_bytes(WORD_BYTES, "big")
        if LEAST_ADDRESS < word < 2**160:
            self.accounts[word_to_address(word)] = None
        elif word >= 2**160 and not any(data[SELECTOR_BYTES:]):
            self.selectors[data[:SELECTOR_BYTES]] = None
        elif word >= 2**160:
            self.words[data] = None


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """A contract with the addresses and names that getters and logs give."""

    prober: Prober
    contract: Address
    account: Address
    known: KnownAddresses
    labels: Mapping[Address, str]
    """Nouns such as `the owner`."""

    logged: dict[Address, LoggedWords]
    """By the contract that wrote the logs."""

    getters: Sequence[Getter] = ()
    functions: Sequence[FunctionCapability] = ()
    own_calls: list[tuple[bytes, CallAttempt, ProbeResult]] = field(default_factory=list)
    """Calls of the account that ran and wrote its address, by the selector of the function."""

    written_slots: dict[tuple[Address, int], str] = field(default_factory=dict)
    """Slots that an example call of the account writes, with the function."""

    _asked: set[Address] = field(default_factory=set)
    """Contracts whose logs before a fork were asked for."""

    _reverting: dict[Address, frozenset[bytes]] = field(default_factory=dict)
    """Functions that seem to revert always, by the account whose code they are in."""

    def reverts_always(self, selector: bytes, result: ProbeResult) -> bool:
        """Whether the code of a call seems to revert on each way through a function."""
        account = self._find_code_account(result)
        if account not in self._reverting:
            self._reverting[account] = list_reverting(self.prober.chain.code(account))
        return selector in self._reverting[account]

    def list_writers(self, account: Address, slot: int, result: ProbeResult) -> frozenset[bytes]:
        """Return the functions that seem to write a slot of the contract.

        Input: the slot; a call that wrote the slot. Output: empty for a slot of another contract.
        """
        if account != self.contract:
            return frozenset()
        return list_writers(self.prober.chain.code(self._find_code_account(result))).get(
            slot, frozenset()
        )

    def _get_logged(self, contract: Address) -> LoggedWords:
        """Return the words of a contract's logs."""
        if contract not in self._asked:
            self._asked.add(contract)
            _add_remote(self.prober, contract, self.logged)
        return self.logged.setdefault(contract, LoggedWords())

    def _find_code_account(self, result: ProbeResult) -> Address:
        """Return the account whose code a call ran: a proxy's implementation."""
        delegate = result.find_delegate()
        return self.contract if delegate is None else delegate

    def list_others(self, keeper: Address | None = None) -> tuple[Address, ...]:
        """Return the other accounts for which a call is tried.

        Input: keeper: the contract that keeps the members, whose logs may name members.
        """
        kept = None if keeper is None else self._get_logged(keeper)
        listed = (
            *(() if kept is None else kept.accounts),
            *self.known.accounts,
            self.contract,
            *self.known.contracts,
        )
        others = [each for each in dict.fromkeys(listed) if each != self.account]
        return tuple(others[:MAX_CALLERS])


def look_around(
    prober: Prober,
    contract: Address,
    functions: Sequence[FunctionCapability],
    account: Address,
    known_accounts: Mapping[str, str],
) -> Surroundings:
    """Read the contract's getters, and collect the known addresses."""
    labels = {to_address(each): text for each, text in known_accounts.items()}
    getters = [*_read_getters(prober, contract, functions, account)]
    found = [word_to_address(each.word) for each in getters if LEAST_ADDRESS < each.word < 2**160]
    logged = _read_logged(prober)
    _add_remote(prober, contract, logged)
    own = logged.get(contract, LoggedWords())
    read = [each.word.to_bytes(WORD_BYTES, "big") for each in getters if each.word >= 2**160]
    words = tuple(dict.fromkeys([*read, *own.words]))[:MAX_WORDS]
    members = _read_members(prober, contract, functions, account, (bytes(WORD_BYTES), *words))
    listed = dict.fromkeys([*own.accounts, *labels, *found, *members])
    addresses = [each for each in listed if each != account and any(each)]
    has_code = {each: bool(prober.chain.code(each)) for each in addresses}
    places = [each for each in addresses if has_code[each] and each != contract]
    known = KnownAddresses(
        accounts=tuple(each for each in addresses if not has_code[each])[:MAX_KNOWN],
        contracts=tuple(places[:MAX_KNOWN]),
        flags=frozenset(_find_flags(prober, contract, functions, account)),
        words=words,
        selectors=tuple(own.selectors)[:MAX_WORDS],
    )
    return Surroundings(
        prober=prober,
        contract=contract,
        account=account,
        known=known,
        labels=labels,
        logged=logged,
        getters=getters,
        functions=functions,
        _asked={contract},
    )


def _read_getters(
    prober: Prober, contract: Address, functions: Sequence[FunctionCapability], account: Address
) -> Iterator[Getter]:
    for function in functions:
        if function.parameters or function.is_payable:
            continue
        result = prober.read(contract, bytes(function.selector), account)
        if result.is_success and len(result.output) == WORD_BYTES and not result.tape.writes:
            yield Getter(
                name=function.name,
                word=int.from_bytes(result.output, "big"),
                slots=frozenset((each.account, each.slot) for each in result.tape.reads),
                is_address=[each.abi_type for each in function.outputs] in ([], ["address"]),
                is_word=[each.abi_type for each in function.outputs] == ["bytes32"],
            )


def _read_members(
    prober: Prober,
    contract: Address,
    functions: Sequence[FunctionCapability],
    account: Address,
    words: Sequence[bytes],
) -> list[Address]:
    """Return the accounts that getters return for a word, with a number or without one."""
    found: dict[Address, None] = {}
    for function in functions:
        types = [each.abi_type for each in function.parameters]
        outputs = tuple(each.abi_type for each in function.outputs)
        if types not in (["bytes32"], ["bytes32", "uint256"]) or not function.is_read_only:
            continue
        if outputs not in (("address",), ("address[]",)):
            continue
        choices = [words if each == "bytes32" else (0, 1) for each in types]
        for values in [*product(*choices)][:MAX_MEMBER_READS]:
            try:
                data = encode_arguments(function.selector, types, values)
            except EncodingError:
                continue
            result = prober.read(contract, data, account)
            decoded = decode_values(outputs, result.output) if result.is_success else None
            for value in decoded or ():
                members = value[:MAX_CALLERS] if isinstance(value, tuple | list) else (value,)
                found |= dict.fromkeys(to_address(str(each)) for each in members)
    return [*found]


def _find_flags(
    prober: Prober, contract: Address, functions: Sequence[FunctionCapability], account: Address
) -> Iterator[tuple[Address, int]]:
    """Yield the slots of the account that a function of one address returns as true or false."""
    for function in functions:
        types = [each.abi_type for each in function.parameters]
        if types != ["address"] or [each.abi_type for each in function.outputs] != ["bool"]:
            continue
        data = encode_arguments(function.selector, types, [to_hex_address(account)])
        for read in prober.read(contract, data, account).tape.reads:
            if read.key is not None and read.key.flags & OWNED_FLAG:
                yield read.account, read.slot


def _read_logged(prober: Prober) -> dict[Address, LoggedWords]:
    """Return the words of logs, by the contract that wrote them.

    Holders of roles are among the words.
    """
    chain, found = prober.chain, dict[Address, LoggedWords]()
    head = int(prober.header.block_number) - 1
    for number in range(head, max(chain.first_number, head - MAX_LOG_BLOCKS), -1):
        for receipt in chain.block_with_receipts(chain.header(number)).receipts:
            for entry in receipt.logs:
                logged = found.setdefault(Address(bytes(entry.address)), LoggedWords())
                logged.add_log(entry.topics, bytes(entry.data))
    return found


def _add_remote(prober: Prober, contract: Address, logged: dict[Address, LoggedWords]) -> None:
    """Add the words of a contract's logs before a fork."""
    words = logged.setdefault(contract, LoggedWords())
    for topics, data in read_remote_logs(prober.chain, contract):
        words.add_log(topics, data)


def to_address(value: str | bytes) -> Address:
    """Return an address as bytes."""
    return Address(to_canonical_address(to_checksum_address(value)))


def word_to_address(word: int) -> Address:
    """Return a word that is an address as bytes."""
    return Address(word.to_bytes(20, "big"))
