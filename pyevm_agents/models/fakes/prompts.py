"""What a prompt asks, read back from its pieces: for models that answer by the question.

Source: `precompiles.react.build_prompt`, which makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest, Segment

QUESTION = "Question: "
TURN = "Thought:"
"""The model's own words begin after it; so does each later step's observation end."""

OBSERVATION = "\nObservation: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A prompt, in parts."""

    opening: tuple[Segment, ...]
    """What stands before the run's first words; the same for all steps of a run, unless a tool's
    description changes meanwhile."""

    question: str
    """What the agent was asked, on one line, with handles in place of addresses."""

    history: tuple[Segment, ...]
    """The steps so far: what the model said, and what came of it, in turn."""

    @property
    def step(self) -> int:
        """Which step of the run this is, from 1."""
        return 1 + len(self.history) // 2

    @property
    def text(self) -> str:
        """The whole prompt."""
        return text_of((*self.opening, *self.history))

    @property
    def observation(self) -> str | None:
        """What the last tool answered, on one line; None in the first step."""
        if not self.history:
            return None
        told = self.history[-1].text.removeprefix(OBSERVATION)
        return told.removesuffix(f"\n{TURN}")

    def history_up_to(self, step: int) -> str:
        """Return what was said and observed before a step of the same run, from 1."""
        return text_of(self.history[: 2 * (step - 1)])

    def up_to(self, step: int) -> str:
        """Return the prompt as it was in a step of the same run, from 1."""
        return text_of(self.opening) + self.history_up_to(step)


def asked(request: GenerationRequest) -> Asked:
    """Take a request's prompt apart."""
    segments = request.segments
    turns = [index for index, one in enumerate(segments) if _is(one, TURN)]
    end = turns[0] + 1 if turns else len(segments)
    questions = [
        one.text.removeprefix(QUESTION)
        for one in segments[:end]
        if not one.is_template and one.text.startswith(QUESTION)
    ]
    return Asked(
        opening=segments[:end],
        question=questions[-1] if questions else "",
        history=segments[end:],
    )


def text_of(segments: tuple[Segment, ...]) -> str:
    """Return the text of a prompt, the chat template's own literals included."""
    return "".join(segment.text for segment in segments)


def _is(segment: Segment, text: str) -> bool:
    return not segment.is_template and segment.text == text
