"""An oracle that has ERC-8033's interface alone, read by its functions and events.

Some views of the ERC authors' draft (github.com/jonmross/ACO, b865ec9) are used where an oracle has
them: the ERC leaves open how judges register, post a bond and are drawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils import (
    decode_hex,
    encode_hex,
    function_signature_to_4byte_selector,
    to_canonical_address,
)

from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.client.json_rpc import RemoteError, Request
from pyevm_agents.client.logs import decode_log, parse_logs
from pyevm_agents.council.decisions import Act
from pyevm_agents.council.erc_phases import ErcEnds, ErcEvent, ErcState, derive_phase, find_judge
from pyevm_agents.council.messages import (
    NO_END,
    CouncilRequest,
    Panel,
    RequestPhase,
    RequestView,
    build_request,
)
from pyevm_agents.errors import AgentsError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyevm_agents.client.chain_client import ChainClient
    from pyevm_agents.client.logs import MinedLog

INTERFACE = "IAgentCouncilOracle"

CORE = (
    *("commit(uint256,bytes32)", "reveal(uint256,bytes,uint256)"),
    *("aggregate(uint256,bytes,address[],bytes)", "distributeRewards(uint256)"),
    *("getRequest(uint256)", "getCommits(uint256)", "getReveals(uint256)"),
    "getResolution(uint256)",
)
"""What each oracle of the ERC has, beside `createRequest`, which the draft has otherwise."""

DISPUTE, RULE = (
    "initiateDispute(uint256,string)",
    "resolveDispute(uint256,bool,bytes,address[])",
)
DISPUTE_BOND = "disputeBondOf(uint256)"
COMMITMENT_OF = "commitmentOf(uint256,address,bytes,uint256)"
CREATE = "createRequest(string,uint256,uint256,uint256,address,string,(string[],string[]))"
CREATE_DRAFT = (
    "createRequest((string,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint16,"
    "address,address,string,(string[],string[])))"
)
REGISTER, SELECT, POST_BOND = (
    "registerJudgeForRequest(uint256)",
    "selectJudge(uint256)",
    "postJudgeBond(uint256)",
)
CALLBACK = "callback(address,uint256)"
"""The ERC's optional function that tells a requester the end of its request."""

TIMEOUTS = {
    RequestPhase.REVEAL: "closeReveals(uint256)",
    RequestPhase.DRAW: "refundIfNoJudge(uint256)",
    RequestPhase.JUDGE: "timeoutJudge(uint256)",
}
REVEAL_END, DRAW_END = "getRevealDeadline(uint256)", "getJudgeSignupDeadline(uint256)"
JUDGE_TIME, JUDGE_BOND = "getJudgeAggWindow(uint256)", "getJudgeBondAmount(uint256)"
JUDGE_COUNT, JUDGE_AT = "judgeCount(uint256)", "getJudgeAt(uint256,uint256)"

OPTIONAL = (
    *(DISPUTE, RULE, DISPUTE_BOND, COMMITMENT_OF, CREATE, CREATE_DRAFT),
    *(REGISTER, SELECT, POST_BOND, *TIMEOUTS.values()),
    *(REVEAL_END, DRAW_END, JUDGE_TIME, JUDGE_BOND, JUDGE_COUNT, JUDGE_AT, CALLBACK),
)
"""What is used where an oracle has it."""

FUNCTIONS = {
    Act.REGISTER: REGISTER,
    Act.DRAW: SELECT,
    Act.POST_BOND: POST_BOND,
    Act.DISPUTE: DISPUTE,
    Act.RULE: RULE,
    Act.CALL_BACK: CALLBACK,
}
CORE_ACTS = frozenset({Act.COMMIT, Act.REVEAL, Act.AGGREGATE, Act.DISTRIBUTE})

EVENTS = (
    *("RequestCreated", "JudgeSelected", "ResolutionFinalized", "RewardsDistributed"),
    *("ResolutionFailed", "DisputeInitiated", "DisputeWindowOpened", "DisputeResolved"),
)
REVEALS_CLOSED = compute_topic("RevealsClosed(uint256)")
"""Of the authors' draft."""

REQUEST_TYPES = (
    "(address,uint256,address,uint256,uint256,uint256,string,string,(string[],string[]))",
    "(address,uint256,address,uint256,address,uint256,uint256,string,string,(string[],string[]))",
)
"""The ERC's `Request`, and that of the authors' draft: with the token of bonds."""

CREATED = EVENTS[0]
BOND_TOKEN_AT = 4
"""Its place in the draft's form, behind the bond."""

MAX_SHOWN_JUDGES = 64
"""Candidates that are read: anybody registers for nothing."""

FINAL_BLOCKS = 64
"""After so many blocks an event is not read again. Source: two epochs of Ethereum."""


