"""Blocks as they would be, made in any thread while another is being mined, and never kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from eth.db.atomic import AtomicDB
from eth.db.batch import BatchDB

if TYPE_CHECKING:
    from eth.abc import DatabaseAPI

    from precompiles.ports import GenerationRequest, LanguageModel, Segment
    from pyevm_agents.vm import AgentChain


class ModelNeededError(Exception):
    """What a block would hold depends on what a model says, and a draft asks none.

    No `VMError`: it leaves py-evm uncaught.
    """


class SilentModel:
    """A language model that is not to be asked."""

    def __init__(self, model: LanguageModel) -> None:
        """Stand for a model."""
        self.model = model

    def tokenize(self, segments: tuple[Segment, ...]) -> NoReturn:
        """Say nothing: a model that is thinking may be slow to answer even this.

        Raises: ModelNeededError: always.
        """
        raise ModelNeededError(f"{len(segments)} segments of a prompt")

    def generate(self, request: GenerationRequest) -> NoReturn:
        """Say nothing.

        Raises: ModelNeededError: always.
        """
        raise ModelNeededError(f"a prompt of {len(request.prompt_tokens)} tokens")


def scratch_chain(chain_class: type[AgentChain], db: DatabaseAPI) -> AgentChain:
    """Return a chain that stands where the rows do, and writes nothing into them."""
    return chain_class(AtomicDB(BatchDB(db)))
