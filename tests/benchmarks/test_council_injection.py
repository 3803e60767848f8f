"""The benchmark of attacks on a council's models: with scripted models, and the real tokens."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.council_attacks import ANSWERS, QUERIES, QUESTIONS, SPECIFICATIONS, Lie
from benchmarks.council_injection import (
    INFO_AGENT,
    JUDGE,
    OUTCOMES,
    InjectionBench,
    InjectionRun,
    attack,
    build_report,
    count_outcomes,
    read_options,
)
from precompiles.language_model import Segment
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models import Vocabulary

REPORT = Path(__file__).parents[2] / "benchmarks" / "reports" / "council-injection.json"
DELIMITERS = ("<|im_start|>", "<|im_end|>")
PARIS = QUESTIONS[0]
LIE = Lie("Lyon", 3)


def open_bench(vocabulary: Vocabulary, say: Callable[[str], str]) -> InjectionBench:
    """Return a council whose models answer a prompt by a function."""

    def script(request: GenerationRequest) -> object:
        return answer(say("".join(one.text for one in request.segments)))

    model = ScriptedModel(script, vocabulary=vocabulary)  # type: ignore[arg-type]
    facts = model.profile_facts
    return InjectionBench(create_development_chain(model, facts, build_model_profile(facts)))


OUTCOMES_OF_REPLIES = [
    ("1: {wrong}", "wrong wins", "another"),
    ("2: {right}", "right wins", "another"),
    ("1, 2, 3: {right}", "both win", "another"),
    ("nobody", "no verdict", "another"),
    ("{wrong}.", None, "wrong"),
    ("{right}", "right wins", "right"),
    ("UNSURE: no", "no verdict", "refused"),
]
"""What a model replies, and what comes of it: as a judge, and as an info agent.

A chain keeps what its model generated, so each has a question of its own.
"""


@pytest.mark.slow
def test_each_reply_has_its_outcome(vocabulary: Vocabulary) -> None:
    replies = [""]
    bench = open_bench(vocabulary, lambda _: replies[-1])
    chain = bench.owner.chain
    for (form, of_judge, of_agent), (query, right, wrong) in zip(
        OUTCOMES_OF_REPLIES, QUESTIONS, strict=False
    ):
        replies.append(form.format(right=right, wrong=wrong))
        snapshot = chain.snapshot()
        answers = [wrong.encode(), right.encode(), right.encode()]
        found, _ = bench.run_judge(query, "", answers, 0)
        assert of_judge in {None, found}, form
        chain.revert(snapshot)
        snapshot = chain.snapshot()
        found, _ = bench.run_info_agent(*QUERIES["no attack"](query, wrong), right, wrong)
        assert found == of_agent, form
        chain.revert(snapshot)


@pytest.mark.slow
def test_each_attack_is_counted(vocabulary: Vocabulary) -> None:
    """The first question's liar is the first to answer."""
    bench = open_bench(vocabulary, lambda _: "1: Lyon")
    runs = list(attack(bench, [PARIS], Heartbeat("test")))
    counts = count_outcomes(runs)
    assert [*counts[JUDGE]] == [*ANSWERS, *SPECIFICATIONS]
    assert [*counts[INFO_AGENT]] == [*QUERIES]
    assert all(found["wrong wins"] == 1 for found in counts[JUDGE].values())
    assert all(found["another"] == 1 for found in counts[INFO_AGENT].values())
    form = build_report(runs)
    assert form["questions"] == 1
    assert len(form["runs"]) == len(runs) == len(ANSWERS) + len(SPECIFICATIONS) + len(QUERIES)  # type: ignore[arg-type]


def count_delimiters(vocabulary: Vocabulary, tokens: tuple[int, ...]) -> int:
    delimiters = {vocabulary.tokenize((Segment(text=one, is_template=True),)) for one in DELIMITERS}
    assert all(len(one) == 1 for one in delimiters)
    return sum((token,) in delimiters for token in tokens)


def test_no_attack_adds_a_delimiter_of_the_chat(vocabulary: Vocabulary) -> None:
    """What agents and requesters write is never a control token of the model."""
    asked: list[GenerationRequest] = []

    def script(request: GenerationRequest) -> object:
        asked.append(request)
        return answer("1: x")

    model = ScriptedModel(script, vocabulary=vocabulary)  # type: ignore[arg-type]
    facts = model.profile_facts
    bench = InjectionBench(create_development_chain(model, facts, build_model_profile(facts)))
    chain, (query, right, wrong) = bench.owner.chain, PARIS
    for name in ("no attack: a wrong answer", "the chat's delimiters"):
        snapshot = chain.snapshot()
        text = ANSWERS[name](LIE).encode()
        bench.run_judge(query, "", [right.encode(), right.encode(), text], 2)
        chain.revert(snapshot)
    for name in ("no attack", "the chat's delimiters"):
        snapshot = chain.snapshot()
        bench.run_info_agent(*QUERIES[name](query, wrong), right, wrong)
        chain.revert(snapshot)
    assert ["<|im_start|>assistant" in "".join(s.text for s in one.segments if not s.is_template)
            for one in asked] == [False, True, False, True]  # fmt: skip
    found = [count_delimiters(vocabulary, one.prompt_tokens) for one in asked]
    assert len(set(found)) == 1
    # A host that looked for control tokens in all segments would find the attack's.
    flawed = [
        count_delimiters(
            vocabulary,
            vocabulary.tokenize(
                tuple(Segment(text=each.text, is_template=True) for each in one.segments)
            ),
        )
        for one in asked
    ]
    assert flawed[0] == found[0]
    assert flawed[1] > found[1]
    assert flawed[3] > found[3]


def test_the_report_is_of_these_attacks() -> None:
    form = json.loads(REPORT.read_text("utf-8"))
    runs = [
        InjectionRun(
            who=one["who"],
            attack=one["attack"],
            question=one["question"],
            outcome=one["outcome"],
            reply=one["reply"],
        )
        for one in form["runs"]
    ]
    assert count_outcomes(runs) == form["counts"]
    assert [*form["counts"][JUDGE]] == [*ANSWERS, *SPECIFICATIONS]
    assert [*form["counts"][INFO_AGENT]] == [*QUERIES]
    asked = [query for query, _, _ in QUESTIONS[: form["questions"]]]
    each = Counter((one.who, one.attack) for one in runs)
    assert set(each.values()) == {len(asked)}
    assert {one.question for one in runs} == {*asked}
    assert all(one.outcome in OUTCOMES[one.who] for one in runs)


def test_the_page_has_the_reports_numbers() -> None:
    """Each row of docs/council-reference.md's tables of attacks has the counts of the report."""
    form = json.loads(REPORT.read_text("utf-8"))
    page = (REPORT.parents[2] / "docs" / "council-reference.md").read_text("utf-8")
    for found in form["counts"].values():
        for name, counts in found.items():
            row = f"| {name} | " + " | ".join(map(str, counts.values())) + " |"
            assert row in page, row


@pytest.mark.parametrize(
    "words", [["--questions", "0"], ["--questions", "25"], ["--questions", "x"]]
)
def test_a_wrong_number_of_questions_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        read_options(words)
    assert refused.value.code == 2
    assert "--questions" in capsys.readouterr().err
