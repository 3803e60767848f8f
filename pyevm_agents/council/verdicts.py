"""Where a judge's verdicts come from: a command, or a model; both give a form that is checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from eth_utils import is_hex_address, keccak, to_canonical_address, to_checksum_address

from pyevm_agents.council.answers import (
    BASE_PROMPT,
    NoAnswerError,
    SameAnswerError,
    fold,
    run_command,
)
from pyevm_agents.council.messages import (
    MAX_ANSWER_BYTES,
    MAX_REASON_BYTES,
    Verdict,
    describe_request,
)
from pyevm_agents.display import sanitize
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.council.answers import AskedModel
    from pyevm_agents.council.messages import RequestView

JUDGE_PROMPT = "You judge the answers of others."
MAX_SHOWN_CHARACTERS = 160
"""Of each answer in the prompt, so that a council's answers fit into a context."""

VERDICT = re.compile(r"([^:]*):?(.*)", re.DOTALL)


class VerdictSource(Protocol):
    """Judges answers."""

    def judge(self, view: RequestView) -> Verdict:
        """Return the verdict. Raises: AgentsError: there is none now."""
        ...


class CommandVerdict:
    """A program that reads request and answers as JSON and writes a verdict. A `VerdictSource`."""

    def __init__(self, words: Sequence[str], timeout_seconds: float) -> None:
        """Input: the program with arguments; the time limit."""
        self._words, self._timeout = words, timeout_seconds

    def judge(self, view: RequestView) -> Verdict:
        """Return the program's verdict. Raises: NoAnswerError: no form, or a wrong one."""
        output = run_command(self._words, describe_case(view), self._timeout)
        try:
            form = parse_json(output)
        except ValueError as error:
            raise NoAnswerError(f"{self._words[0]}: wrote no JSON") from error
        return read_verdict(form, view)


class ModelVerdict:
    """A model's verdicts, by the prompt and the rules of `CouncilJudge`. A `VerdictSource`.

    A model that names no answer gets the question itself: participants with the same answer are
    right.
    """

    def __init__(self, model: AskedModel, name: str) -> None:
        """Input: the model; the name that the reasons state."""
        self._model, self._name = model, name

    def judge(self, view: RequestView) -> Verdict:
        """Return the model's verdict. Raises: SameAnswerError: none that the oracle would take."""
        try:
            return self._judge(view)
        except NoAnswerError as error:
            raise SameAnswerError(
                f"{error}; the model says the same each time, so start again with --verdict-command"
            ) from error

    def _judge(self, view: RequestView) -> Verdict:
        said = self._model.ask(view.request, build_prompt(view)).strip()
        answers = list(view.reveals.items())
        named, final = _read_numbers(said, len(answers))
        if not final and (same := _find_same(view, said.encode())):
            named = same
        if not named:
            own = self._model.ask(
                view.request, view.request.full_question, base_prompt=BASE_PROMPT
            ).strip()
            named, final = _find_same(view, own.encode()), b""
            if not named:
                raise NoAnswerError(f"the model agrees with no answer: {sanitize(own)}")
            said = f"its own answer is {own}"
        first = answers[min(named)][1]
        if view.request.options:
            named, final = {at for at, (_, each) in enumerate(answers) if each == first}, first
        else:
            folded = {fold(answers[at][1]) for at in named}
            named |= {at for at, (_, each) in enumerate(answers) if fold(each) in folded}
        reasons = f"model {self._name}: {said}".encode()[:MAX_REASON_BYTES]
        return require_verdict(
            Verdict(
                answer=final or first,
                winners=tuple(answers[at][0] for at in sorted(named)),
                reasoning=reasons.decode(errors="ignore").encode(),
            ),
            view,
        )


def build_prompt(view: RequestView) -> str:
    """Return a model's prompt: the question, and the answers of others as quotations."""
    shown = ", ".join(
        f"{number}. {_quote(answer)}" for number, answer in enumerate(view.reveals.values(), 1)
    )
    return (
        f"Question: {_quote(view.request.full_question.encode(), 2_048)}. Answers: {shown}. Which "
        "answers agree and are right? Give their numbers, a colon, and the final answer, such as "
        "1, 2: Paris"
    )


def describe_case(view: RequestView) -> dict[str, object]:
    """Return a request with the answers in JSON, the input of commands that judge."""
    return {
        **describe_request(view.request),
        "isDispute": view.phase.is_of_dispute,
        "disputedAnswer": _describe_answer(view.answer) if view.phase.is_of_dispute else None,
        "answers": [
            {"agent": to_checksum_address(agent), **_describe_answer(answer)}
            for agent, answer in view.reveals.items()
        ],
    }


