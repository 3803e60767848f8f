"""Blocks as they would be, made in any thread while another is being mined, and never kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import rlp

from pyevm_agents.chain.trying import ChainTrials

if TYPE_CHECKING:
    from precompiles.ports import GenerationRequest, LanguageModel, Segment
    from pyevm_agents.chain.records import Record
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.database import Database
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


class DraftedChain(ChainTrials):
    """A chain as it would be, were a draft its latest block: to be read, and to try things on.

    Whatever is mined, or undone, behind its back changes nothing of it.
    """

    def __init__(
        self, config: ChainConfig, chain_class: type[AgentChain], db: Database, draft: Record
    ) -> None:
        """Begin behind a draft.

        Input: the rules; rows that nobody else has, with the state behind the draft; the draft.
        """
        super().__init__(config, chain_class, db)
        header = draft.block.header
        db[bytes(header.hash)] = rlp.encode(header)
        self._records[header.hash] = draft
        self._tip = (header, bytes(header.state_root))
        self.draft = draft
        """The block, with its receipts."""
