"""What happens around a participant that is killed: of an info agent, a judge, a dispute's judge.

A stage has an oracle of its own, one request for each kill, and the moments to kill at. It does
what others do, by the state of the chain alone, so it goes on after blocks were removed.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

from eth_abi import decode
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.council.commitments import (
    CommitmentForm,
    CommitmentPlace,
    compute_commitment,
)
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.messages import RequestPhase
from tests.pyevm_agents.council.council_chain import (
    BOND,
    HOUR,
    NO_DISPUTES,
    NOBODY,
    OPTIONS,
    CouncilChain,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.council.messages import RequestView

REORG_DEPTH = 2
MONTH = 30 * 24 * HOUR
LONG_DISPUTES = (MONTH, HOUR, 200_000, 1_000, 5_000, 5_000, 5_000)
"""A window as long as the phases, so that only the time to register passes by an hour."""

RIGHT, UPHELD = 1, 4
"""`Outcome`."""

Moment = dict[str, Any]


def list_moments(*kinds: str, events: tuple[str, ...] = ()) -> tuple[Moment, ...]:
    """Return events, and before, while and after each kind of transaction is sent."""
    sent = [
        {"event": event, "kind": kind} for kind in kinds for event in ("signed", "sent", "mined")
    ]
    return (*({"event": event} for event in events), *sent)


class Stage:
    """A participant's oracle. Subclasses say what others do, and what has to come out."""

    role = "agent"
    moments: tuple[Moment, ...] = ()
    disputes: tuple[int, ...] = NO_DISPUTES

    def __init__(
        self, ask_node: Callable[..., Any], url: str, folder: Path, key: PrivateKey
    ) -> None:
        self.chain = CouncilChain(ask_node, url, self.disputes, MONTH)
        self.key, self.store = key, folder / f"{type(self).__name__}.store"
        self.account = self.chain.fund(key)
        self.client = CouncilClient(url, self.chain.canonical)
        self.helpers = ask_node("eth_accounts")[1:4]
        self.count = 0

    def close(self) -> None:
        self.client.close()

    def begin(self) -> int:
        """Ask the next question; return its number."""
        number = self.ask()
        self.count += 1
        self.chain.ask_node("anvil_mine", hex(REORG_DEPTH + 1))  # What was sent stays.
        return number

    def read_views(self) -> list[RequestView]:
        return self.client.read_views(range(1, self.count + 1))

    @property
    def has_ended(self) -> bool:
        """Whether all requests are distributed, and the participant has all that it earned."""
        is_over = all(each.phase is RequestPhase.DISTRIBUTED for each in self.read_views())
        return is_over and self.chain.read("claimable", NOBODY, self.account) == 0

    def ask(self) -> int:
        return self.chain.ask()

    def serve(self) -> None:
        """Do what others have to do now."""
        for view in self.read_views():
            is_draw = view.phase in {RequestPhase.DRAW, RequestPhase.DISPUTE_DRAW}
            if is_draw and self.client.read_head().number <= view.seed_block:
                self.chain.ask_node("anvil_mine", "0x3")
            self.serve_request(view)

    def serve_request(self, view: RequestView) -> None:
        """Do what others have to do for a request."""

    def check(self, number: int) -> None:
        """Check what came out of a request."""
        raise NotImplementedError

    # -- what subclasses use -- #

    def answer(self, number: int, *answers: bytes) -> None:
        """Commit to answers, each of another account."""
        for account, answer in zip(self.helpers, answers, strict=False):
            place = CommitmentPlace(
                chain_id=int(self.chain.ask_node("eth_chainId"), 16),
                oracle=self.chain.canonical,
                request_id=number,
                agent=bytes.fromhex(account[2:]),
            )
            commitment = compute_commitment(CommitmentForm.BOUND, place, answer, number)
            self.attempt(account, "commit", number, commitment, value=BOND)

    def reveal(self, view: RequestView, *answers: bytes) -> None:
        """Reveal those of the answers that are not revealed."""
        number = view.request.request_id
        for account, answer in zip(self.helpers, answers, strict=False):
            if bytes.fromhex(account[2:]) not in view.reveals:
                self.attempt(account, "reveal", number, answer, number)

    def attempt(self, account: str, function: str, *arguments: object, value: int = 0) -> None:
        """Call the oracle; a call that comes too late fails, which changes nothing."""
        data = load_artifact("AgentCouncilOracle").encode_call(function, *arguments)
        self.chain.attempt(account, self.chain.oracle, data, value)

    def read_event(self, name: str, number: int, *types: str) -> tuple[Any, ...]:
        """Return the arguments of the only log of an event that are no topics."""
        [log] = self.chain.find_events(name, number)
        return tuple(decode(types, bytes.fromhex(log["data"][2:])))

    def read_rows(self, columns: str, table: str, number: int) -> list[tuple[Any, ...]]:
        """Return what the store has for a request."""
        connection = sqlite3.connect(self.store)
        query = f"SELECT {columns} FROM {table} WHERE request_id = ?"  # noqa: S608 - of this module
        rows = connection.execute(query, (number.to_bytes(32),)).fetchall()
        connection.close()
        return rows