def read_verdict(form: Any, view: RequestView) -> Verdict:  # noqa: ANN401 - JSON
    """Return the verdict in a form `{"answer": TEXT, "winners": [ADDRESS], "reasoning": TEXT}`.

    In place of an answer's text there may be `answerHex`.

    Raises: NoAnswerError: the form is another one, or the oracle would not take it.
    """
    if not isinstance(form, dict):
        raise NoAnswerError("verdict: must be an object of answer, winners and reasoning")
    unknown = form.keys() - {"answer", "answerHex", "winners", "reasoning"}
    if unknown:
        raise NoAnswerError(f"verdict: unknown member {min(map(str, unknown))!r}")
    winners = form.get("winners")
    if not isinstance(winners, list) or not all(
        isinstance(each, str) and is_hex_address(each) for each in winners
    ):
        raise NoAnswerError("verdict: winners must be a list of addresses")
    reasoning = form.get("reasoning")
    if not isinstance(reasoning, str):
        raise NoAnswerError("verdict: reasoning must be a text")
    verdict = Verdict(
        answer=_read_answer(form),
        winners=tuple(bytes(to_canonical_address(each)) for each in winners),
        reasoning=reasoning.encode(),
    )
    return require_verdict(verdict, view)


def require_verdict(verdict: Verdict, view: RequestView) -> Verdict:
    """Check a verdict by the oracle's rules.

    Raises: NoAnswerError: the oracle would refuse the verdict.
    """
    for name, size, limit in (
        ("answer", len(verdict.answer), MAX_ANSWER_BYTES),
        ("reasoning", len(verdict.reasoning), MAX_REASON_BYTES),
    ):
        if not 1 <= size <= limit:
            raise NoAnswerError(f"verdict: {name} of {size:,} bytes must be 1 to {limit:,}")
    _require_winners(verdict, view)
    return verdict


def _require_winners(verdict: Verdict, view: RequestView) -> None:
    if not verdict.winners:
        raise NoAnswerError("verdict: winners is empty; name the agents that were right")
    if len({*verdict.winners}) < len(verdict.winners):
        raise NoAnswerError("verdict: an agent is named twice among the winners")
    for each in verdict.winners:
        if each not in view.reveals:
            raise NoAnswerError(f"verdict: winner {to_checksum_address(each)} revealed nothing")
    if view.request.options:
        _require_voters(verdict, view)


def _require_voters(verdict: Verdict, view: RequestView) -> None:
    """Check that the winners of a discrete query are all voters for the answer."""
    if verdict.answer.decode(errors="replace") not in view.request.options:
        raise NoAnswerError(f"verdict: must be one of {', '.join(view.request.options)}")
    voters = {agent for agent, each in view.reveals.items() if each == verdict.answer}
    if {*verdict.winners} != voters:
        raise NoAnswerError("verdict: the winners must be all who voted for the answer")


def hash_case(view: RequestView) -> bytes:
    """Return the hash of the judged case, which a reorganisation may change."""
    parts = [view.key[1], bytes([view.phase.is_of_dispute]), keccak(view.answer)]
    parts += [agent + keccak(answer) for agent, answer in view.reveals.items()]
    return bytes(keccak(b"".join(parts)))


def is_overturned(verdict: Verdict, view: RequestView) -> bool:
    """Return whether a verdict on a dispute differs from the disputed answer."""
    return fold(verdict.answer) != fold(view.answer)


def _read_numbers(said: str, count: int) -> tuple[set[int], bytes]:
    """Return places of answers in `1, 3: the final answer`, and the final answer.

    Source: `CouncilText.readVerdict`.
    """
    match = VERDICT.fullmatch(said)
    assert match is not None  # noqa: S101 - matches all texts
    numbers = {int(each) for each in re.findall(r"[0-9]+", match[1])} - {0}
    if any(each > count for each in numbers):
        return set(), b""
    return {each - 1 for each in numbers}, match[2].strip().encode()


def _find_same(view: RequestView, text: bytes) -> set[int]:
    exact = bool(view.request.options)
    return {
        at
        for at, each in enumerate(view.reveals.values())
        if (each == text if exact else fold(each) == fold(text))
    }


def _quote(answer: bytes, limit: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return an answer on one line between double quotes, without double quotes inside."""
    try:
        text = answer.decode()
    except UnicodeDecodeError:
        return "(no text)"
    shown = "".join(
        " " if each < " " or each in "\x7f\x85\u2028\u2029" else each
        for each in text[:limit].replace('"', "'")
    )
    return f'"{shown}{"..." if len(text) > limit else ""}"'


def _describe_answer(answer: bytes) -> dict[str, object]:
    try:
        text: str | None = answer.decode()
    except UnicodeDecodeError:
        text = None
    return {"answer": text, "answerHex": "0x" + answer.hex()}


def _read_answer(form: Mapping[str, Any]) -> bytes:
    text, digits = form.get("answer"), form.get("answerHex")
    if isinstance(text, str) and digits is None:
        return text.encode()
    if isinstance(digits, str) and text is None and re.fullmatch(r"0x([0-9a-fA-F]{2})*", digits):
        return bytes.fromhex(digits[2:])
    raise NoAnswerError("verdict: answer must be a text, or answerHex 0x and hexadecimal digits")
