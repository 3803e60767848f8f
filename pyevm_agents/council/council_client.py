"""An `AgentCouncilOracle` on the chain of a node, read by JSON-RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rlp
from eth_abi.exceptions import DecodingError
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import RETRIES, ChainClient, read_view
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.client.json_rpc import DEFAULT_TIMEOUT_SECONDS, RemoteError
from pyevm_agents.council.messages import (
    NOBODY,
    CouncilRequest,
    CouncilTerms,
    DisputeTerms,
    RequestPhase,
    RequestView,
)
from pyevm_agents.errors import AgentsError, ConfigError, RemoteFault
from pyevm_agents.forking.headers import HeaderMismatchError, parse_header

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTRACT = "AgentCouncilOracle"

VIEWS = (
    *("phaseOf", "getRequest", "getCommits", "getReveals", "judgesOf", "disputeJudges"),
    *("seedBlockOf", "getResolution"),
)
"""What is read of a request. `disputeJudges` is `judgesOf` of the dispute."""


class CouncilClient(ChainClient):
    """An `AgentCouncilOracle` on the chain of a node. Thread-safe."""

    def __init__(
        self,
        url: str,
        oracle: bytes,
        *,
        retries: int = RETRIES,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        """Send nothing yet. Input: the oracle's address, 20 bytes; the rest as `RemoteClient`."""
        super().__init__(url, retries=retries, timeout_seconds=timeout_seconds)
        self.oracle = oracle
        self._artifact = load_artifact(CONTRACT)

    def require_council(self) -> None:
        """Check that the address has a council's oracle.

        Raises: ConfigError: no code, or that of another contract.
        """
        require_code(self, self.oracle)
        contract = RemoteContract(self, CONTRACT, self.oracle)
        if contract.supports("IAgentCouncilOracle") and contract.supports("ICouncil"):
            return
        advice = "pass the address of an AgentCouncilOracle"
        if contract.supports("IAgentOracle"):
            advice = f"it is an oracle of callback execution (`pyevm-agents oracle`); {advice}"
        raise ConfigError(
            f"{contract.checksum_address}: not an AgentCouncilOracle, by its supportsInterface "
            f"(ERC-165); {advice}"
        )

    def read_terms(self) -> CouncilTerms:
        """Return the rules of all requests."""
        terms = self._read_all_terms()
        return CouncilTerms(reveal_time=terms[0], draw_time=terms[1], judge_time=terms[2])

    def read_dispute_terms(self) -> DisputeTerms:
        """Return the rules of disputes."""
        _, _, _, window, registration_time, _, judge_fee, _, disputer_part, judge_part, *_ = (
            self._read_all_terms()
        )
        return DisputeTerms(
            window=window,
            registration_time=registration_time,
            judge_fee=judge_fee,
            disputer_part=disputer_part,
            judge_part=judge_part,
        )

    def _read_all_terms(self) -> Sequence[Any]:
        rules = to_canonical_address(self.read("rules"))
        try:
            terms: Sequence[Any] = read_view(self, rules, "CouncilRules", "terms")
        except DecodingError as error:
            raise self._build_gone_fault("rules") from error
        return terms

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a view of the oracle at the last block; return the result.

        Raises: RejectedCallError. RemoteFault: there is no oracle any more.
        """
        try:
            return read_view(self, self.oracle, CONTRACT, function, *arguments)
        except DecodingError as error:
            raise self._build_gone_fault(function) from error

    def read_phases(self, request_ids: Sequence[int], block: int) -> list[RequestPhase]:
        """Return the phases of requests after a block."""
        answers = self._read_all([("phaseOf", (each,)) for each in request_ids], block)
        return [RequestPhase(phase) for phase, _ in answers]

    def read_views(
        self, request_ids: Sequence[int], block: int | str = "latest"
    ) -> list[RequestView]:
        """Return the views of requests after a block, in few round trips."""
        calls = [_build_call(name, each) for each in request_ids for name in VIEWS]
        values = iter(self._read_all(calls, block))
        return [_build_view(each, [next(values) for _ in VIEWS]) for each in request_ids]

    def find_view(self, request_id: int, block: int | str) -> RequestView | None:
        """Return a request after a block; None if there was none, or the node has no such state."""
        try:
            [view] = self.read_views([request_id], block)
        except (RemoteError, RemoteFault):
            return None
        return None if view.phase is RequestPhase.NONE else view

    def read_request_count(self, block: int) -> int:
        """Return how many requests were made until a block."""
        [count] = self._read_all([("requestCount", ())], block)
        return int(count)

    def read_claimable(self, account: bytes, tokens: Sequence[bytes]) -> list[int]:
        """Return an account's claims of tokens, to withdraw now; zeros are the native asset."""
        name = to_checksum_address(account)
        calls = [("claimable", (to_checksum_address(each), name)) for each in tokens]
        return [int(each) for each in self._read_all(calls, "latest")]

    def read_outcome(self, request_id: int, account: bytes) -> int:
        """Return the outcome of a participant: a place in `OUTCOMES`."""
        return int(self.read("outcomeOf", request_id, to_checksum_address(account)))

    def find_event(self, name: str, request_id: int) -> tuple[Any, ...] | None:
        """Return the arguments of an event's last log for a request, without its number.

        Output: None without a log, and where the node does not search logs.
        Raises: RemoteFault: the node does not answer.
        """
        try:
            logs = RemoteContract(self, CONTRACT, self.oracle).find_logs(name, request_id)
        except RemoteFault:
            raise
        except AgentsError:
            return None
        return logs[-1].values[1:] if logs else None

    def read_raw_header(self, number: int) -> bytes | None:
        """Return the RLP of a block's header; None if there is no such block.

        Raises: RemoteFault: the fields do not have the block's hash.
        """
        block: Any = self.request("eth_getBlockByNumber", [hex(number), False])
        if block is None:
            return None
        try:
            return bytes(rlp.encode(parse_header(block)))
        except HeaderMismatchError as error:
            raise self.build_fault(
                "eth_getBlockByNumber", f"block {number}: {error}", "pass another node's URL"
            ) from error

    def _read_all(
        self, calls: Sequence[tuple[str, tuple[object, ...]]], block: int | str
    ) -> list[Any]:
        tag = block if isinstance(block, str) else hex(block)
        to = to_checksum_address(self.oracle)
        params = [
            [{"to": to, "data": "0x" + self._artifact.encode_call(name, *arguments).hex()}, tag]
            for name, arguments in calls
        ]
        answers = self._request_each("eth_call", params)
        return [
            self._decode(name, answer) for (name, _), answer in zip(calls, answers, strict=True)
        ]

    def _decode(self, function: str, answer: object) -> Any:  # noqa: ANN401 - what Solidity returns
        try:
            data = bytes.fromhex(str(answer).removeprefix("0x"))
            return self._artifact.decode_result(function, data)
        except (AgentsError, DecodingError, OverflowError, ValueError) as error:
            raise self._build_gone_fault(function) from error

    def _build_gone_fault(self, function: str) -> RemoteFault:
        return self.build_fault(
            "eth_call",
            f"{function} of council {to_checksum_address(self.oracle)} returned something else",
            "check that the council is still on this chain",
        )