class AgentStage(Stage):
    """An info agent alone in its council: one commitment, one reveal, those of the store."""

    moments = list_moments(
        "commit",
        "reveal",
        "distributeRewards",
        "withdraw",
        events=("computing", "kept", "ended"),
    )

    def check(self, number: int) -> None:
        _, commitment = self.read_event("AgentCommitted", number, "address", "bytes32")
        _, answer = self.read_event("AgentRevealed", number, "address", "bytes")
        assert self.read_rows("answer, commitment", "answers", number) == [(answer, commitment)]
        assert self.chain.read("outcomeOf", number, self.account) == RIGHT


class JudgeStage(Stage):
    """The only candidate for the judge of two answers: one registration, the kept verdict."""

    role = "judge"
    moments = list_moments(
        "registerJudge",
        "selectJudge",
        "aggregate",
        "withdraw",
        events=("computing", "judged", "ended"),
    )
    answers = (b"Paris", b"Lyon")

    def ask(self) -> int:
        number = self.chain.ask(agents=2, specifications="")
        self.answer(number, *self.answers)
        return number

    def serve_request(self, view: RequestView) -> None:
        if view.phase is RequestPhase.REVEAL and view.panel.candidates:
            self.reveal(view, *self.answers)

    def check(self, number: int) -> None:
        assert self.read_event("JudgeRegistered", number, "address") == (self.account.lower(),)
        _, reasoning = self.read_event("JudgeReasoned", number, "address", "bytes")
        winners, _ = self.read_event("RewardsDistributed", number, "address[]", "uint256[]")
        answer, is_final = self.chain.read("getResolution", number)
        named = json.dumps([each[2:] for each in winners])
        assert is_final
        kept = self.read_rows("answer, winners, reasoning", "verdicts", number)
        assert kept == [(answer, named, reasoning)]
        assert self.chain.read("outcomeOf", number, self.account) == UPHELD


class DisputeStage(Stage):
    """A judge of a dispute beside one for each side: its kept verdict decides."""

    role = "judge"
    moments = list_moments(
        "registerJudge",
        "advance",
        "selectJudge",
        "resolveDispute",
        events=("judged",),
    )
    disputes = LONG_DISPUTES
    answers = (b"yes", b"no", b"yes")

    def ask(self) -> int:
        number = self.chain.ask(agents=3, specifications=OPTIONS)
        self.answer(number, *self.answers)
        [view] = self.client.read_views([number])
        self.reveal(view, *self.answers)
        bond = self.chain.read("disputeBondOf", number)
        self.chain.call("initiateDispute", number, "It is even.", value=bond)
        return number

    def serve_request(self, view: RequestView) -> None:
        number, panel = view.request.request_id, view.dispute_panel
        if view.phase is RequestPhase.DISPUTE_REGISTRATION:
            others = [each for each in self.judges if _canonical(each) not in panel.candidates]
            if _canonical(self.account) not in panel.candidates:
                return
            for each in others:
                self.attempt(each, "registerJudge", number, value=panel.bond)
            if not others and self.client.read_head().timestamp <= view.ends_at:
                self.chain.pass_time(HOUR + 1)
        if view.phase is RequestPhase.DISPUTE_JUDGE:
            right = [
                to_checksum_address(each) for each, said in view.reveals.items() if said == b"no"
            ]
            for each, overturns in zip(self.judges, (False, True), strict=True):
                if _canonical(each) not in panel.judged:
                    self.attempt(each, "resolveDispute", number, overturns, b"no", right)

    @property
    def judges(self) -> list[str]:
        """The other judges of the dispute."""
        return [*self.chain.ask_node("eth_accounts")[4:6]]

    def check(self, number: int) -> None:
        judges = [
            decode(["address"], bytes.fromhex(log["data"][2:]))[0]
            for log in self.chain.find_events("JudgeRegistered", number)
        ]
        assert judges.count(self.account.lower()) == 1
        overturned, answer = self.read_event("DisputeResolved", number, "bool", "bytes")
        [(kept, named)] = self.read_rows("answer, winners", "verdicts", number)
        assert (overturned, answer) == (kept == b"no", kept)
        winners, _ = self.read_event("RewardsDistributed", number, "address[]", "uint256[]")
        assert [to_checksum_address(each) for each in json.loads(named)] == [
            to_checksum_address(each) for each in winners
        ]
        assert self.chain.read("outcomeOf", number, self.account) == UPHELD


def _canonical(account: str) -> bytes:
    return bytes.fromhex(account[2:])


STAGES: tuple[type[Stage], ...] = (AgentStage, JudgeStage, DisputeStage)
