"""A commitment and its reveal, simulated: whether an oracle takes a form, before a bond is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import encode_hex

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.council.commitments import PROBE_ANSWER, PROBE_NONCE, compute_commitment

if TYPE_CHECKING:
    from pyevm_agents.client.chain_client import ChainClient
    from pyevm_agents.council.commitments import CommitmentForm, CommitmentPlace
    from pyevm_agents.council.messages import CouncilRequest

INTERFACE = "IAgentCouncilOracle"
ETHER = 10**18


def try_form(
    client: ChainClient, place: CommitmentPlace, request: CouncilRequest, form: CommitmentForm
) -> bool | None:
    """Return whether an oracle takes the reveal of a commitment in a form.

    The probe is nobody's answer, committed by an account with pretended wei, and revealed in a
    simulated block after the deadline.

    Output: None where it can't be told: the node has no `eth_simulateV1`, or the request takes no
        commitment now.
    """
    options = request.options
    answer = options[0].encode() if options else PROBE_ANSWER
    artifact, number = load_artifact(INTERFACE), request.request_id
    commitment = compute_commitment(form, place, answer, PROBE_NONCE)
    commit = artifact.encode_call("commit", number, commitment)
    reveal = artifact.encode_call("reveal", number, answer, PROBE_NONCE)
    agent, oracle = encode_hex(place.agent), encode_hex(place.oracle)
    blocks = [
        {
            "stateOverrides": {agent: {"balance": hex(request.bond + ETHER)}},
            "calls": [_build_call(agent, oracle, commit, request.bond)],
        },
        {
            "blockOverrides": {"time": hex(request.deadline + 1)},
            "calls": [_build_call(agent, oracle, reveal, 0)],
        },
    ]
    try:
        results: Any = client.request("eth_simulateV1", [{"blockStateCalls": blocks}, "latest"])
        committed, revealed = (int(block["calls"][0]["status"], 16) for block in results)
    except (RemoteError, KeyError, IndexError, TypeError, ValueError):
        return None
    return bool(revealed) if committed else None


def _build_call(sender: str, to: str, data: bytes, value: int) -> dict[str, str]:
    return {"from": sender, "to": to, "data": encode_hex(data), "value": hex(value)}
