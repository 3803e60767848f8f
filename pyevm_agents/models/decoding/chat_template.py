"""A chat template, rendered once with sentinels and cut into literal prefix, middle and suffix.

The pieces are part of a model's profile, so no template runs while a chain does, and no template
reads a clock: `strftime_now`, which llama_cpp passes to templates, does not exist here.

Source: docs/architecture.md#bit-for-bit
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
"""Stand-ins for the two messages: digits, which filters for spaces or letters do not change."""

MAX_TEMPLATE_BYTES = 256 * 1024
"""Size limit of a template. The longest template seen in a published model is about 20 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPieces:
    """Literal texts around the system message and the user message of a prompt."""

    prefix: str
    middle: str
    suffix: str


PLAIN = ChatPieces(prefix="", middle="\n\n", suffix="\n")
"""For a model without a chat template: the two messages as paragraphs, then the generation."""


class _TemplateRefusalError(TemplateError):
    """A template called `raise_exception`, as some do for a system message."""


def _raise_exception(message: str = "") -> NoReturn:
    raise _TemplateRefusalError(message)


def split_chat_template(
    template: str | None, *, bos_text: str = "", eos_text: str = "", adds_bos: bool = False
) -> ChatPieces:
    """Render a chat template with sentinels and split the result at the sentinels.

    Input:
        template: Jinja, as in the GGUF entry `tokenizer.chat_template`, or None for `PLAIN`.
        bos_text, eos_text: texts of the vocabulary's beginning-of-text and end-of-text tokens.
        adds_bos: whether tokenizing adds the beginning-of-text token; if so, the prefix omits it.

    Output:
        The pieces. A system message that the template does not support is put in front of the user
        message, separated by an empty line.

    Raises:
        ConfigError: the template is too long, does not render, or changes or drops messages.
    """
    if not template:
        return PLAIN
    if len(template.encode()) > MAX_TEMPLATE_BYTES:
        raise ConfigError(
            f"chat template of {len(template.encode())} bytes: must be at most "
            f"{MAX_TEMPLATE_BYTES} bytes; convert the model with a shorter template"
        )
    system = {"role": "system", "content": SYSTEM_SENTINEL}
    user = {"role": "user", "content": USER_SENTINEL}
    pieces = None
    # The template may reject a system message or be broken: rendering the user message alone tells.
    with suppress(TemplateError):
        pieces = _split_at_sentinels(_render(template, [system, user], bos_text, eos_text))
    if pieces is None:
        try:
            text = _render(template, [user], bos_text, eos_text)
        except TemplateError as error:
            raise ConfigError(
                f"invalid chat template in the model: {error}; convert the model with a template "
                "that renders"
            ) from error
        if text.count(USER_SENTINEL) != 1:
            raise ConfigError(
                "invalid chat template in the model: it must contain the user message once, "
                f"unchanged, but contains it {text.count(USER_SENTINEL)} times: "
                f"{text[:200]!r}; convert the model with another template"
            )
        prefix, suffix = text.split(USER_SENTINEL)
        pieces = ChatPieces(prefix=prefix, middle="\n\n", suffix=suffix)
    if adds_bos and bos_text and pieces.prefix.startswith(bos_text):
        pieces = ChatPieces(
            prefix=pieces.prefix[len(bos_text) :], middle=pieces.middle, suffix=pieces.suffix
        )
    return pieces


def _split_at_sentinels(text: str) -> ChatPieces | None:
    """Split at the sentinels; return None unless each occurs once, in order."""
    if text.count(SYSTEM_SENTINEL) != 1 or text.count(USER_SENTINEL) != 1:
        return None
    prefix, rest = text.split(SYSTEM_SENTINEL)
    if USER_SENTINEL not in rest:
        return None
    middle, suffix = rest.split(USER_SENTINEL)
    return ChatPieces(prefix=prefix, middle=middle, suffix=suffix)


def _render(template: str, messages: list[dict[str, str]], bos_text: str, eos_text: str) -> str:
    """Render a template as transformers and llama_cpp do, without a clock.

    Raises:
        TemplateError: any failure, including Python errors inside the template.
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
