"""Blobs of a fork: their numbers in a block, and the price that follows from the excess.

Source: EIP-4844, EIP-7691, EIP-7892; EIP-7918 for the reserve price from Osaka on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.calculations import fake_exponential
from eth.vm.forks.cancun import constants as cancun
from eth.vm.forks.prague import constants as prague

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI

BLOB_BASE_COST = 1 << 13
"""Execution gas whose price a blob's price is compared with. Source: EIP-7918."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobSchedule:
    """The blob parameters of a fork."""

    target: int
    """Blobs per block that leave the blob base fee unchanged."""

    maximum: int
    """Upper bound of blobs per block."""

    base_fee_fraction: int
    """Excess blob gas that raises the blob base fee by the factor e."""

    def compute_base_fee(self, excess_blob_gas: int) -> int:
        """Return the blob base fee of a block, in wei per blob gas."""
        return int(
            fake_exponential(cancun.MIN_BLOB_BASE_FEE, excess_blob_gas, self.base_fee_fraction)
        )

    def compute_excess(self, parent: BlockHeaderAPI) -> int:
        """Return the excess blob gas of a block of Osaka after `parent`.

        While blobs cost less than execution does, the excess never falls (EIP-7918).
        """
        fields = parent.as_dict()
        used, before = int(fields.get("blob_gas_used", 0)), int(fields.get("excess_blob_gas", 0))
        target = self.target * cancun.GAS_PER_BLOB
        if before + used < target:
            return 0
        reserve = BLOB_BASE_COST * int(parent.base_fee_per_gas or 0)
        if reserve > cancun.GAS_PER_BLOB * self.compute_base_fee(before):
            return before + used * (self.maximum - self.target) // self.maximum
        return before + used - target


CANCUN_BLOBS = BlobSchedule(
    target=cancun.TARGET_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    maximum=cancun.MAX_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    base_fee_fraction=cancun.BLOB_BASE_FEE_UPDATE_FRACTION,
)
PRAGUE_BLOBS = BlobSchedule(
    target=prague.TARGET_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    maximum=prague.MAX_BLOB_GAS_PER_BLOCK // cancun.GAS_PER_BLOB,
    base_fee_fraction=prague.BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE,
)
BPO1_BLOBS = BlobSchedule(target=10, maximum=15, base_fee_fraction=8_346_193)
"""Source: EIP-7892; mainnet's schedule since 9 December 2025."""

BPO2_BLOBS = BlobSchedule(target=14, maximum=21, base_fee_fraction=11_684_671)
"""Source: EIP-7892; mainnet's schedule since 7 January 2026."""
