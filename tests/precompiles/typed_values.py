"""Random Solidity types and values, and the typed texts that a model writes for them."""

from __future__ import annotations

from typing import Any

from eth_typing import Address
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType
from precompiles.abi_types import AbiType, Kind
from precompiles.address_handles import AddressBook
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import attach_types

FIRST = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
SECOND = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
THIRD = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
FOURTH = "0x52908400098527886E0F7030069857D2E4169EE7"
HEX_BOOK = AddressBook(f"aa = {FIRST}\ncafe = {SECOND}\nnPOOL = {THIRD}\nPOOL = {FOURTH}\n", [])
"""Names of addresses that look like hexadecimal digits, or like an escape with a name."""

HANDLES = [handle for handle, _ in HEX_BOOK.handles]


def marked(*markers: str, kind: ParamType = ParamType.STRING) -> Tool:
    """Return the tool `t` with parameters `v`, `v1`, … that have these markers."""
    parameters = [
        ParamDescription(param_type=kind, name=f"v{index or ''}", description=f"x [abi:{marker}]")
        for index, marker in enumerate(markers)
    ]
    return Tool(
        address=Address(bytes(19) + b"\x42"),
        name="t",
        description="",
        parameters=attach_types(parameters),
    )


WORDS = st.sampled_from([8, 16, 24, 128, 248, 256])
ELEMENTARY = st.one_of(
    WORDS.map(lambda bits: AbiType(Kind.UINT, bits)),
    WORDS.map(lambda bits: AbiType(Kind.INT, bits)),
    st.integers(1, 32).map(lambda size: AbiType(Kind.FIXED_BYTES, size)),
    st.sampled_from([Kind.BOOL, Kind.ADDRESS, Kind.STRING, Kind.BYTES]).map(AbiType),
)


def _extend(inner: st.SearchStrategy[AbiType]) -> st.SearchStrategy[AbiType]:
    return st.one_of(
        inner.map(lambda of: AbiType(Kind.ARRAY, parts=(of,))),
        st.builds(
            lambda of, size: AbiType(Kind.FIXED_ARRAY, size, (of,)), inner, st.integers(1, 4)
        ),
        st.lists(inner, min_size=1, max_size=4).map(
            lambda parts: AbiType(Kind.TUPLE, parts=tuple(parts))
        ),
    )


def measure_depth(of: AbiType) -> int:
    return 1 + max(map(measure_depth, of.parts)) if of.parts else 0


ANY_TYPES = st.recursive(ELEMENTARY, _extend, max_leaves=8).filter(
    lambda of: len(of.leaves) <= 32 and measure_depth(of) <= 8 and len(str(of)) <= 256
)
TYPES = ANY_TYPES.filter(lambda of: of.kind not in {Kind.ADDRESS, Kind.BOOL, Kind.STRING})
"""Types of typed texts within the limits."""

LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from(
    "'\\\"\n\r\t"
)
TEXTS = (
    st.text(LETTERS, max_size=20)
    | st.lists(
        st.sampled_from([*HANDLES, "\n", "\t", "\\", "'", "n", " ", "0", "x", ", ", "]", ")"]),
        max_size=8,
    ).map("".join)
).filter(lambda text: "0x" not in text.lower())


LEAVES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.ADDRESS: st.sampled_from(HANDLES),
    Kind.STRING: TEXTS,
    Kind.BYTES: st.binary(max_size=8) | st.sampled_from([b"", b"\xaa", b"\xca\xfe"]),
}


def values(of: AbiType) -> st.SearchStrategy[Any]:
    """Return a strategy of values: int, bool, str, bytes, handles as str, and lists of them."""
    numbers = of.numbers
    if numbers is not None:
        near = st.sampled_from([0, numbers.start, numbers.stop - 1])
        return near | st.integers(numbers.start, numbers.stop - 1)
    if of.kind is Kind.FIXED_BYTES:
        return st.binary(min_size=of.size, max_size=of.size)
    if of.kind is Kind.TUPLE:
        return st.tuples(*map(values, of.parts)).map(list)
    if not of.parts:
        return LEAVES[of.kind]
    least, most = (of.size, of.size) if of.size else (0, 3)
    items = st.lists(values(of.parts[0]), min_size=least, max_size=most)
    is_unwritable = of.kind is Kind.ARRAY and of.parts[0].kind is Kind.BYTES
    return items.filter(lambda found: not is_unwritable or found != [b""])


def write(of: AbiType, value: Any) -> str:  # noqa: ANN401 - a value of any type
    """Return the typed text of a value."""
    match of.kind:
        case Kind.TUPLE:
            members = zip(of.parts, value, strict=True)
            return f"({', '.join(write(part, member) for part, member in members)})"
        case Kind.ARRAY | Kind.FIXED_ARRAY:
            return f"[{', '.join(write(of.parts[0], item) for item in value)}]"
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.STRING:
            return write_string(value)
        case Kind.BYTES | Kind.FIXED_BYTES:
            return str(value.hex())
    return str(value)


def write_string(text: str) -> str:
    for character, escape in (
        ("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"),
    ):  # fmt: skip
        text = text.replace(character, escape)
    return f"'{text}'"


def flatten(of: AbiType, value: Any) -> list[tuple[AbiType, Any]]:  # noqa: ANN401 - as above
    """Return the elementary values with their types, in order."""
    if of.kind is Kind.TUPLE:
        members = zip(of.parts, value, strict=True)
        return [leaf for part, member in members for leaf in flatten(part, member)]
    if of.parts:
        return [leaf for item in value for leaf in flatten(of.parts[0], item)]
    return [(of, value)]


def expand(of: AbiType, value: Any, book: AddressBook = HEX_BOOK) -> Any:  # noqa: ANN401 - as above
    """Return a value with addresses in place of handles, in addresses and strings alone."""
    if of.kind is Kind.TUPLE:
        return [expand(part, item, book) for part, item in zip(of.parts, value, strict=True)]
    if of.parts:
        return [expand(of.parts[0], item, book) for item in value]
    if of.kind is Kind.ADDRESS:
        return book.resolve(value)
    return book.expand(value) if of.kind is Kind.STRING else value
