"""Names of roles: the role that lets an account pass a check, with a name.

A role is found by execution: `hasRole`, or another function of a role and an account, reads the
slot that the check reads. The name is that of a getter which returns the role, such as
`MINTER_ROLE()`, or a word of the contract's texts whose hash the role is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from eth_abi.exceptions import EncodingError
from eth_utils import keccak

from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.contract_intelligence.calldata_layout import encode_arguments
from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
from pyevm_agents.contract_intelligence.function_abi import build_parameters
from pyevm_agents.contract_intelligence.probe import to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.candidate_arguments import Surroundings
    from pyevm_agents.contract_intelligence.probe import ProbeResult

ROLE_READS = ("hasRole(bytes32,address)", "hasRole(uint64,address)")
"""Functions of a role and an account. Source: OpenZeppelin, AccessControl and AccessManager."""

ROLE = "ROLE"
"""In the name of a getter that returns the number of a role, such as `ADMIN_ROLE()`."""

ADMIN_ROLE = "DEFAULT_ADMIN_ROLE"
"""The name of a role of zeros. Source: OpenZeppelin, AccessControl."""

COMMON_ROLES = (
    "ADMIN", "BURNER", "CANCELLER", "EXECUTOR", "GOVERNOR", "GUARDIAN", "KEEPER", "MANAGER",
    "MINTER", "OPERATOR", "OWNER", "PAUSER", "PROPOSER", "SNAPSHOT", "TRANSFER", "UPGRADER",
    "URI_SETTER", "WHITELISTER",
)  # fmt: skip
"""Names of roles that many contracts have. Others are read in the contract's own texts."""

MAX_ROLES = 120
"""Roles of one check that are tried."""

MAX_NUMBERS = 16
MAX_TEXT_NAMES = 256
SHOWN_DIGITS = 8
"""Digits shown of a role without a name. Without `0x`, which an agent's answer can't contain."""

_NAME = re.compile(r"\b[A-Z][A-Z0-9_]{2,63}\b")


def describe_role(
    place: Surroundings, slot: tuple[Address, int], result: ProbeResult
) -> tuple[str, str]:
    """Return the name of the role of an account's slot, and a noun for the holders.

    Input:  the slot; the call that a check of it stopped.
    Output: an empty name and `accounts with a role` if no function returns more.
    """
    for getter in place.functions:
        if _reads(place, place.contract, getter, (to_hex_address(place.account),), slot):
            name = getter.name
            return name, f"accounts for which {name} is true"
    own = to_hex_address(place.account)
    for contract, read in _list_reads(place, slot):
        kinds = [each.abi_type for each in read.parameters]
        for role in [*_list_roles(place, kinds, result)][:MAX_ROLES]:
            values = (own, role) if kinds[0] == "address" else (role, own)
            if _reads(place, contract, read, values, slot):
                name = name_role(place, role)
                return name, f"accounts with the role {name}"
    return "", "accounts with a role"


def name_role(place: Surroundings, role: bytes | int) -> str:
    """Return the name of a role, or the first digits."""
    is_number = isinstance(role, int)
    number = role if isinstance(role, int) else int.from_bytes(role, "big")
    for getter in place.getters:
        is_named = ROLE in getter.name.upper() if is_number else getter.is_word
        if getter.word == number and is_named and not getter.name.startswith("function_"):
            return getter.name
    if isinstance(role, int):
        return str(role)
    names = {**_hash_common(), **_hash_texts(place.functions)}
    return names.get(role) or role.hex()[:SHOWN_DIGITS]


@cache
def _hash_common() -> Mapping[bytes, str]:
    names = [name for each in COMMON_ROLES for name in (f"{each}_ROLE", each)]
    return {bytes(WORD_BYTES): ADMIN_ROLE, **{keccak(text=each): each for each in names}}


def _hash_texts(functions: Sequence[FunctionCapability]) -> dict[bytes, str]:
    """Return the names in capitals of a contract's comments, by their hashes."""
    texts = [text for each in functions for text in (each.name, each.description)]
    words = dict.fromkeys(word for text in texts for word in _NAME.findall(text))
    names = [name for each in [*words][:MAX_TEXT_NAMES] for name in (each, f"{each}_ROLE")]
    return {keccak(text=each): each for each in names}


def _list_reads(
    place: Surroundings, slot: tuple[Address, int]
) -> Iterator[tuple[Address, FunctionCapability]]:
    """Yield functions of a role and an account, with their contracts."""
    for function in place.functions:
        types = [each.abi_type for each in function.parameters]
        if len(types) == 2 and "address" in types:  # noqa: PLR2004 - a role and an account
            yield place.contract, function
    for signature in ROLE_READS:
        name, _, rest = signature.partition("(")
        yield (
            slot[0],
            FunctionCapability(
                name=name,
                signature=signature,
                selector=compute_topic(signature)[:SELECTOR_BYTES],
                parameters=build_parameters(rest.removesuffix(")").split(",")),
                outputs=build_parameters(["bool"], prefix=""),
                is_read_only=True,
            ),
        )


def _list_roles(
    place: Surroundings, kinds: Sequence[str], result: ProbeResult
) -> Iterator[bytes | int]:
    """Yield roles: zero, those of the contract's getters and logs, and those of the error."""
    [kind] = [each for each in kinds if each != "address"] or [""]
    starts = range(SELECTOR_BYTES, len(result.output) - WORD_BYTES + 1, WORD_BYTES)
    told = [result.output[start : start + WORD_BYTES] for start in starts]
    if kind == "bytes32":
        yield from (bytes(WORD_BYTES), *told, *place.known.words)
        yield from _hash_common()
        yield from _hash_texts(place.functions)
    elif kind.startswith("uint"):
        most = 1 << int(kind.removeprefix("uint"))
        numbers = [int.from_bytes(each, "big") for each in told]
        yield from (each for each in (*range(MAX_NUMBERS), *numbers) if each < most)


def _reads(
    place: Surroundings,
    contract: Address,
    function: FunctionCapability,
    values: tuple[object, ...],
    slot: tuple[Address, int],
) -> bool:
    """Whether a function that returns true or false reads a slot of the account."""
    types = [each.abi_type for each in function.parameters]
    outputs = [each.abi_type for each in function.outputs]
    if len(types) != len(values) or outputs[:1] != ["bool"] or not function.is_read_only:
        return False
    try:
        data = encode_arguments(function.selector, types, values)
    except (EncodingError, TypeError, ValueError, OverflowError):
        return False
    reads = place.prober.read(contract, data, place.account).tape.reads
    return slot in {(each.account, each.slot) for each in reads}
