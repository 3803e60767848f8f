"""Scripted models generate exactly the texts and tokens of a real model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.language_model import Segment
from precompiles.tool_metadata import Tool
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models import (
    AnswerStep,
    LlamaModel,
    ScriptedModel,
    ToolStep,
    Vocabulary,
    again,
    answer,
    unchecked,
    use,
)
from pyevm_agents.models.fakes.scripted import render_step

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest
    from tests.pyevm_agents.models.conftest import MakeRequest

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
DEPLOY = Tool(
    address=Address(bytes(20)),
    name="DeployTool",
    description="",
    parameters=(
        ParamDescription(param_type=ParamType.ADDRESS, name="asset", description=""),
        ParamDescription(param_type=ParamType.UINT, name="amount", description=""),
    ),
)
HANDLES = (("addr1", ADDRESS), ("USDC", "0x" + "11" * 20))


def test_a_tool_is_said_as_the_grammar_has_it() -> None:
    step = use(
        "DeployTool",
        thought="Go.",
        asset=ADDRESS,
        amount=2**256 - 1,
        memo='ü "x"',
        flags=(True, False),
    )
    assert render_step(step, HANDLES) == (
        ' Go.\nAction: DeployTool\nAction Input: {"asset": "addr1", '
        f'"amount": {2**256 - 1}, "memo": "ü \\"x\\"", "flags": [true, false]}}'
    )


def test_a_thought_is_made_up_where_none_is_given() -> None:
    assert render_step(use("Tool")) == " I should use Tool.\nAction: Tool\nAction Input: {}"
    assert render_step(answer("Done.")) == " I now know the final answer\nFinal Answer: Done."
    assert render_step(answer("Done.", thought="Well.")) == " Well.\nFinal Answer: Done."


def test_arguments_may_have_the_names_of_keywords() -> None:
    assert render_step(use("Tool", arguments={"thought": 1, "tool": 2}, other=3)).endswith(
        '{"thought": 1, "tool": 2, "other": 3}'
    )


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (f"pay {ADDRESS.lower()}, then 0x{'11' * 20}.", "pay addr1, then USDC."),
        (f"0x{'22' * 20}", f"0x{'22' * 20}"),
        (f"{ADDRESS}0 a{ADDRESS}", f"{ADDRESS}0 a{ADDRESS}"),
    ],
)
def test_addresses_are_said_by_their_handles(text: str, spoken: str) -> None:
    assert render_step(text, HANDLES) == spoken


@pytest.mark.parametrize("value", [1.5, None, b"\x01", {"a": 1}, [1.5], object()])
def test_an_argument_that_no_tool_takes_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"argument amount=.* of Tool: unsupported type"):
        use("Tool", amount=value)


@pytest.mark.parametrize("script", ["one text", 7, None])
def test_what_is_no_script_is_refused(script: object) -> None:
    with pytest.raises(
        ConfigError, match=r"not a script: .*; must be a list of steps or a function"
    ):
        ScriptedModel(script)  # type: ignore[arg-type]


def test_steps_are_said_in_turn_and_again_for_the_same_prompt(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    deploy = use("DeployTool", asset=ADDRESS, amount=1)
    script: list[str | ToolStep | AnswerStep] = [deploy, " Done.\nFinal Answer: yes"]
    with ScriptedModel(script, vocabulary=vocabulary) as model:
        first = model.generate(make_request("one"))
        assert model.remaining_steps == 1
        assert '"asset": "addr1"' in first.text
        assert model.generate(make_request("one")) == first
        assert model.generate(make_request("two")).text == script[1]
        assert model.generate(replace(make_request("one"), max_tokens=3)).tokens == first.tokens[:3]
        assert model.remaining_steps == 0
        for _ in range(2):
            with pytest.raises(
                ScriptError, match=r"has 2 steps and all are used; step 1 of 'three' needs"
            ):
                model.generate(make_request("three"))
        assert model.generate(make_request("one")) == first


def test_a_function_is_asked_each_time(vocabulary: Vocabulary, make_request: MakeRequest) -> None:
    asked: list[GenerationRequest] = []

    def script(request: GenerationRequest) -> str:
        asked.append(request)
        return f" {len(asked)}\nFinal Answer: x"

    with ScriptedModel(script, vocabulary=vocabulary) as model:
        assert [model.generate(make_request()).text[1] for _ in range(2)] == ["1", "2"]
        assert model.remaining_steps is None
    assert asked[0].handles == (("addr1", ADDRESS),)


def test_tokens_are_canonical_and_end_where_a_model_would_end_them(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    end = vocabulary.tokenize((replace(make_request().segments[0], text="<|im_end|>"),))
    with ScriptedModel(
        [use("DeployTool", asset="addr2", amount=5), answer("Bye")], vocabulary=vocabulary
    ) as model:
        closed, open_ended = model.generate(make_request("a")), model.generate(make_request("b"))
    for generation, extra in ((closed, ()), (open_ended, end)):
        text = replace(make_request().segments[1], text=generation.text)
        assert generation.tokens == vocabulary.tokenize((text,)) + extra
        assert generation.is_complete


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            use("BurnTool"),
            r"after ' I should use BurnTool\.\\nAction: ' it continues 'BurnTool.*expects one of '",
        ),
        (
            use("DeployTool", asset="0x" + "33" * 20, amount=1),
            r"it continues '0x3333.*where the grammar expects 'addr'",
        ),
        (use("DeployTool", asset="addr1", amount=-1), r"it continues '-1}'"),
        (
            use("DeployTool", asset="addr1"),
            r"it continues '}', where the grammar expects '\W+amount",
        ),
        (" Only a thought", "ends too early; the grammar expects"),
        ("no space", "after '' it continues 'no space', where the grammar expects ' '"),
        (" T\nFinal Answer: a\nb", r"it continues '\\nb'"),
        (" T\nFinal Answer: a\x04b", "can't spell the scripted text"),
    ],
)
def test_what_the_grammar_does_not_admit_is_shown(
    vocabulary: Vocabulary, make_request: MakeRequest, step: str, message: str
) -> None:
    with (
        ScriptedModel([step], vocabulary=vocabulary) as model,
        pytest.raises(ScriptError, match=message),
    ):
        model.generate(make_request())


def test_a_script_over_an_open_model_leaves_it_open(
    llama: LlamaModel, make_request: MakeRequest
) -> None:
    with ScriptedModel([answer("x")], vocabulary=llama) as model:
        assert model.generate(make_request()).is_complete
        assert model.profile_facts == llama.profile_facts
    assert llama.generate(make_request(max_tokens=1)).tokens


def test_a_script_by_itself_uses_the_default_vocabulary(vocabulary: Vocabulary) -> None:
    with ScriptedModel([]) as model:
        assert model.profile_facts == vocabulary.profile_facts
        assert model.profile_facts.context_tokens == 8192
        pid = model.vocabulary.engine.process_id
    assert pid is not None
    assert model.vocabulary.engine.process_id is None


def test_an_error_about_a_long_text_is_short(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    scripts = (
        "x" * 50_000,
        " ok\nAction: " + "x" * 50_000,
        " \U0004ffff" + "x" * 50_000,
        " " + "y" * 60,
    )
    for text in scripts:
        with pytest.raises(ScriptError) as caught:
            ScriptedModel([text], vocabulary=vocabulary).generate(make_request(max_tokens=60_000))
        assert len(str(caught.value)) < 4_000, text[:20]


def test_arguments_are_said_in_the_order_of_the_grammar(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    step = use("DeployTool", amount=5, asset=ADDRESS)
    with ScriptedModel([step], vocabulary=vocabulary) as model:
        said = model.generate(make_request(grammar=build_grammar((DEPLOY,), ("addr1",)))).text
    assert said.endswith('{"asset": "addr1", "amount": 5}')


def test_a_refusal_names_step_prompt_and_what_could_be_said(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    request = make_request("Deploy", grammar=build_grammar((DEPLOY,), ("addr1",)))
    with (
        ScriptedModel([use("DeployTool", asset="addr1")], vocabulary=vocabulary) as model,
        pytest.raises(ScriptError) as caught,
    ):
        model.generate(request)
    assert str(caught.value).startswith(
        'Step 1 of the script, use("DeployTool", asset="addr1") does not fit step 1 of '
        "'Deploy': the argument 'amount' is missing: positive integer\n"
        "The grammar admits:\n"
        "  DeployTool(asset: address, amount: positive integer)\n"
        "  or a final answer\n"
        "with these addresses from the prompt:\n"
        f"  addr1 = {ADDRESS}\n"
        "The prompt ends:\n"
    )
    assert isinstance(caught.value.__cause__, ScriptError)  # llguidance's own words


def test_a_place_is_the_step_of_a_run_whatever_was_observed(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    def later(request: GenerationRequest, observation: str) -> GenerationRequest:
        more = (Segment(text=" x"), Segment(text=f"\nObservation: {observation}\nThought:"))
        return replace(request, segments=(*request.segments, *more))

    first = make_request("Go")
    script = [answer("1"), answer("2"), answer("3")]
    with ScriptedModel(script, vocabulary=vocabulary) as model:
        asked = [first, later(first, "a"), first, later(first, "b"), later(later(first, "a"), "c")]
        said = [model.generate(request).text[-1] for request in asked]
        assert said == ["1", "2", "1", "2", "3"]
        assert model.report().endswith("  3. answer(\"3\") for step 3 of 'Go'\nUnused:\n  none")


def test_the_last_step_may_be_said_again_and_again(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    with ScriptedModel([answer("1"), again(answer("2"))], vocabulary=vocabulary) as model:
        assert model.remaining_steps == 2
        said = [model.generate(make_request(str(number))).text[-1] for number in range(4)]
        assert said == ["1", "2", "2", "2"]
        assert model.remaining_steps == 0
    with pytest.raises(
        ConfigError, match=r"step 1 of 2 is again.*, which never ends: it must be the last step"
    ):
        ScriptedModel([again(answer("1")), answer("2")], vocabulary=vocabulary)


def test_what_the_grammar_excludes_is_said_unchecked(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    texts = ("no thought at all", " Hm.\nFinal Answer: fine", "long " * 50)
    with ScriptedModel([unchecked(text) for text in texts], vocabulary=vocabulary) as model:
        said = [model.generate(make_request(str(number), max_tokens=20)) for number in range(3)]
    assert [one.text for one in said] == list(texts)
    assert [one.is_complete for one in said] == [True, True, False]
    assert [len(one.tokens) for one in said] == [4, 9, 20]
    # What the grammar does admit has the end token that a model would need.
    with ScriptedModel([texts[1]], vocabulary=vocabulary) as model:
        assert model.generate(make_request()).tokens == said[1].tokens


def test_a_function_that_returns_no_step_is_told(
    vocabulary: Vocabulary, make_request: MakeRequest
) -> None:
    model = ScriptedModel(lambda _: 7, vocabulary=vocabulary)  # type: ignore[arg-type, return-value]
    with pytest.raises(ScriptError, match=r"returned 7 for step 1 of 'Deploy 25 USDC\.'; return"):
        model.generate(make_request())
    assert model.report() == ""
