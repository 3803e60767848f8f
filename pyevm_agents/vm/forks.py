"""The Ethereum forks of a chain: VM classes, transaction types, blob parameters, contracts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth._utils.calculations import fake_exponential
from eth.vm.forks.cancun import constants as cancun
from eth.vm.forks.prague import constants as prague

from pyevm_agents.vm.transaction_executor import floor_gas
from pyevm_agents.vm.vm import AgentVM, PragueAgentVM

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, TransactionFieldsAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Parameters of a fork that are used outside of its VM."""

    name: str
    vm_class: type[AgentVM]
    last_type: int
    """The highest transaction type."""

    target_blobs: int
    """Blobs per block that leave the blob base fee unchanged."""

    max_blobs: int
    """Upper bound of blobs per block."""

    blob_base_fee_fraction: int
    """Excess blob gas that raises the blob base fee by the factor e (EIP-4844)."""

    has_floor: bool
    """Whether calldata has a floor price (EIP-7623)."""

    system_contracts: tuple[tuple[str, bytes], ...]
    """Names (EIP-7910) and addresses of the system contracts."""

    @property
    def builder(self) -> Any:  # noqa: ANN401 - py-evm's abstract type lacks most methods
        """py-evm's transaction builder of the fork."""
        return self.vm_class.get_transaction_builder()

    def blob_base_fee(self, header: BlockHeaderAPI) -> int:
        """Return the blob base fee of a block, in wei per blob gas."""
        excess = header.excess_blob_gas
        return int(fake_exponential(cancun.MIN_BLOB_BASE_FEE, excess, self.blob_base_fee_fraction))

    def floor_gas(self, transaction: TransactionFieldsAPI) -> int:
        """Return the floor price of a transaction's calldata, in gas; 0 before EIP-7623."""
        return floor_gas(transaction) if self.has_floor else 0


CANCUN = Fork(
    name="cancun",
    vm_class=AgentVM,
    last_type=3,
    target_blobs=cancun.TARGET_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    max_blobs=cancun.MAX_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    blob_base_fee_fraction=cancun.BLOB_BASE_FEE_UPDATE_FRACTION,
    has_floor=False,
    system_contracts=(("BEACON_ROOTS_ADDRESS", cancun.BEACON_ROOTS_ADDRESS),),
)
PRAGUE = Fork(
    name="prague",
    vm_class=PragueAgentVM,
    last_type=4,
    target_blobs=prague.TARGET_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    max_blobs=prague.MAX_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    blob_base_fee_fraction=prague.BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE,
    has_floor=True,
    system_contracts=(
        *CANCUN.system_contracts,
        ("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS", prague.CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
        ("DEPOSIT_CONTRACT_ADDRESS", prague.DEPOSIT_CONTRACT_ADDRESS),
        ("HISTORY_STORAGE_ADDRESS", prague.HISTORY_STORAGE_ADDRESS),
        ("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", prague.WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
    ),
)

FORKS = {fork.name: fork for fork in (CANCUN, PRAGUE)}
"""Forks by the names of `chain_config.FORKS`."""
