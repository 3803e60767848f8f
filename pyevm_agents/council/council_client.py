"""An oracle of councils on the chain of a node, read by JSON-RPC.

What `ICouncil` adds to ERC-8033 is used where the oracle says that it has that; any other oracle is
read by the ERC's functions and events (erc_oracle.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import rlp
from eth_abi.exceptions import DecodingError
from eth_utils import (
    decode_hex,
    function_signature_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.chain_client import (
    RETRIES,
    ChainClient,
    RejectedCallError,
    UnsignedCall,
    read_view,
)
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.client.functions import find_functions
from pyevm_agents.client.json_rpc import DEFAULT_TIMEOUT_SECONDS, RemoteError
from pyevm_agents.council.callbacks import read_callbacks
from pyevm_agents.council.commitment_trials import try_form
from pyevm_agents.council.commitments import CommitmentForm, CommitmentPlace, KnownForm, find_form
from pyevm_agents.council.decisions import Act
from pyevm_agents.council.erc_oracle import (
    COMMITMENT_OF,
    CORE,
    DISPUTE,
    DISPUTE_BOND,
    OPTIONAL,
    ErcOracle,
)
from pyevm_agents.council.messages import (
    NO_END,
    NOBODY,
    OUTCOMES,
    CouncilRequest,
    CouncilTerms,
    DisputeTerms,
    Panel,
    RequestPhase,
    RequestView,
    build_request,
)
from pyevm_agents.errors import AgentsError, ConfigError, RemoteFault
from pyevm_agents.forking.headers import HeaderMismatchError, parse_header

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONTRACT = "AgentCouncilOracle"

VIEWS = (
    *("phaseOf", "getRequest", "getCommits", "getReveals", "judgesOf", "disputeJudges"),
    *("judgeBondOf", "disputeJudgeBond", "seedBlockOf", "getResolution"),
)
"""What is read of a request. Names of disputes are views that take `true` as a second argument."""

OF_PANELS = {
    "judgesOf": ("judgesOf", False),
    "disputeJudges": ("judgesOf", True),
    "judgeBondOf": ("judgeBondOf", False),
    "disputeJudgeBond": ("judgeBondOf", True),
}
NO_TERMS = CouncilTerms(reveal_time=NO_END, draw_time=NO_END, judge_time=NO_END)
"""Of an oracle that has no rules for all requests."""


class CouncilClient(ChainClient):
    """An oracle of councils on the chain of a node. Reads an ERC's oracle for one thread alone."""

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

    # -- what the oracle is -- #

    @cached_property
    def erc(self) -> ErcOracle | None:
        """The oracle as one of ERC-8033 alone; None for one that has `ICouncil` too."""
        contract = RemoteContract(self, CONTRACT, self.oracle)
        if contract.supports("IAgentCouncilOracle") and contract.supports("ICouncil"):
            return None
        functions = find_functions(self, self.oracle, (*CORE, *OPTIONAL))
        return ErcOracle(self, self.oracle, functions)

    def require_council(self) -> None:
        """Check that the address has an oracle of ERC-8033.

        Raises: ConfigError: no code, or that of another contract.
        """
        require_code(self, self.oracle)
        if self.erc is None:
            return
        missing = [each for each in CORE if each not in self.erc.functions]
        if not missing:
            return
        advice = "pass the address of a council's oracle"
        contract = RemoteContract(self, CONTRACT, self.oracle)
        if contract.supports("IAgentOracle"):
            advice = f"it is an oracle of callback execution (`pyevm-agents oracle`); {advice}"
        name = missing[0].partition("(")[0]
        raise ConfigError(
            f"{contract.checksum_address}: no oracle of ERC-8033, for it has no {name}; {advice}"
        )

    @property
    def has_disputes(self) -> bool:
        """Whether the oracle has the ERC's functions of disputes."""
        return self.erc is None or DISPUTE in self.erc.functions

    def can(self, act: Act, phase: RequestPhase) -> bool:
        """Return whether the oracle has a function for an act in a phase."""
        return self.erc is None or self.erc.find_function(act, phase) is not None

    def encode_act(self, act: Act, view: RequestView, *arguments: object) -> bytes:
        """Return the calldata of an act. Input: arguments: what follows the request's number."""
        number = view.request.request_id
        if self.erc is None or act.value in ERC_ACTS:
            return self._artifact.encode_call(act.value, number, *arguments)
        function = self.erc.find_function(act, view.phase)
        assert function is not None  # noqa: S101 - asked by `can` before
        return bytes(function_signature_to_4byte_selector(function)) + number.to_bytes(32)

    def find_commitment_form(
        self, chain_id: int, request: CouncilRequest | None, agent: bytes = b"\1" * 20
    ) -> KnownForm:
        """Return the form of the oracle's commitments.

        Input:  request: one that an agent can join, to try a form with; None: none.
        Raises: ConfigError: the oracle takes none of the known forms.
        """
        number = 1 if request is None else request.request_id
        place = CommitmentPlace(
            chain_id=chain_id, oracle=self.oracle, request_id=number, agent=agent
        )

        def ask(answer: bytes, nonce: int) -> bytes | None:
            if self.erc is not None and COMMITMENT_OF not in self.erc.functions:
                return None
            try:
                name = to_checksum_address(agent)
                return bytes(self.read("commitmentOf", number, name, answer, nonce))
            except (RejectedCallError, RemoteFault):
                return None

        def attempt(form: CommitmentForm) -> bool | None:
            return None if request is None else try_form(self, place, request, form)

        return find_form(place, ask, attempt)

    def takes_form(
        self, chain_id: int, request: CouncilRequest, agent: bytes, form: CommitmentForm
    ) -> bool | None:
        """Return whether the oracle takes a commitment of a form; None where it can't be tried."""
        place = CommitmentPlace(
            chain_id=chain_id, oracle=self.oracle, request_id=request.request_id, agent=agent
        )
        return try_form(self, place, request, form)

    # -- rules -- #

    def read_terms(self) -> CouncilTerms:
        """Return the rules of all requests."""
        if self.erc is not None:
            return NO_TERMS
        terms = self.read_all_terms()
        return CouncilTerms(
            reveal_time=terms["revealTime"],
            draw_time=terms["drawTime"],
            judge_time=terms["judgeTime"],
        )

    def read_dispute_terms(self) -> DisputeTerms | None:
        """Return the rules of disputes; None where the oracle states none."""
        if self.erc is not None:
            return None
        terms = self.read_all_terms()
        return DisputeTerms(
            window=terms["disputeWindow"],
            registration_time=terms["disputeRegistrationTime"],
            judge_fee=terms["judgeFee"],
            disputer_part=terms["disputerReimbursement"],
            judge_part=terms["judgeReimbursement"],
            judge_count=terms["disputeJudges"],
        )

    def read_all_terms(self) -> Mapping[str, Any]:
        """Return the members of `Terms` by name."""
        rules = to_canonical_address(self.read("rules"))
        try:
            values: Sequence[Any] = read_view(self, rules, "CouncilRules", "terms")
        except DecodingError as error:
            raise self._build_gone_fault("rules") from error
        names = list_term_names()
        return dict(zip(names, values, strict=True))

    # -- reading -- #

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Call a view of the oracle at the last block; return the result.

        Raises: RejectedCallError. RemoteFault: there is no oracle any more.
        """
        try:
            return read_view(self, self.oracle, CONTRACT, function, *arguments)
        except DecodingError as error:
            raise self._build_gone_fault(function) from error

    def read_dispute_bond(self, request_id: int) -> int | None:
        """Return the wei of a dispute's bond; None where the oracle states none."""
        if self.erc is not None and DISPUTE_BOND not in self.erc.functions:
            return None
        return int(self.read("disputeBondOf", request_id))

    def list_request_ids(self, block: int) -> list[int]:
        """Return the numbers of all requests that were made until a block, in order."""
        if self.erc is not None:
            return self.erc.list_request_ids(block)
        [count] = self._read_all([("requestCount", ())], block)
        return [*range(1, int(count) + 1)]

    def read_phases(self, request_ids: Sequence[int], block: int) -> list[RequestPhase]:
        """Return the phases of requests after a block."""
        if self.erc is not None:
            return [each.phase for each in self.erc.read_views(request_ids, block)]
        answers = self._read_all([("phaseOf", (each,)) for each in request_ids], block)
        return [RequestPhase(phase) for phase, _ in answers]

    def read_views(
        self, request_ids: Sequence[int], block: int | str = "latest"
    ) -> list[RequestView]:
        """Return the views of requests after a block, in few round trips."""
        if self.erc is not None:
            number = self.read_head().number if isinstance(block, str) else block
            return self._add_callbacks(self.erc.read_views(request_ids, number), number)
        calls = [_build_call(name, each) for each in request_ids for name in VIEWS]
        values = iter(self._read_all(calls, block))
        views = [_build_view(each, [next(values) for _ in VIEWS]) for each in request_ids]
        return self._add_callbacks(self._add_judged(views, block), block)

    def _add_judged(self, views: Sequence[RequestView], block: int | str) -> list[RequestView]:
        """Return views with those judges of disputes that have decided."""
        asked = [
            (view.request.request_id, judge)
            for view in views
            if view.phase is RequestPhase.DISPUTE_JUDGE
            for judge in view.dispute_panel.judges
        ]
        calls = [("hasJudged", (number, to_checksum_address(each))) for number, each in asked]
        answers = zip(asked, self._read_all(calls, block), strict=True) if calls else ()
        judged = {each for each, has_judged in answers if has_judged}
        return [
            replace_judged(view, judged) if view.phase is RequestPhase.DISPUTE_JUDGE else view
            for view in views
        ]

    def _add_callbacks(self, views: Sequence[RequestView], block: int | str) -> list[RequestView]:
        """Return views with what became of the requesters' callbacks."""
        ended = [each for each in views if each.phase.has_ended]
        if not ended or not self.can(Act.CALL_BACK, ended[0].phase):
            return [*views]
        states = read_callbacks(self, self.oracle, [each.request for each in ended], block)
        return [
            replace(each, callback=states.get(each.request.request_id, each.callback))
            for each in views
        ]

    def find_view(self, request_id: int, block: int | str) -> RequestView | None:
        """Return a request after a block; None if there was none, or the node has no such state."""
        try:
            [view] = self.read_views([request_id], block)
        except (RemoteError, RemoteFault):
            return None
        return None if view.phase is RequestPhase.NONE else view

    def read_claimable(self, account: bytes, tokens: Sequence[bytes]) -> list[int]:
        """Return an account's claims of tokens, to withdraw now; zeros are the native asset."""
        if self.erc is not None:  # The ERC pays by `distributeRewards`.
            return [0] * len(tokens)
        name = to_checksum_address(account)
        calls = [("claimable", (to_checksum_address(each), name)) for each in tokens]
        return [int(each) for each in self._read_all(calls, "latest")]

    def read_outcome(self, request_id: int, account: bytes) -> int:
        """Return the outcome of a participant: a place in `OUTCOMES`."""
        if self.erc is not None:
            head = self.read_head().number
            return OUTCOMES.index(self.erc.read_outcome(request_id, account, head))
        return int(self.read("outcomeOf", request_id, to_checksum_address(account)))

    def read_dispute_outcome(self, view: RequestView) -> str | None:
        """Return what became of the dispute of an ended request; None: there is nothing to read.

        Output: `overturned`; `upheld`; `undecided`, without a majority; or `decided`, where the
            node does not search logs.
        """
        number, judges = view.request.request_id, view.dispute_panel.judges
        resolved = self.find_event("DisputeResolved", number)
        if resolved is None:
            return "decided" if judges else None
        if resolved[0]:
            return "overturned"
        if self.erc is not None:
            return "upheld"
        outcomes = {OUTCOMES[self.read_outcome(number, each)] for each in judges}
        # Without a majority nothing becomes of its judges.
        return "upheld" if "upheld" in outcomes else "undecided"

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

    def simulate(self, call: UnsignedCall, block: str = "pending") -> bytes:
        """Return the output of a call on the state that the next block has so far.

        That is the state after what waits in the pool; of a node without it, the last block's.

        Raises: RejectedCallError: the call fails.
        """
        output: Any = None
        for tag in dict.fromkeys((block, "latest")):
            try:
                output = self.request("eth_call", [call.serialize(), tag])
            except RemoteError as error:
                if tag == "pending" and not error.revert_data:
                    continue
                raise RejectedCallError(error.message, error.revert_data) from error
            break
        return decode_hex(str(output or "0x"))

    def read_cost(self, transaction_hash: bytes) -> tuple[int, int]:
        """Return a mined transaction's gas, and its cost in wei; zeros: the node does not say."""
        form: Any = self.request("eth_getTransactionReceipt", ["0x" + transaction_hash.hex()])
        try:
            used = int(form["gasUsed"], 16)
            return used, used * int(form["effectiveGasPrice"], 16)
        except (KeyError, TypeError, ValueError):
            return 0, 0

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


