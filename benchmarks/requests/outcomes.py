"""What an agent makes of a request: the change of state, and the answer.

A request is run as an `eth_call` on its world, once for each choice that the rules leave to the
model, and once with the model itself. The right change is that of the calls which the table states.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.requests.choices import ChoosingModel
from precompiles.outcome import is_done
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.chain import Call
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.requests.world import Request, World
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.swappable import SwappableModel

MAX_RUNS = 40
"""Choices of a request that are tried."""

CONTRACT_REFUSED = "toolcallfailed"
"""What a run's revert begins with, in lower case, if a contract refused a call."""

MIN_LETTERS = 3
"""Letters of a word that tells a reason."""


class Verdict(StrEnum):
    """How a run compares with the table."""

    DONE = "done"
    """The right change, and the right answer."""

    DECLINED = "declined"
    """No change, and an answer that says so, or a revert."""

    WRONG = "wrong"
    """Another change than the right one, or a change although there is none."""

    SILENT = "silent"
    """No change, and an answer that says `Done`, or lacks what it has to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The outcome of one run."""

    verdict: Verdict
    answer: str
    """The agent's, or the reason of the revert."""

    options: tuple[int, ...] = ()
    """Of each step that was left to the model, the number of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a request."""

    request: Request
    runs: tuple[Run, ...]
    """One for each choice; one alone where the rules decide all."""

    run: Run | None = None
    """With the model."""

    @property
    def is_decided(self) -> bool:
        """Whether nothing was left to the model."""
        return len(self.runs) == 1 and not self.runs[0].options

    @property
    def is_offered(self) -> bool:
        """Whether one of the choices is right."""
        return any(run.verdict is Verdict.DONE for run in self.runs)

    @property
    def can_be_wrong(self) -> bool:
        """Whether one of the choices changes the chain wrongly."""
        return any(run.verdict is Verdict.WRONG for run in self.runs)

    @property
    def final(self) -> Run:
        """The run with the model, or the only one."""
        return self.runs[0] if self.run is None else self.run

    @property
    def has_right_reason(self) -> bool:
        """Whether a declined request's answer quotes the words for which nothing may happen.

        Of a request that states none, or that a contract refuses, any reason is right.
        """
        because, answer = self.request.because.lower(), self.final.answer.lower()
        if self.request.reason == "refused" and answer.startswith(CONTRACT_REFUSED):
            return True
        # An answer is shown as a revert's argument, and has no `0x`.
        answer = answer.replace("\\'", "'").replace("0\u2026", "0x")
        words = [
            word
            for word in because.replace("'s", " ").split()
            if len(word) >= MIN_LETTERS or word.isdigit()
        ]
        return (
            not because
            or because in answer
            or any(word.strip(".,!?\"'") in answer for word in words)
        )


class Runner:
    """Runs the requests of a world."""

    def __init__(self, world: World, model: SwappableModel, vocabulary: Vocabulary) -> None:
        """Keep a world, the model of its chain, and the tokens' source."""
        self._world = world
        self._model = model
        self._vocabulary = vocabulary
        self._before = self._look(None)

    def try_request(self, request: Request, *, with_model: bool) -> Result:
        """Run a request with each choice, and with the model if it is asked anything."""
        right = self._find_right(request)
        runs = tuple(self._iter_runs(request, right))
        is_asked = with_model and bool(runs[0].options)
        run = self._run(request, right) if is_asked else None
        return Result(request=request, runs=runs, run=run)

    def try_first(self, request: Request) -> Run:
        """Run a request once, with the first of the choices that the rules leave to the model."""
        return next(self._iter_runs(request, self._find_right(request)))

    def _look(self, state: object) -> dict[str, object]:
        """Return the world's state, without what agents count on their own account."""
        found = dict(self._world.snapshot(state))  # type: ignore[arg-type]
        agents = {
            agent.name for agent in self._world.agents.values() if agent.address == agent.account
        }
        return {name: value[0] if name in agents else value for name, value in found.items()}

    def _find_right(self, request: Request) -> dict[str, object]:
        if not request.calls:
            return self._before
        calls = [self._world.read_call(text, request.agent) for text in request.calls]
        return self._look(self._world.run(calls)[0])

    def _iter_runs(self, request: Request, right: dict[str, object]) -> Iterator[Run]:
        """Yield a run for each choice, in depth first order."""
        waiting: list[tuple[int, ...]] = [()]
        for _ in range(MAX_RUNS):
            if not waiting:
                return
            path = waiting.pop()
            chooser = ChoosingModel(self._vocabulary, path)
            self._model.swap(chooser)
            try:
                run = self._run(request, right, chooser)
            finally:
                self._model.swap(None)
            yield run
            for place in range(len(path), len(chooser.options)):
                start = (*path, *(0 for _ in range(place - len(path))))
                waiting += [(*start, number) for number in range(1, chooser.options[place])]

    def _run(
        self, request: Request, right: dict[str, object], chooser: ChoosingModel | None = None
    ) -> Run:
        agent = self._world.agents[request.agent]
        result = self._world.chain.call(
            Call(to=agent.address, sender=DEVELOPMENT_ADDRESS, data=encode_run(request.text))
        )
        options = () if chooser is None else tuple(chooser.options)
        if result.error is not None:
            reason = decode_revert(result.output) if result.output else str(result.error)
            return Run(verdict=Verdict.DECLINED, answer=reason, options=options)
        answer = load_artifact("IERCAgent").decode_result("run", result.output)[1]
        after = self._look(result.computation.state)
        return Run(
            verdict=self._judge(request, right, after, answer), answer=answer, options=options
        )

    def _judge(
        self, request: Request, right: dict[str, object], after: dict[str, object], answer: str
    ) -> Verdict:
        if after != self._before:
            return (
                Verdict.DONE
                if after == right and request.calls and is_done(answer)
                else Verdict.WRONG
            )
        if not is_done(answer):
            return Verdict.DECLINED
        is_told = bool(request.answer) and request.answer.lower() in answer.lower()
        return Verdict.DONE if is_told else Verdict.SILENT


def list_results(
    runner: Runner, requests: Iterable[Request], *, with_model: bool
) -> Iterator[Result]:
    """Yield the result of each request."""
    for request in requests:
        yield runner.try_request(request, with_model=with_model)
