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
from pyevm_agents.vm.transaction_rules import (
    CANCUN_RULES,
    OSAKA_RULES,
    PRAGUE_RULES,
    TransactionRules,
)
from pyevm_agents.vm.vm import AgentVM, Bpo1AgentVM, Bpo2AgentVM, OsakaAgentVM, PragueAgentVM

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Parameters of a fork that are used outside of the VM."""

    name: str
    vm_class: type[AgentVM]
    rules: TransactionRules
    """The limits of a transaction."""

    blobs: BlobSchedule
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
        return gas if self.rules.max_gas is None else min(gas, self.rules.max_gas)


CANCUN = Fork(
    name="cancun",
    vm_class=AgentVM,
    rules=CANCUN_RULES,
    blobs=CANCUN_BLOBS,
    system_contracts=(("BEACON_ROOTS_ADDRESS", cancun.BEACON_ROOTS_ADDRESS),),
)
PRAGUE = Fork(
    name="prague",
    vm_class=PragueAgentVM,
    rules=PRAGUE_RULES,
    blobs=PRAGUE_BLOBS,
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
    rules=OSAKA_RULES,
)
BPO1 = replace(OSAKA, name="bpo1", vm_class=Bpo1AgentVM, blobs=BPO1_BLOBS)
BPO2 = replace(OSAKA, name="bpo2", vm_class=Bpo2AgentVM, blobs=BPO2_BLOBS)

FORKS = {fork.name: fork for fork in (CANCUN, PRAGUE, OSAKA, BPO1, BPO2)}
"""Forks by the names of `chain_config.FORKS`."""