class ErcOracle:
    """An oracle of ERC-8033. For one thread."""

    def __init__(self, client: ChainClient, address: bytes, functions: frozenset[str]) -> None:
        """Input: the chain; the oracle; those of `CORE` and `OPTIONAL` that the oracle has."""
        self._client, self._address, self.functions = client, address, functions
        events = describe_contract(INTERFACE, load_artifact(INTERFACE).abi).events.values()
        self._events = [each for each in events if each.name in EVENTS]
        self._final: list[MinedLog] = []
        self._final_until = -1

    def find_function(self, act: Act, phase: RequestPhase) -> str | None:
        """Return the function for an act in a phase; None: the oracle has none that is known."""
        if act in CORE_ACTS:
            return next(each for each in CORE if each.startswith(f"{act.value}("))
        name = TIMEOUTS.get(phase) if act is Act.ADVANCE else FUNCTIONS.get(act)
        return name if name in self.functions else None

    def list_request_ids(self, block: int) -> list[int]:
        """Return the numbers of all requests until a block, by their events."""
        return sorted({n for n, event in self._list_events(block) if event.name == CREATED})

    def read_views(self, request_ids: Sequence[int], block: int) -> list[RequestView]:
        """Return the views of requests after a block. Raises: RemoteError: there is no such one."""
        history: dict[int, list[ErcEvent]] = {each: [] for each in request_ids}
        for number, event in self._list_events(block):
            if number in history:
                history[number].append(event)
        places = sorted({each[-1].block_number for each in history.values() if each})
        headers = zip(places, self._client.read_headers(places), strict=True)
        times = {place: header.timestamp for place, header in headers if header is not None}
        return [
            self._read_view(
                number, block, events, times.get(events[-1].block_number) if events else None
            )
            for number, events in history.items()
        ]

    def read_outcome(self, request_id: int, account: bytes, block: int) -> str:
        """Return what became of a participant, by the rewards: one of `OUTCOMES`."""
        [view] = self.read_views([request_id], block)
        shared = [
            event.values[0]
            for number, event in self._list_events(block)
            if number == request_id and event.name == "RewardsDistributed"
        ]
        if not shared:
            return "none"
        if account in map(_canonical, shared[-1]):
            return "right"
        if account in view.commits:
            return "wrong" if account in view.reveals else "withheld"
        return "upheld" if account in view.panel.judges else "none"

    def read_number(self, signature: str, *arguments: int, block: int | str = "latest") -> int:
        """Return a view's number. Raises: RemoteError: it reverts."""
        [data] = self._call([(signature, arguments)], block)
        return int(_decode(("uint256",), data, signature)[0])

    # -- one request -- #

    def _read_view(
        self, number: int, block: int, history: Sequence[ErcEvent], entered_at: int | None
    ) -> RequestView:
        names = ("getRequest", "getCommits", "getReveals", "getResolution")
        form, *rest = self._call([(f"{name}(uint256)", (number,)) for name in names], block)
        agents, commitments = _decode(("address[]", "bytes32[]"), rest[0], names[1])
        revealed, answers = _decode(("address[]", "bytes[]"), rest[1], names[2])
        answer, is_final = _decode(("bytes", "bool"), rest[2], names[3])
        state = ErcState(
            request=read_request(number, form),
            commits=_pair(agents, commitments),
            reveals=_pair(revealed, answers),
            is_final=is_final,
            history=history,
        )
        state = replace(state, ends=self._read_ends(state, block, entered_at))
        phase, ends_at = derive_phase(state)
        panel = self._read_panel(state, phase, block)
        # A drawing needs no header, only a candidate and somebody who calls a known function.
        is_drawable = SELECT in self.functions and bool(panel.candidates)
        return RequestView(
            request=state.request,
            phase=phase,
            ends_at=ends_at,
            commits=state.commits,
            reveals={each: state.reveals[each] for each in state.commits if each in state.reveals},
            panel=panel,
            dispute_panel=Panel(judges=_list_judges(find_judge(state, is_of_dispute=True))),
            seed_block=0 if is_drawable else NO_END,
            answer=answer,
            entered_at=entered_at,
            reveal_ends_at=state.ends.reveal,
        )

    def _read_ends(self, state: ErcState, block: int, entered_at: int | None) -> ErcEnds:
        number = state.request.request_id
        values = {
            name: self.read_number(name, number, block=block)
            for name in (REVEAL_END, DRAW_END, JUDGE_TIME)
            if name in self.functions
        }
        is_drawn = JUDGE_TIME in values and entered_at is not None
        return ErcEnds(
            reveal=values.get(REVEAL_END, NO_END),
            draw=values.get(DRAW_END, NO_END),
            judge=(entered_at or 0) + values[JUDGE_TIME] if is_drawn else NO_END,
        )

    def _read_panel(self, state: ErcState, phase: RequestPhase, block: int) -> Panel:
        judges = _list_judges(find_judge(state, is_of_dispute=False))
        number = state.request.request_id
        candidates: tuple[bytes, ...] = ()
        if phase is RequestPhase.DRAW and {JUDGE_COUNT, JUDGE_AT} <= self.functions:
            count = min(self.read_number(JUDGE_COUNT, number, block=block), MAX_SHOWN_JUDGES)
            found = self._call([(JUDGE_AT, (number, place)) for place in range(count)], block)
            candidates = tuple(
                _canonical(_decode(("address",), each, JUDGE_AT)[0]) for each in found
            )
        bond = 0
        if phase is RequestPhase.JUDGE and JUDGE_BOND in self.functions:
            bond = self.read_number(JUDGE_BOND, number, block=block)
        return Panel(judges=judges, candidates=candidates, bond=bond)

    def _call(self, calls: Sequence[tuple[str, tuple[int, ...]]], block: int | str) -> list[bytes]:
        tag, to = block if isinstance(block, str) else hex(block), encode_hex(self._address)
        requests = []
        for signature, arguments in calls:
            selector = function_signature_to_4byte_selector(signature)
            data = selector + encode(["uint256"] * len(arguments), arguments)
            requests.append(Request("eth_call", [{"to": to, "data": encode_hex(data)}, tag]))
        results: list[bytes] = []
        for result in self._client.request_all(requests):
            if isinstance(result, RemoteError):
                raise result
            results.append(decode_hex(str(result)))
        return results

    # -- events -- #

    def _list_events(self, block: int) -> Iterable[tuple[int, ErcEvent]]:
        """Yield the events until a block with their requests' numbers, in order."""
        for log in self._list_logs(block):
            if log.topics[:1] == (REVEALS_CLOSED,):
                yield (
                    int.from_bytes(log.topics[1]),
                    ErcEvent(name="RevealsClosed", values=(), block_number=log.block_number),
                )
            for definition in self._events:
                found = decode_log(definition, log)
                if found is not None:
                    number, *values = found.values
                    yield (
                        number,
                        ErcEvent(
                            name=definition.name,
                            values=tuple(values),
                            block_number=log.block_number,
                        ),
                    )

    def _list_logs(self, block: int) -> list[MinedLog]:
        """Return the logs until a block; those of final blocks are read once."""
        if block <= self._final_until:
            return [each for each in self._final if each.block_number <= block]
        found = [*self._final, *self._search(self._final_until + 1, block)]
        until = block - FINAL_BLOCKS
        if until > self._final_until:
            self._final = [each for each in found if each.block_number <= until]
            self._final_until = until
        return found

    def _search(self, first: int, last: int) -> Iterable[MinedLog]:
        """Yield logs of blocks; a range that the node refuses is searched in halves."""
        topics = [compute_topic(each.signature) for each in self._events]
        query = {
            "address": encode_hex(self._address),
            "topics": [[encode_hex(each) for each in (*topics, REVEALS_CLOSED)]],
            "fromBlock": hex(first),
            "toBlock": hex(last),
        }
        try:
            logs = self._client.request("eth_getLogs", [query])
        except RemoteError as error:
            if first >= last:
                raise AgentsError(
                    f"{self._client.host} does not search the logs of block {first:,} "
                    f"({error.message}), and an oracle of ERC-8033 alone lists its requests by "
                    "events; pass the URL of another node"
                ) from error
            middle = (first + last) // 2
            yield from self._search(first, middle)
            yield from self._search(middle + 1, last)
        else:
            yield from parse_logs(logs)


