"""The requests of a block to the consensus layer, and the blocks that are invalid by them.

Source: EIP-6110 (deposits), EIP-7002 (withdrawals), EIP-7251 (consolidations), EIP-7685.
"""

from __future__ import annotations

from enum import Enum, auto
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from eth.constants import SYSTEM_ADDRESS, SYSTEM_MESSAGE_GAS
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.blocks import PragueBlock
from eth.vm.forks.prague.constants import (
    CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    CONSOLIDATION_REQUEST_TYPE,
    DEPOSIT_CONTRACT_ADDRESS,
    DEPOSIT_EVENT_SIGNATURE_HASH,
    DEPOSIT_REQUEST_TYPE,
    WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    WITHDRAWAL_REQUEST_TYPE,
)
from eth_utils import to_checksum_address

from precompiles.spec import WORD_BYTES
from pyevm_agents.vm.rule_error import RuleError
from pyevm_agents.vm.state import NestedCallError, WatchedState

if TYPE_CHECKING:
    from eth.abc import BlockAPI
    from eth_typing import Address

DEPOSIT_TOPIC = int.from_bytes(DEPOSIT_EVENT_SIGNATURE_HASH, "big")
DEPOSIT_FIELDS = ((160, 48), (256, 32), (320, 8), (384, 96), (512, 8))
"""Offset and size of each field of a deposit event. Source: EIP-6110."""

DEPOSIT_BYTES = 576


class BlockRefusal(Enum):
    """Why a block is invalid, by the names of ethereum/execution-spec-tests, `BlockException`."""

    SYSTEM_CONTRACT_EMPTY = auto()
    SYSTEM_CONTRACT_CALL_FAILED = auto()
    INVALID_DEPOSIT_EVENT_LAYOUT = auto()
    INVALID_BLOCK_NUMBER = auto()
    INCORRECT_BLOCK_FORMAT = auto()
    """A header field that py-evm refuses in an imported block; the message names it."""

    INCORRECT_EXCESS_BLOB_GAS = auto()
    INCORRECT_BLOB_GAS_USED = auto()
    RLP_BLOCK_LIMIT_EXCEEDED = auto()


class InvalidBlockError(RuleError):
    """A header, or the execution of a block, breaks a rule."""

    def __init__(self, refusal: BlockRefusal, message: str) -> None:
        """Input: the class of the reason; a message."""
        super().__init__(message)
        self.refusal = refusal


class RequestsVM(PragueVM):
    """The VM of Prague with the rules for a block's requests that py-evm lacks."""

    needs_request_contracts: ClassVar[bool] = False
    """Whether an imported block without the contracts of EIP-7002 and EIP-7251 is invalid, as on
    every public chain. A development chain may do without them: it has no validators."""

    is_own_block: bool
    """As in `WatchedVM`."""

    def compute_block_requests_hash(self, block: BlockAPI) -> bytes:
        """Return the hash of an executed block's requests (EIP-7685).

        Raises: InvalidBlockError: see the methods below. NestedCallError: a contract is called,
                and the state forbids it.
        """
        assert isinstance(block, PragueBlock)  # noqa: S101 - the only ones of this VM
        self.process_deposit_request_data(block)
        self.process_withdrawal_request_data(block)
        self.process_consolidation_request_data(block)
        hashes = [sha256(each).digest() for each in block.block_requests if len(each) > 1]
        return sha256(b"".join(hashes)).digest()

    def process_deposit_request_data(self, block: BlockAPI) -> None:
        """Add a block's deposits to the requests.

        Raises: InvalidBlockError: the contract emitted a deposit of another layout (EIP-6110).
        """
        deposits = [
            log
            for receipt in block.get_receipts(self.chaindb)
            for log in receipt.logs
            if log.address == DEPOSIT_CONTRACT_ADDRESS and log.topics[:1] == (DEPOSIT_TOPIC,)
        ]
        for log in deposits:
            if not _has_deposit_layout(log.data):
                raise InvalidBlockError(
                    BlockRefusal.INVALID_DEPOSIT_EVENT_LAYOUT,
                    f"deposit event of {len(log.data)} bytes: must have the layout of EIP-6110",
                )
        if not deposits:  # py-evm encodes the first topic of every log to compare it.
            assert isinstance(block, PragueBlock)  # noqa: S101 - the only ones of this VM
            block.block_requests.append(DEPOSIT_REQUEST_TYPE)
            return
        super().process_deposit_request_data(block)

    def process_withdrawal_request_data(self, block: BlockAPI) -> None:
        """Add the requests of the withdrawal contract (EIP-7002).

        Raises: InvalidBlockError: the contract failed, or is missing where it must be.
        """
        self._add_requests(block, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE)

    def process_consolidation_request_data(self, block: BlockAPI) -> None:
        """Add the requests of the consolidation contract (EIP-7251).

        Raises: InvalidBlockError: the contract failed, or is missing where it must be.
        """
        self._add_requests(
            block, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE
        )

    def _add_requests(self, block: BlockAPI, contract: Address, kind: bytes) -> None:
        code = self.state.get_code(contract)
        if not code:
            if self.needs_request_contracts and not self.is_own_block:
                raise InvalidBlockError(
                    BlockRefusal.SYSTEM_CONTRACT_EMPTY,
                    f"system contract {to_checksum_address(contract)}: must have code",
                )
            return
        if isinstance(self.state, WatchedState) and self.state.forbids_nested_calls:
            raise NestedCallError
        computation = self.execute_bytecode(
            origin=SYSTEM_ADDRESS,
            gas_price=0,
            gas=SYSTEM_MESSAGE_GAS,
            to=contract,
            sender=SYSTEM_ADDRESS,
            value=0,
            data=b"",
            code=code,
            code_address=contract,
        )
        if computation.is_error:
            raise InvalidBlockError(
                BlockRefusal.SYSTEM_CONTRACT_CALL_FAILED,
                f"system contract {to_checksum_address(contract)}: its call at the end of the "
                "block must succeed; set its code again, or remove it",
            )
        if computation.output:
            assert isinstance(block, PragueBlock)  # noqa: S101 - the only ones of this VM
            block.block_requests.append(kind + computation.output)


def _has_deposit_layout(data: bytes) -> bool:
    """Whether a deposit event has each field at its place (EIP-6110)."""
    if len(data) != DEPOSIT_BYTES:
        return False
    words = [
        int.from_bytes(data[at : at + WORD_BYTES], "big")
        for at in range(0, DEPOSIT_BYTES, WORD_BYTES)
    ]
    return all(
        (words[index], words[offset // WORD_BYTES]) == (offset, size)
        for index, (offset, size) in enumerate(DEPOSIT_FIELDS)
    )