def _build_call(name: str, request_id: int) -> tuple[str, tuple[object, ...]]:
    if name in {"judgesOf", "disputeJudges"}:
        return "judgesOf", (request_id, name == "disputeJudges")
    return name, (request_id,)


def _build_view(request_id: int, values: Sequence[Any]) -> RequestView:
    (phase, ends_at), request, commits, reveals, judges, dispute_judges, seed, resolution = values
    requester, reward, token, bond, count, deadline, query, specifications, required = request
    return RequestView(
        request=CouncilRequest(
            request_id=request_id,
            requester=to_canonical_address(requester),
            reward=reward,
            reward_token=to_canonical_address(token),
            bond=bond,
            agent_count=count,
            deadline=deadline,
            query=query,
            specifications=specifications,
            capabilities=tuple(required[0]),
            domains=tuple(required[1]),
        ),
        phase=RequestPhase(phase),
        ends_at=ends_at,
        commits=_pair(*commits),
        reveals=_pair(*reveals),
        judge=_read_address(judges[0]),
        candidates=tuple(map(_read_address, judges[1])),
        dispute_judge=_read_address(dispute_judges[0]),
        dispute_candidates=tuple(map(_read_address, dispute_judges[1])),
        seed_block=seed,
        answer=resolution[0],
    )


def _pair(accounts: Sequence[str], values: Sequence[bytes]) -> dict[bytes, bytes]:
    return {_read_address(each): bytes(value) for each, value in zip(accounts, values, strict=True)}


def _read_address(text: str) -> bytes:
    return bytes(to_canonical_address(text)) if int(text, 16) else NOBODY
