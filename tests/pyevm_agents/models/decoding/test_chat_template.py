"""Splitting of many kinds of chat templates."""

from __future__ import annotations

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.decoding.chat_template import PLAIN, ChatPieces, split_chat_template

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are helpful<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def test_no_template_is_two_paragraphs() -> None:
    assert split_chat_template(None) == split_chat_template("") == PLAIN


def test_chatml_without_its_default_system_message() -> None:
    assert split_chat_template(CHATML) == ChatPieces(
        prefix="<|im_start|>system\n",
        middle="<|im_end|>\n<|im_start|>user\n",
        suffix="<|im_end|>\n<|im_start|>assistant\n",
    )


REFUSES_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{{ '<turn>' + m['role'] + '\n' + m['content'] | trim + '<end>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<turn>model\n' }}{% endif %}"
)


def test_a_template_that_refuses_a_system_message_gets_it_in_front_of_the_question() -> None:
    assert split_chat_template(REFUSES_SYSTEM, bos_text="<s>") == ChatPieces(
        prefix="<s><turn>user\n", middle="\n\n", suffix="<end>\n<turn>model\n"
    )


def test_a_template_that_drops_a_system_message_gets_it_in_front_of_the_question() -> None:
    template = "{% for m in messages if m.role == 'user' %}Q: {{ m.content }}{% endfor %} A:"
    assert split_chat_template(template) == ChatPieces(prefix="Q: ", middle="\n\n", suffix=" A:")


def test_a_template_that_puts_both_in_one_turn() -> None:
    template = (
        "{{ bos_token }}[INST] {% if messages[0].role == 'system' %}"
        "<<SYS>>\n{{ messages[0].content }}\n<</SYS>>\n\n"
        "{% endif %}{{ messages[-1].content.strip() }} [/INST]"
    )
    assert split_chat_template(template, bos_text="<s>", adds_bos=True) == ChatPieces(
        prefix="[INST] <<SYS>>\n", middle="\n<</SYS>>\n\n", suffix=" [/INST]"
    )


@pytest.mark.parametrize(
    ("adds_bos", "prefix"), [(True, "<turn>user\n"), (False, "<s><turn>user\n")]
)
def test_the_beginning_token_comes_once(*, adds_bos: bool, prefix: str) -> None:
    assert split_chat_template(REFUSES_SYSTEM, bos_text="<s>", adds_bos=adds_bos).prefix == prefix


def test_only_the_first_of_two_beginnings_goes() -> None:
    template = "<s><s>{{ messages[0].content }}|{{ messages[1].content }}|"
    assert split_chat_template(template, bos_text="<s>", adds_bos=True).prefix == "<s>"


@pytest.mark.parametrize("change", ["trim", "upper", "lower", "capitalize", "title", "string"])
def test_filters_that_leave_the_sentinels_are_harmless(change: str) -> None:
    template = f"{{% for m in messages %}}<{{{{ m.content | {change} }}}}>{{% endfor %}}"
    assert split_chat_template(template) == ChatPieces(prefix="<", middle="><", suffix=">")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{% for m in messages %}{{ m.content | reverse }}{% endfor %}",
            "but contains it 0 times",
        ),
        ("{{ messages[-1].content }}{{ messages[-1].content }}", "but contains it 2 times"),
        ("nothing", "but contains it 0 times"),
        ("{% for m in messages %}", "invalid chat template in the model"),
        ("{{ messages[7].content.x }}", "invalid chat template in the model"),
        ("{{ 1 // 0 }}", "invalid chat template in the model: ZeroDivisionError"),
        ("{{ raise_exception('never') }}", "invalid chat template in the model: never"),
        ("{{ strftime_now('%d') }}{{ messages[0].content }}", "'strftime_now' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "invalid chat template in the model"),
        ("{% for x in range(10000000) %}{% endfor %}", "invalid chat template in the model"),
        ("x" * 300_000, "of 300000 bytes"),
    ],
)
def test_a_template_that_can_not_be_cut_says_why(template: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        split_chat_template(template)


def test_a_template_may_ask_whether_there_is_a_clock() -> None:
    template = (
        "{% if strftime_now is defined %}{{ strftime_now('%d') }}{% else %}26 Jul 2024{% endif %}"
        "{{ messages[0].content }}/{{ messages[1].content }}"
    )
    assert split_chat_template(template).prefix == "26 Jul 2024"


def test_blocks_leave_no_blanks_and_loops_may_break() -> None:
    template = (
        "{% for m in messages %}\n    {% if loop.index > 2 %}\n{% break %}\n    {% endif %}\n"
        "[{{ m.content }}]\n{% endfor %}\n"
    )
    assert split_chat_template(template) == ChatPieces(prefix="[", middle="]\n[", suffix="]\n")
