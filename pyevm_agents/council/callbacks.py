"""The call that tells a requester, if it is a contract, the end of its request.

ERC-8033: "Implementations MAY add `callback(address target, uint256 requestId)` for notifying
requester contracts." The oracle calls nobody by itself: somebody has to, and pays the gas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import decode_hex, encode_hex, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.client.json_rpc import RemoteError, Request
from pyevm_agents.council.messages import CallbackState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.council.messages import CouncilRequest

CONTRACT = "AgentCouncilOracle"


def encode_callback(request: CouncilRequest) -> bytes:
    """Return the calldata that tells a requester the end of its request."""
    target = to_checksum_address(request.requester)
    return load_artifact(CONTRACT).encode_call("callback", target, request.request_id)


def is_taken(output: bytes) -> bool:
    """Return whether the requester took the call. Input: what `callback` returned.

    `ICouncil` says it by a boolean; the ERC's function returns nothing.
    """
    return not output or any(output)


def read_callbacks(
    client: RemoteClient, oracle: bytes, requests: Sequence[CouncilRequest], block: int | str
) -> dict[int, CallbackState]:
    """Return what became of callbacks after a block, by the numbers of ended requests.

    Each is tried: the oracle has no view that says it, and not every node searches logs.

    Output: without the requests of accounts that are no contracts.
    Raises: RemoteFault: the node does not answer.
    """
    tag = block if isinstance(block, str) else hex(block)
    accounts = sorted({each.requester for each in requests})
    codes = client.request_all(
        [Request("eth_getCode", [encode_hex(each), tag]) for each in accounts]
    )
    contracts = {
        account for account, code in zip(accounts, codes, strict=True) if _decode(code) != b""
    }
    asked = [each for each in requests if each.requester in contracts]
    to = encode_hex(oracle)
    calls = [{"to": to, "data": encode_hex(encode_callback(each))} for each in asked]
    answers = client.request_all([Request("eth_call", [each, tag]) for each in calls])
    return {
        request.request_id: _classify(answer)
        for request, answer in zip(asked, answers, strict=True)
    }


def _classify(answer: object) -> CallbackState:
    if isinstance(answer, RemoteError):
        return CallbackState.CALLED if _is_of_called(answer) else CallbackState.FAILED
    return CallbackState.PENDING if is_taken(_decode(answer)) else CallbackState.FAILED


def _is_of_called(error: RemoteError) -> bool:
    """Return whether an oracle refuses since the requester, which the target is, was called."""
    return decode_revert(error.revert_data).startswith("NothingToCall(")


def _decode(answer: object) -> bytes:
    return b"" if isinstance(answer, RemoteError) else decode_hex(str(answer))