def read_request(number: int, data: bytes) -> CouncilRequest:
    """Return the request in the output of `getRequest`: the ERC's form, or the draft's.

    Raises: RemoteFault: the output is of neither form.
    """
    for types in REQUEST_TYPES:
        try:
            [values] = decode([types], data)
        except (DecodingError, OverflowError, UnicodeDecodeError):
            continue
        if encode([types], [values]) == data:
            break
    else:
        raise RemoteFault(
            f"getRequest({number}) returns something else than ERC-8033 says; check that the "
            "address is that of an oracle"
        )
    if types == REQUEST_TYPES[0]:
        return build_request(number, values)
    members = list(values)
    bond_token = _canonical(members.pop(BOND_TOKEN_AT))
    return build_request(number, members, bond_token=bond_token)


def _decode(types: tuple[str, ...], data: bytes, name: str) -> tuple[Any, ...]:
    try:
        return tuple(decode(types, data))
    except (DecodingError, OverflowError, UnicodeDecodeError) as error:
        raise RemoteFault(
            f"{name} of the oracle returns something else than ERC-8033 says; check that the "
            "oracle is still on this chain"
        ) from error


def _list_judges(event: ErcEvent | None) -> tuple[bytes, ...]:
    return () if event is None else (_canonical(event.values[0]),)


def _pair(accounts: Sequence[str], values: Sequence[bytes]) -> Mapping[bytes, bytes]:
    return {_canonical(each): bytes(value) for each, value in zip(accounts, values, strict=True)}


def _canonical(address: str) -> bytes:
    return bytes(to_canonical_address(address))
