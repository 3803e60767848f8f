"""Tools over numeric models and language models: inputs, sentences, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Contract,
    Evm,
    final_answer,
    reverts,
    text_input,
)
from tests.run_answers import REFUSALS

DIGEST, OTHER_DIGEST = b"\x01" * 32, b"\x02" * 32
NO_INPUT: tuple[list[object], bytes] = ([], b"")
STRING, INT, UINT = 0, 3, 4
FIXED, PARAMETER, CONTRACT = 0, 1, 2
LEAST, MOST = -50_000, 50_000
NOWHERE = "0x" + "77" * 20

SENTENCE: tuple[object, ...] = (
    "Score", [], [],
    [(0, "", " %", 2, 1, 0, [(-(10**9), "low"), (0, "high")]), (1, "of", "", 0, 0, 1, [])],
)  # fmt: skip


@pytest.fixture
def models(evm: Evm) -> Contract:
    """A model of three inputs with 4, 2 and 0 decimals; it gives their sum and the last one."""
    models = evm.deploy("ScriptedNumericModels")
    weights = [1, 1, 1, 0, 0, 1]
    models(
        "set", "sum", (DIGEST, [4, 2, 0], [4, 0], LEAST, MOST, weights, [0, 0], 1, 10**9)
    )  # fmt: skip
    return models


def parameter(kind: int, name: str, least: int = LEAST, most: int = MOST) -> tuple[object, ...]:
    return (PARAMETER, 1, kind, name, name.title(), least, most, 0)


FIELDS = [
    parameter(STRING, "ratio"),
    parameter(INT, "points", -250, 1_050),
    (FIXED, 1, STRING, "", "", 0, 10, 7),
]


def model_tool(
    evm: Evm, models: Contract, fields: list[Any] | None = None, *,
    sentence: tuple[object, ...] = SENTENCE, digest: bytes = DIGEST,
) -> Contract:  # fmt: skip
    model = (models.address, "sum", digest)
    texts = ("score", "Scores things.")
    return evm.deploy("ModelTool", *texts, model, fields or FIELDS, ZERO, sentence)


def values(*params: tuple[int, str, object]) -> tuple[object, ...]:
    """Return an input of values with their types."""
    return ([(kind, encode([abi_type], [value])) for kind, abi_type, value in params], b"")


def given(ratio: str, points: int) -> tuple[object, ...]:
    return values((STRING, "string", ratio), (INT, "int256", points))


def test_numbers_reach_the_model_in_its_decimals(evm: Evm, models: Contract) -> None:
    tool = model_tool(evm, models)
    ((parameters,),) = (tool("inputDescription"),)
    assert parameters == (
        (STRING, "ratio", "Ratio (a decimal, -5.0000 to 5.0000)"),
        (INT, "points", "Points from -2 to 10"),
    )
    # 1.25 is 12500, 3 is 300, and 7 is fixed: 12807 of 10000 is 128.1 percent.
    assert tool("run", given("1.25", 3), ZERO) == (-1, "Score: 128.1 % (high), of 7")
    assert tool("run", given("-1.5", 0), ZERO) == (-1, "Score: -149.9 % (low), of 7")
    assert tool("modelGas") == 5_000


@pytest.mark.parametrize(
    ("ratio", "points", "error"),
    [
        ("5.0001", 0, ("ValueOutOfRange", "ratio", 50_001, LEAST, MOST)),
        ("1", 11, ("ValueOutOfRange", "points", 1_100, -250, 1_050)),
        ("1", -(2**255), ("ValueOutOfRange", "points", -(2**255), -250, 1_050)),
        ("1", 2**255 - 1, ("ValueOutOfRange", "points", 2**255 - 1, -250, 1_050)),
        ("1.23456", 0, ("MalformedNumber", "1.23456", 4)),
        ("", 0, ("MalformedNumber", "", 4)),
        ("1.", 0, ("MalformedNumber", "1.", 4)),
        (".5", 0, ("MalformedNumber", ".5", 4)),
        ("+1", 0, ("MalformedNumber", "+1", 4)),
        ("1e3", 0, ("MalformedNumber", "1e3", 4)),
        ("--1", 0, ("MalformedNumber", "--1", 4)),
        ("1.2.3", 0, ("MalformedNumber", "1.2.3", 4)),
        ("9" * 75, 0, ("MalformedNumber", "9" * 75, 4)),
    ],
)
def test_what_is_out_of_range_or_no_number_is_refused(
    evm: Evm, models: Contract, ratio: str, points: int, error: tuple[object, ...]
) -> None:
    tool = model_tool(evm, models)
    with reverts(*error):
        tool("run", given(ratio, points), ZERO)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (NO_INPUT, "another number of parameters expected"),
        (values((STRING, "string", "1")), "another number of parameters expected"),
        (values((STRING, "string", "1"), (UINT, "uint256", 1)), "another type expected"),
        (([(STRING, b"\x01"), (INT, b"")], b""), "value is not an ABI-encoded string"),
    ],
)
def test_another_input_is_refused(
    evm: Evm, models: Contract, wrong: tuple[object, ...], reason: str
) -> None:
    tool = model_tool(evm, models)
    with reverts("UnexpectedInput", reason):
        tool("run", wrong, ZERO)


def test_another_model_under_the_name_is_refused(evm: Evm, models: Contract) -> None:
    with reverts("ModelChanged", OTHER_DIGEST, DIGEST):
        model_tool(evm, models, digest=OTHER_DIGEST)
    tool = model_tool(evm, models)
    changed = (OTHER_DIGEST, [4, 2, 0], [4, 0], LEAST, MOST, [0] * 6, [0, 0], 1, 1)
    models("set", "sum", changed)
    with reverts("ModelChanged", DIGEST, OTHER_DIGEST):
        tool("run", given("1", 1), ZERO)


def test_a_chain_without_models_gives_a_reason(evm: Evm) -> None:
    with reverts("ModelsMissing", NOWHERE):
        evm.deploy(
            "ModelTool", "score", "Scores.", (NOWHERE, "sum", DIGEST), FIELDS, ZERO, SENTENCE
        )


WIDE = (FIXED, 4, STRING, "", "", 0, 1, 0)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ([FIELDS[0]], ("WrongInputLength", 1, 3)),
        ([WIDE], ("WrongInputLength", 4, 3)),
        ([parameter(UINT, "x"), *FIELDS[:2]],
         ("WrongField", "x", "the type is STRING, INT, or UINT from 0 on")),
        ([parameter(STRING, "x", 2, 1), *FIELDS[:2]], ("WrongField", "x", "least is above most")),
        ([(FIXED, 1, 0, "x", "", 0, 1, 2), *FIELDS[:2]],
         ("WrongField", "x", "fixedValue is out of its range")),
        ([(PARAMETER, 2, 0, "x", "", 0, 1, 0), FIELDS[0]],
         ("WrongField", "x", "a parameter is one number")),
        ([(CONTRACT, 3, 0, "x", "", 0, 1, 0)], ("WrongField", "", "inputs without a use")),
    ],
)  # fmt: skip
def test_fields_have_to_fit_the_model(
    evm: Evm, models: Contract, fields: list[Any], error: tuple[object, ...]
) -> None:
    with reverts(*error):
        model_tool(evm, models, fields)


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (("S", [], [], [(2, "", "", 0, 0, 0, [])]), "no such value"),
        (("S", [], [], [(0, "", "", 0, 0, 2, [])]), "no such value"),
        (("S", [], [], [(0, "", "", 3, 2, 0, [])]), "more decimals than the value has"),
        (("S", [], ["one"], []), "one class for each value"),
        (("S", [], [], [(0, "", "", 0, 0, 0, [(1, "a"), (1, "b")])]), "bands must ascend"),
    ],
)
def test_sentences_have_to_fit_the_model(
    evm: Evm, models: Contract, sentence: tuple[object, ...], reason: str
) -> None:
    with reverts("WrongSentence", reason):
        model_tool(evm, models, sentence=sentence)


def test_a_class_is_that_of_the_largest_value(evm: Evm, models: Contract) -> None:
    tool = model_tool(evm, models, sentence=("Class", [], ["sum", "last"], []))
    assert tool("run", given("1", 1), ZERO) == (-1, "Class: sum")
    assert tool("run", given("-1", 1), ZERO) == (-1, "Class: last")


def test_an_output_is_kept_for_its_runner_until_the_transaction_ends(
    evm: Evm, models: Contract
) -> None:
    tool = model_tool(evm, models)
    tool("run", given("1", 1), ZERO)
    for account in (OWNER, STRANGER):
        with reverts("NoOutput", account.address):
            tool("lastOutput", account.address)


def test_a_text_becomes_the_model_s_input(evm: Evm, models: Contract) -> None:
    count = (DIGEST, [0, 0, 0], [0], 0, 10, [1, 1, 1], [0], 1, 99)
    models("set", "words", count)
    sentence: tuple[object, ...] = ("Words", [], [], [(0, "", "", 0, 0, 0, [])])
    texts = ("rate", "Rates posts.", "post", "text of the post")
    model = (models.address, "words", DIGEST)
    tool = evm.deploy("TextModelTool", *texts, model, 1, sentence)
    assert tool("inputDescription") == (((STRING, "post", "text of the post"),),)
    for post, words in (("", 0), ("to the", 2), ("To the moon, now!", 3)):
        assert tool("run", text_input(post), ZERO) == (-1, f"Words: {words}")
    with reverts("UnexpectedInput", "one STRING expected"):
        tool("run", NO_INPUT, ZERO)
    with reverts("WrongBuckets", 0):
        evm.deploy("TextModelTool", *texts, model, 0, sentence)


LABELS = [("positive", 7_000), ("negative", -7_000)]


def language_tool(evm: Evm, executor: str, labels: list[tuple[str, int]]) -> Contract:
    texts = ("rate", "Rates posts.", "post", "text of the post", "Sentiment: ")
    return evm.deploy("LanguageModelTool", executor, "small", "Rate it.", *texts, labels)


@pytest.mark.parametrize(
    ("answer", "labels", "result"),
    [
        ("Rather good.", [], "Rather good."),
        ("UNSURE: which?", [], "UNSURE: which?"),
        ("It is Positive, not negative.", LABELS, "positive"),
        ("NEGATIVE", LABELS, "negative"),
        ("Failed to be good.", [("good", 1), ("failed", 2)], "failed"),
    ],
)
def test_a_language_model_answers(
    evm: Evm, executor: Contract, answer: str, labels: list[tuple[str, int]], result: str
) -> None:
    tool = language_tool(evm, executor.address, labels)
    executor("willReturn", final_answer(answer))
    assert tool("run", text_input("To the moon"), ZERO) == (-1, f"Sentiment: {result}")
    (asked,) = executor.events("IterationAsked")
    assert (asked["modelId"], asked["basePrompt"]) == ("small", "Rate it.")
    assert (asked["tools"], asked["prompt"]) == ((), "To the moon")


@pytest.mark.parametrize(
    "answer",
    ["", "neither", "positively", "nonpositive", *(f"{said} positive" for said in REFUSALS)],
)
def test_an_answer_without_a_label_is_refused(evm: Evm, executor: Contract, answer: str) -> None:
    tool = language_tool(evm, executor.address, LABELS)
    executor("willReturn", final_answer(answer))
    with reverts("UnexpectedAnswer", answer):
        tool("run", text_input("To the moon"), ZERO)


def test_a_chain_without_executor_gives_a_reason(evm: Evm, executor: Contract) -> None:
    with reverts("ExecutorMissing", NOWHERE):
        language_tool(evm, NOWHERE, [])("run", text_input("x"), ZERO)
    tool = language_tool(evm, executor.address, [])
    with reverts("UnexpectedInput", "one STRING expected"):
        tool("run", NO_INPUT, ZERO)
    with reverts("ScriptEnded", 0):
        tool("run", text_input("x"), ZERO)


@pytest.mark.parametrize(
    ("value", "decimals", "shown", "text"),
    [
        (6_249, 4, 2, "0.62"), (6_250, 4, 2, "0.63"), (-6_250, 4, 2, "-0.63"), (-49, 4, 2, "0.00"),
        (99_995, 4, 3, "10.000"), (7, 0, 0, "7"), (-(2**255), 0, 0, str(-(2**255))),
        (49, 2, 0, "0"), (-50, 2, 0, "-1"),
    ],
)  # fmt: skip
def test_numbers_as_text(evm: Evm, value: int, decimals: int, shown: int, text: str) -> None:
    library = evm.deploy("LibraryCalls")
    assert library("format", value, decimals, shown) == text
    if shown == decimals < 76 and abs(value) < 2**254:
        assert library("parse", text, decimals) == value
