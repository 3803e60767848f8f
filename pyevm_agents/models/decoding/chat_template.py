"""A chat template, rendered once with sentinels and cut into its literal prefix, middle and suffix.

The pieces are part of a model's profile, so templates never run while a chain does, and never see
a clock: `strftime_now`, which llama_cpp hands them, does not exist here (architecture, decision 4).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pyevm_agents.errors import ConfigError

SYSTEM_SENTINEL = "70831550291"
USER_SENTINEL = "60412938857"
"""Stand-ins for the two messages: digits, which no filter for spaces or letters changes."""

MAX_TEMPLATE_BYTES = 256 * 1024
"""Bytes. The longest template of a published model seen is about 20 KiB; longer is no template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPieces:
    """What surrounds the system and the user message of a prompt."""

    prefix: str
    middle: str
    suffix: str


PLAIN = ChatPieces(prefix="", middle="\n\n", suffix="\n")
"""For a model without a chat template: the two messages as paragraphs, then its own words."""


class _TemplateRefusalError(TemplateError):
    """A template called `raise_exception`, as some do on a system message."""


def _raise_exception(message: str = "") -> NoReturn:
    raise _TemplateRefusalError(message)


def split_chat_template(
    template: str | None, *, bos_text: str = "", eos_text: str = "", adds_bos: bool = False
) -> ChatPieces:
    """Render a chat template with sentinels and cut it there.

    Input:
        template: Jinja, as in the GGUF entry `tokenizer.chat_template`, or None for `PLAIN`.
        bos_text, eos_text: the texts of the vocabulary's beginning and end token.
        adds_bos: whether tokenising adds the beginning token anyway: then it leaves the prefix.

    Output:
        The pieces. Where the template has no place for a system message of its own, it goes in
        front of the user's with an empty line between.

    Raises:
        ConfigError: the template does not render, or changes or drops its messages.
    """
    if not template:
        return PLAIN
    if len(template.encode()) > MAX_TEMPLATE_BYTES:
        raise ConfigError(
            f"The model's chat template has {len(template.encode())} bytes, more than "
            f"{MAX_TEMPLATE_BYTES}"
        )
    system = {"role": "system", "content": SYSTEM_SENTINEL}
    user = {"role": "user", "content": USER_SENTINEL}
    pieces = None
    # It may refuse a system message, or be broken: rendering the user's alone tells which.
    with suppress(TemplateError):
        pieces = _split_at_sentinels(_render(template, [system, user], bos_text, eos_text))
    if pieces is None:
        try:
            text = _render(template, [user], bos_text, eos_text)
        except TemplateError as error:
            raise ConfigError(
                f"The model's chat template does not render: {error}; convert it with a template "
                "that does"
            ) from error
        if text.count(USER_SENTINEL) != 1:
            raise ConfigError(
                f"The model's chat template gives a user message back {text.count(USER_SENTINEL)} "
                "times in place of once, unchanged: "
                f"{text[:200]!r}; convert it with a template that does"
            )
        prefix, suffix = text.split(USER_SENTINEL)
        pieces = ChatPieces(prefix=prefix, middle="\n\n", suffix=suffix)
    if adds_bos and bos_text and pieces.prefix.startswith(bos_text):
        pieces = ChatPieces(
            prefix=pieces.prefix[len(bos_text) :], middle=pieces.middle, suffix=pieces.suffix
        )
    return pieces


def _split_at_sentinels(text: str) -> ChatPieces | None:
    """Cut at the sentinels; None where the two messages are not there once each, in order."""
    if text.count(SYSTEM_SENTINEL) != 1 or text.count(USER_SENTINEL) != 1:
        return None
    prefix, rest = text.split(SYSTEM_SENTINEL)
    if USER_SENTINEL not in rest:
        return None
    middle, suffix = rest.split(USER_SENTINEL)
    return ChatPieces(prefix=prefix, middle=middle, suffix=suffix)


def _render(template: str, messages: list[dict[str, str]], bos_text: str, eos_text: str) -> str:
    """Render as transformers and llama_cpp do, without a clock.

    Raises:
        TemplateError: of whatever kind; also for Python's own errors inside of a template.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    try:
        return environment.from_string(template).render(
            messages=messages,
            add_generation_prompt=True,
            bos_token=bos_text,
            eos_token=eos_text,
            raise_exception=_raise_exception,
        )
    except (
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise TemplateError(f"{type(error).__name__}: {error}") from error
