"""Which functions a contract has, by what it answers: no interface needs to be declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import decode_hex, encode_hex, function_signature_to_4byte_selector

from pyevm_agents.client.json_rpc import RemoteError, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.client.json_rpc import RemoteClient

UNKNOWN_SELECTOR = bytes.fromhex("ffffffff")
"""No contract has this function. Source: ERC-165."""

ZEROS = bytes(1_024)
"""Arguments of any types: offsets of zero point to a length of zero."""

PUSH4 = b"\x63"


def find_functions(
    client: RemoteClient, address: bytes, signatures: Iterable[str]
) -> frozenset[str]:
    """Return those functions that a contract has.

    A function is there if a call ends otherwise than a call of a function that no contract has, or
    if the code compares the selector: a bare revert looks like a missing function. Behind a proxy
    the calls alone tell.

    Input:  signatures: such as `commit(uint256,bytes32)`.
    Raises: RemoteFault: the node does not answer. RemoteError: it has no code to show.
    """
    wanted = [*signatures]
    to = encode_hex(address)
    selectors = [bytes(function_signature_to_4byte_selector(each)) for each in wanted]
    calls = [
        Request("eth_call", [{"to": to, "data": encode_hex(each + ZEROS)}, "latest"])
        for each in (UNKNOWN_SELECTOR, *selectors)
    ]
    *answers, code = client.request_all([*calls, Request("eth_getCode", [to, "latest"])])
    if isinstance(code, RemoteError):
        raise code
    unknown, *ends = map(_summarize, answers)
    return frozenset(
        name
        for name, end, selector in zip(wanted, ends, selectors, strict=True)
        if end != unknown or PUSH4 + selector in decode_hex(str(code))
    )


def _summarize(answer: object) -> tuple[bool, bytes]:
    """Return whether a call succeeded, and its output or revert data."""
    if isinstance(answer, RemoteError):
        return False, answer.revert_data
    return True, decode_hex(str(answer))
