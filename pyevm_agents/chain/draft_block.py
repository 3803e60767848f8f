"""Blocks as they would be, made in any thread while another is being mined, and never kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import rlp

from pyevm_agents.chain.simulator import ChainSimulator
from pyevm_agents.vm import WatchedVM

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, SignedTransactionAPI

    from precompiles.language_model import GenerationRequest, LanguageModel, Segment
    from pyevm_agents.chain.database import Database
    from pyevm_agents.chain.records import BlockRecord
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import AgentMiningChain


class ModelNeededError(Exception):
    """What a block would hold depends on what a model says, and a draft asks none.

    No `VMError`: it leaves py-evm uncaught.
    """


class UnavailableModel:
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


class DraftChain(ChainSimulator):
    """A chain as it would be, were a draft its latest block: to be read, and to try things on.

    Whatever is mined, or undone, behind its back changes nothing of it.
    """

    def __init__(
        self,
        config: ChainConfig,
        chain_class: type[AgentMiningChain],
        db: Database,
        draft: BlockRecord,
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


class DraftBlock:
    """A block in the making, transaction after transaction, that is never made."""

    def __init__(
        self, silent: AgentMiningChain, trials: ChainSimulator, db: Database, header: BlockHeaderAPI
    ) -> None:
        """Begin one.

        Input: a chain whose models are not asked; what tries things, whose models are; the rows of
               both, which nobody else has; the header that the block begins with.
        """
        self._chain = silent
        self._db = db
        self.simulator = trials
        self.first_header = header
        """The header that it began with."""

        vm = get_watched_vm(silent, header)
        vm.block_preprocessing(vm.get_block())
        self.header = self._save_state(vm, header)
        """The header as it is by now: the state's root, and the gas that was used."""

    def add(self, transaction: SignedTransactionAPI) -> None:
        """Execute the next transaction.

        Raises: ValidationError: the block can't hold it here. ModelNeededError: a model would have
                to be asked. The draft is as before in both cases.
        """
        vm = get_watched_vm(self._chain, self.header)
        receipt, _ = vm.apply_transaction(self.header, transaction)
        header = vm.add_receipt_to_header(self.header, receipt)
        self.header = self._save_state(vm, vm.increment_blob_gas_used(header, transaction))

    def _save_state(self, vm: WatchedVM, header: BlockHeaderAPI) -> BlockHeaderAPI:
        """Keep what a VM has changed; return a header with its root.

        It is kept, so that nobody takes it for that of a block that has yet to begin.
        """
        vm.state.persist()
        changed = header.copy(state_root=vm.state.state_root)
        self._db[bytes(changed.hash)] = rlp.encode(changed)
        return changed


def get_watched_vm(chain: AgentMiningChain, header: BlockHeaderAPI) -> WatchedVM:
    """Return a VM of its own for a header."""
    vm = chain.get_vm(header)
    assert isinstance(vm, WatchedVM)  # noqa: S101 - the only ones an `AgentMiningChain` has
    return vm
