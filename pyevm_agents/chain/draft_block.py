"""Draft blocks: executed like blocks, in any thread, but never added to the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import rlp

from pyevm_agents.chain.reader import create_vm, find_vm_class
from pyevm_agents.chain.simulator import ChainSimulator
from pyevm_agents.vm import AgentVM, WatchedVM

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI

    from precompiles.language_model import GenerationRequest, LanguageModel, Segment
    from pyevm_agents.chain.database import Database
    from pyevm_agents.chain.reader import VMClassWrapper
    from pyevm_agents.chain.records import BlockRecord
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import AgentMiningChain


class ModelNeededError(Exception):
    """A draft reached a transaction that needs inference.

    Not a `VMError`: py-evm does not catch the error.
    """


class UnavailableModel:
    """A language model whose every call raises `ModelNeededError`."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    def tokenize(self, segments: tuple[Segment, ...]) -> NoReturn:
        """Raise: a model that runs inference may be slow even to tokenize.

        Raises: ModelNeededError: always.
        """
        raise ModelNeededError(f"{len(segments)} segments of a prompt")

    def generate(self, request: GenerationRequest) -> NoReturn:
        """Raise.

        Raises: ModelNeededError: always.
        """
        raise ModelNeededError(f"a prompt of {len(request.prompt_tokens)} tokens")


class DraftChain(ChainSimulator):
    """A chain with a draft as the head, for reads and simulations.

    Blocks that are mined or removed later do not change the draft.
    """

    def __init__(
        self,
        config: ChainConfig,
        chain_class: type[AgentMiningChain],
        db: Database,
        draft: BlockRecord,
    ) -> None:
        """Open the chain after a draft.

        Input:
            config: the chain config.
            chain_class: py-evm's chain class.
            db: a separate database, with the state after the draft.
            draft: the block.
        """
        super().__init__(config, chain_class, db)
        header = draft.block.header
        db[bytes(header.hash)] = rlp.encode(header)
        self._records[header.hash] = draft
        self._tip = (header, bytes(header.state_root))
        self.draft = draft
        """The block, with its receipts."""


class DraftBlock:
    """A draft block that grows by one transaction at a time."""

    def __init__(
        self, chain: AgentMiningChain, trials: ChainSimulator, db: Database, header: BlockHeaderAPI
    ) -> None:
        """Start an empty draft.

        Input:
            chain: executes the transactions; the models of a silent one raise `ModelNeededError`.
            trials: a simulator on the same database, with the real models.
            db: the database of both, of its own.
            header: of the block before the first transaction.
        """
        self._chain = chain
        self._db = db
        self.simulator = trials
        self.first_header = header
        """The header before the first transaction."""

        vm = get_watched_vm(chain, header)
        vm.block_preprocessing(vm.get_block())
        self.header = self._save_state(vm, header)
        """The current header, with state root and gas used so far."""

    def add(
        self, transaction: SignedTransactionAPI, trace: VMClassWrapper | None = None
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        """Execute the next transaction.

        Input: the transaction; `trace` wraps the VM's class with a tracer.
        Raises: InvalidTransactionError: invalid after the others. ModelNeededError: inference is
                needed, in a silent draft. EngineFault: the host failed. The draft is unchanged in
                all cases.
        """
        vm = create_vm(self._chain, self._vm_class, self.header, trace)
        receipt, computation = vm.apply_transaction(self.header, transaction)
        self.header = self._save_state(vm, vm.add_to_header(self.header, transaction, receipt))
        return receipt, computation

    def has_room(self, transaction: SignedTransactionAPI) -> bool:
        """Whether the draft has room for one more transaction."""
        vm_class = self._vm_class
        assert issubclass(vm_class, AgentVM)  # noqa: S101 - of a chain that makes blocks
        return vm_class.has_room(self.header, transaction)

    @property
    def _vm_class(self) -> type[WatchedVM]:
        return find_vm_class(type(self._chain), self.header.block_number)

    def _save_state(self, vm: WatchedVM, header: BlockHeaderAPI) -> BlockHeaderAPI:
        """Persist a VM's state; return a header with the root.

        The header is stored, and thus not taken for that of a block without transactions.
        """
        vm.state.persist()
        changed = header.copy(state_root=vm.state.state_root)
        self._db[bytes(changed.hash)] = rlp.encode(changed)
        return changed


def get_watched_vm(chain: AgentMiningChain, header: BlockHeaderAPI) -> WatchedVM:
    """Return a new VM for a header."""
    vm = chain.get_vm(header)
    assert isinstance(vm, WatchedVM)  # noqa: S101 - the only ones an `AgentMiningChain` has
    return vm
