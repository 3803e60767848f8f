"""Fixtures: a vocabulary in the test process, and requests with grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.models.decoding.guided import GuidedDecoder
from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter
from pyevm_agents.models.gguf.files import find_default_model

if TYPE_CHECKING:
    from pyevm_agents.models import Vocabulary

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"

GRAMMAR = r"""
start: " " THOUGHT "\n" (use | answer)
use: "Action: " ("DeployTool" | "WithdrawTool") "\nAction Input: {\"asset\": " asset rest
rest: ", \"amount\": " NUMBER "}"
asset: "\"addr1\"" | "\"addr2\""
answer: "Final Answer: " THOUGHT
THOUGHT: /[^ \n\x00][^\n\x00]{0,60}/
NUMBER: /0|[1-9][0-9]{0,77}/
"""

SYSTEM = (
    "You manage a wallet. DeployTool puts an asset into a pool, WithdrawTool takes it out. "
    "addr1 is USDC, addr2 is WETH."
)


class MakeRequest(Protocol):
    """Builds a request from a question."""

    def __call__(
        self, question: str = ..., *, max_tokens: int = ..., grammar: str = ...
    ) -> GenerationRequest: ...


@pytest.fixture(scope="session")
def guide() -> GuidedDecoder:
    """The default model's vocabulary in this process, for tests that supply logits."""
    from pyevm_agents.models.llama.bindings import Llama  # noqa: PLC0415 - loads llama.cpp, as few tests do

    loaded = Llama(str(find_default_model()), vocabulary_only=True)
    return GuidedDecoder(loaded, SpecialTokenSplitter(loaded.special_spellings()))


@pytest.fixture(scope="session")
def make_request(vocabulary: Vocabulary) -> MakeRequest:
    """Build requests with the default model's chat template."""
    facts = vocabulary.profile_facts

    def make(
        question: str = "Deploy 25 USDC.", *, max_tokens: int = 200, grammar: str = GRAMMAR
    ) -> GenerationRequest:
        segments = (
            Segment(text=facts.chat_prefix, is_template=True),
            Segment(text=SYSTEM),
            Segment(text=facts.chat_middle, is_template=True),
            Segment(text=f"Question: {question}"),
            Segment(text=facts.chat_suffix, is_template=True),
            Segment(text="Thought:"),
        )
        return GenerationRequest(
            segments=segments,
            prompt_tokens=vocabulary.tokenize(segments),
            grammar=grammar,
            max_tokens=max_tokens,
            handles=(("addr1", ADDRESS),),
        )

    return make
