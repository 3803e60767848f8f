"""A model for tests of the rules: every byte is a token, and it generates the given texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.language_model import Generation, GenerationRequest, ModelProfile, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROFILE = ModelProfile(
    name="bytes",
    aliases=("llama_model_3",),
    digest=bytes(31) + b"\x07",
    context_tokens=200_000,
    max_output_tokens=512,
    chat_prefix="<s>",
    chat_middle="<u>",
    chat_suffix="<a>",
    cold_prompt_token_gas=6_000,
    warm_prompt_token_gas=100,
    output_token_gas=10_000,
)


class ByteModel:
    """Generates the given texts in order, or the result of a function of the request.

    A text that the rules decide is repeated without a token, as a model with weights does. With
    `is_free`, its texts have the free format under every profile, as a script's have.
    """

    def __init__(
        self, script: Iterable[str] | Callable[[GenerationRequest], str], *, is_free: bool = False
    ) -> None:
        self._is_free = is_free
        self._script = script if callable(script) else iter(script)
        self.requests: list[GenerationRequest] = []

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return tuple(byte for segment in segments for byte in segment.text.encode())

    def generate(self, request: GenerationRequest) -> Generation:
        self.requests.append(request)
        text = self._script(request) if callable(self._script) else next(self._script)
        tokens = () if text == request.decided else tuple(text.encode())
        return Generation(
            text=text,
            tokens=tokens[: request.max_tokens],
            forced_tokens=0,
            is_complete=len(tokens) <= request.max_tokens,
            is_free=self._is_free and request.scoring is not None,
        )

    @property
    def prompts(self) -> list[str]:
        """The text of each prompt so far."""
        return ["".join(segment.text for segment in r.segments) for r in self.requests]
