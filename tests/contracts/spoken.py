"""Requests, and texts inside and outside their grammars, for Hypothesis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eth_abi import encode
from eth_utils import keccak, to_checksum_address
from hypothesis import strategies as st

from precompiles.abi import ParamType
from precompiles.escaping import ADDRESS
from pyevm_agents.models.fakes.scripted import Step, ToolStep, render_step
from tests.byte_model import PROFILE

TALKATIVE = replace(PROFILE, max_output_tokens=8_192)
"""A model whose words are never too many: an executor of Solidity counts none."""

ADDRESSES = [to_checksum_address(keccak(bytes([n]))[:20]) for n in range(5)]
OTHER_ADDRESSES = [to_checksum_address(keccak(bytes([n]))[:20]) for n in range(5, 10)]

PARAMETERS = {
    "Pay": {"asset": ParamType.ADDRESS, "amount": ParamType.UINT},
    "Note It": {"text": ParamType.STRING, "offset": ParamType.INT, "is_urgent": ParamType.BOOL},
    "Many": {
        "texts": ParamType.STRING_ARRAY,
        "to": ParamType.ADDRESS_ARRAY,
        "flags": ParamType.BOOL_ARRAY,
        "ints": ParamType.INT_ARRAY,
        "uints": ParamType.UINT_ARRAY,
        "USDC": ParamType.STRING,
    },
    "Nothing": {},
}
"""Tools by name, with every type of parameter among them; one is named like a handle."""

ODD = st.sampled_from([*'"\\\n\r\t\0\x7f\x85 {}[]', "\u2028", "0x", "0X1", "é", "→", "🦉"])
PLAIN = st.sampled_from(["addr1", "addr2", "USDC", "x-1.y", "true", "7", "a.", "-b", *ADDRESSES])
_WORDS = st.lists(PLAIN, min_size=1, max_size=5).map(" ".join)
TEXTS = st.one_of(_WORDS, _WORDS, _WORDS, st.lists(st.one_of(PLAIN, ODD), max_size=5).map("".join))
"""Most can be said."""


def spelled(address: str) -> st.SearchStrategy[str]:
    """Write an address in one of the ways that people do; the last one fails its checksum."""
    swapped = address[:2] + address[2:].swapcase()
    return st.sampled_from([address, address.lower(), "0x" + address[2:].upper(), swapped])


ANY_ADDRESS = st.sampled_from(ADDRESSES).flatmap(spelled)
NAMES = st.sampled_from(["USDC", "addr1", "addr2", "x-1.y", "-no", "7", "true", "a0xb", "n" * 33])
LINES = st.one_of(
    st.builds("{} = {}".format, NAMES, ANY_ADDRESS),
    st.builds("\t{}={} \r".format, NAMES, ANY_ADDRESS),
    st.builds("Pay {}, not {}.".format, ANY_ADDRESS, ANY_ADDRESS),
    st.builds("a{} {}b 0{}".format, ANY_ADDRESS, ANY_ADDRESS, ANY_ADDRESS),
    TEXTS,
)
PROMPTS = st.lists(LINES, max_size=5).map("\n".join)
ALL_NAMED = st.permutations(ADDRESSES).map(", ".join)
"""A text with every address, so that all can be said."""

VALUES: dict[ParamType, st.SearchStrategy[Any]] = {
    ParamType.STRING: TEXTS,
    ParamType.ADDRESS: st.sampled_from(ADDRESSES),
    ParamType.BOOL: st.booleans(),
    ParamType.INT: st.integers(-(2**255), 2**255 - 1),
    ParamType.UINT: st.integers(0, 2**256 - 1),
}
VALUES |= {
    ParamType(kind + ParamType.STRING_ARRAY): st.lists(item, max_size=4)
    for kind, item in list(VALUES.items())
}


def _arguments(tool: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    names, values = list(PARAMETERS[tool]), [VALUES[kind] for kind in PARAMETERS[tool].values()]
    drawn = st.tuples(*values).map(lambda told: dict(zip(names, told, strict=True)))
    return st.tuples(st.just(tool), drawn)


ARGUMENTS = st.sampled_from(list(PARAMETERS)).flatmap(_arguments)
"""A tool's name and its arguments in their order."""


def encoded(tool: str, arguments: dict[str, Any]) -> bytes:
    """Return Solidity's `abi.encode` of a tool's arguments."""
    types = [kind.abi_type for kind in PARAMETERS[tool].values()]
    return encode(types, list(arguments.values()))


def words_of(step: Step, handles: tuple[tuple[str, str], ...]) -> str:
    """Return the text of a step, with handles in place before JSON escapes the text around them."""
    names = {address: handle for handle, address in handles}

    def spoken(value: Any) -> Any:  # noqa: ANN401 - an argument
        if isinstance(value, list):
            return [spoken(item) for item in value]
        if not isinstance(value, str):
            return value
        return ADDRESS.sub(lambda found: names.get(found[0], found[0]), value)

    if isinstance(step, ToolStep):
        step = replace(
            step, arguments={name: spoken(value) for name, value in step.arguments.items()}
        )
    return render_step(step, handles)
