"""The Ethereum forks of a chain: VM classes, transaction types, blob parameters, contracts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eth.vm.forks.cancun import constants as cancun
from eth.vm.forks.prague import constants as prague

from pyevm_agents.vm.blobs import (
    BPO1_BLOBS,
    BPO2_BLOBS,
    CANCUN_BLOBS,
    PRAGUE_BLOBS,
    BlobSchedule,
)
from pyevm_agents.vm.transaction_executor import (
    MAX_TRANSACTION_BLOBS,
    MAX_TRANSACTION_GAS,
    floor_gas,
)
from pyevm_agents.vm.vm import AgentVM, Bpo1AgentVM, Bpo2AgentVM, OsakaAgentVM, PragueAgentVM

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, TransactionFieldsAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Parameters of a fork that are used outside of the VM."""

    name: str
    vm_class: type[AgentVM]
    last_type: int
    """The highest transaction type."""

    blobs: BlobSchedule
    max_transaction_blobs: int
    """Upper bound of a transaction's blobs."""

    max_transaction_gas: int | None = None
    """Upper bound of a transaction's gas limit (EIP-7825); None for the block's."""

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
        return self.blobs.compute_base_fee(header.excess_blob_gas)

    def cap_gas(self, gas: int) -> int:
        """Return a gas limit, or the most that a transaction of the fork may have."""
        return gas if self.max_transaction_gas is None else min(gas, self.max_transaction_gas)

    def floor_gas(self, transaction: TransactionFieldsAPI) -> int:
        """Return the floor price of a transaction's calldata, in gas; 0 before EIP-7623."""
        return floor_gas(transaction) if self.has_floor else 0


CANCUN = Fork(
    name="cancun",
    vm_class=AgentVM,
    last_type=3,
    blobs=CANCUN_BLOBS,
    max_transaction_blobs=CANCUN_BLOBS.maximum,
    has_floor=False,
    system_contracts=(("BEACON_ROOTS_ADDRESS", cancun.BEACON_ROOTS_ADDRESS),),
)
PRAGUE = Fork(
    name="prague",
    vm_class=PragueAgentVM,
    last_type=4,
    blobs=PRAGUE_BLOBS,
    max_transaction_blobs=PRAGUE_BLOBS.maximum,
    has_floor=True,
    system_contracts=(
        *CANCUN.system_contracts,
        ("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS", prague.CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
        ("DEPOSIT_CONTRACT_ADDRESS", prague.DEPOSIT_CONTRACT_ADDRESS),
        ("HISTORY_STORAGE_ADDRESS", prague.HISTORY_STORAGE_ADDRESS),
        ("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", prague.WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
    ),
)
OSAKA = replace(
    PRAGUE,
    name="osaka",
    vm_class=OsakaAgentVM,
    max_transaction_blobs=MAX_TRANSACTION_BLOBS,
    max_transaction_gas=MAX_TRANSACTION_GAS,
)
BPO1 = replace(OSAKA, name="bpo1", vm_class=Bpo1AgentVM, blobs=BPO1_BLOBS)
BPO2 = replace(OSAKA, name="bpo2", vm_class=Bpo2AgentVM, blobs=BPO2_BLOBS)

FORKS = {fork.name: fork for fork in (CANCUN, PRAGUE, OSAKA, BPO1, BPO2)}
"""Forks by the names of `chain_config.FORKS`."""