ERC_ACTS = frozenset(
    each.value
    for each in (*(Act.COMMIT, Act.REVEAL, Act.AGGREGATE, Act.DISTRIBUTE, Act.DISPUTE, Act.RULE),)
)
"""Acts whose functions are the ERC's own, with the ERC's arguments."""


def list_term_names() -> tuple[str, ...]:
    """Return the names of the members of `Terms`, in order."""
    abi: Any = load_artifact("CouncilRules").abi
    [terms] = [each for each in abi if each.get("name") == "terms"]
    return tuple(each["name"] for each in terms["outputs"][0]["components"])


def replace_judged(view: RequestView, judged: set[tuple[int, bytes]]) -> RequestView:
    """Return a view with those judges of its dispute that are in the (request, judge) pairs."""
    number, panel = view.request.request_id, view.dispute_panel
    own = frozenset(each for each in panel.judges if (number, each) in judged)
    return replace(view, dispute_panel=replace(panel, judged=own))


def _build_call(name: str, request_id: int) -> tuple[str, tuple[object, ...]]:
    if name in OF_PANELS:
        function, of_dispute = OF_PANELS[name]
        return function, (request_id, of_dispute)
    return name, (request_id,)


def _build_view(request_id: int, values: Sequence[Any]) -> RequestView:
    (phase, ends_at), request, commits, reveals, *panels, seed, resolution = values
    judges, dispute_judges, bond, dispute_bond = panels
    return RequestView(
        request=build_request(request_id, request),
        phase=RequestPhase(phase),
        ends_at=ends_at,
        commits=_pair(*commits),
        reveals=_pair(*reveals),
        panel=_build_panel(judges, bond),
        dispute_panel=_build_panel(dispute_judges, dispute_bond),
        seed_block=seed,
        answer=resolution[0],
    )


def _build_panel(judges: Sequence[Sequence[str]], bond: int) -> Panel:
    drawn, candidates = (tuple(map(_read_address, each)) for each in judges)
    return Panel(judges=drawn, candidates=candidates, bond=bond)


def _pair(accounts: Sequence[str], values: Sequence[bytes]) -> dict[bytes, bytes]:
    return {_read_address(each): bytes(value) for each, value in zip(accounts, values, strict=True)}


def _read_address(text: str) -> bytes:
    return bytes(to_canonical_address(text)) if int(text, 16) else NOBODY
