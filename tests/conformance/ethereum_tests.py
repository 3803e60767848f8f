"""The test suite ethereum/tests: chains of a few blocks, and what comes of them.

Its cases are Cancun's. Each is imported by our Cancun, with the executor at 0x19: it has to come to
what the suite says.

Source: `../shared/conformance/README.md`; ethereum/tests at 4c87ebbf, `BlockchainTests`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import rlp
from eth.exceptions import OutOfGas
from eth.vm.forks.cancun import CancunVM
from eth_typing import Address
from eth_utils import ValidationError

from precompiles.executor import Executor
from pyevm_agents.chain import BlockSettings, Chain, ForeignRules, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError
from pyevm_agents.vm import (
    BlockRefusal,
    InvalidBlockError,
    InvalidTransactionError,
    TransactionRefusal,
    build_vm_class,
)
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eth.vm.forks.frontier import FrontierVM

    from pyevm_agents.vm import AgentVM, Fork

NAME = "ethereum-tests"
"""The suite's folder."""

QUANTITIES = {
    "difficulty": "difficulty",
    "gas_limit": "gasLimit",
    "timestamp": "timestamp",
    "base_fee_per_gas": "baseFeePerGas",
    "blob_gas_used": "blobGasUsed",
    "excess_blob_gas": "excessBlobGas",
}
BYTES = {
    "extra_data": "extraData",
    "coinbase": "coinbase",
    "mix_hash": "mixHash",
    "nonce": "nonce",
    "parent_beacon_block_root": "parentBeaconBlockRoot",
}
"""Fields of a genesis header, and what the suite calls them."""


SYNONYMS = {"TYPE_3_TX_BLOB_COUNT_EXCEEDED": "TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED"}
"""Reasons that the suite doesn't tell apart. It is older than the limit of a transaction's blobs
(EIP-7594): execution-spec-tests keeps the first name for that, the second for a block's limit."""

INVALID = (OutOfGas, ValidationError, rlp.exceptions.RLPException)
"""What py-evm raises of a block that is invalid: OutOfGas where initcode is too long."""


Reason: TypeAlias = "TransactionRefusal | BlockRefusal | str"
"""Why a block was refused: the class of the reason, or the message where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A chain of the suite."""

    name: str
    form: dict[str, Any]


def files(folder: Path) -> list[Path]:
    """Return all files of the suite."""
    return sorted((folder / "BlockchainTests").rglob("*.json"))


def cases(file: Path) -> Iterator[Case]:
    """Yield the cases of a file."""
    for name, form in json.loads(file.read_text()).items():
        assert form["network"] == "Cancun", name
        yield Case(name=f"{file.stem}: {name}", form=form)


def executor() -> Executor:
    """Return an executor whose model receives no complete request."""
    return Executor([(PROFILE, ByteModel([]))])


def begun(case: Case, vm_class: type[FrontierVM]) -> Chain:
    """Return the case's chain as it begins, under a VM's rules."""
    told = case.form["genesisBlockHeader"]
    header: dict[str, Any] = {name: int(told[key], 16) for name, key in QUANTITIES.items()}
    header |= {name: bytes.fromhex(told[key][2:]) for name, key in BYTES.items()}
    return Chain(
        ChainConfig(chain_id=1, block_gas_limit=header["gas_limit"]),
        accounts={
            Address(bytes.fromhex(address[2:])): _account(account)
            for address, account in case.form["pre"].items()
        },
        foreign=ForeignRules(forks=((0, vm_class),), genesis_header=header),
    )


def imported(case: Case, vm_class: type[FrontierVM]) -> tuple[str, list[Reason | None]]:
    """Import a case's blocks; return the hash of the last one, and why others were refused."""
    chain = begun(case, vm_class)
    refusals: list[Reason | None] = []
    for block in case.form["blocks"]:
        try:
            chain.import_block(bytes.fromhex(block["rlp"][2:]))
            refusals.append(None)
        except (InvalidTransactionError, InvalidBlockError) as error:
            refusals.append(error.refusal)
        except (BlockError, *INVALID) as error:
            refusals.append(f"{type(error).__name__}: {error}")
    return "0x" + chain.head.hash.hex(), refusals


def wanted_reasons(block: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the names of the reasons for which a block must be refused; None for a valid one.

    The suite writes `TransactionException.NAME`, and alternatives with a bar between them.
    """
    told = block.get("expectException")
    if told is None:
        return None
    names = frozenset(it.split(".")[-1] for it in told.split("|"))
    return names | {SYNONYMS[it] for it in names & SYNONYMS.keys()}


def is_refused_rightly(refusal: Reason | None, wanted: frozenset[str] | None) -> bool:
    """Whether a block was refused for the suite's reason, or rightly not."""
    if wanted is None or refusal is None:
        return wanted is None and refusal is None
    return not isinstance(refusal, str) and refusal.name in wanted


def mined(case: Case, vm_class: type[CancunVM]) -> list[Any]:
    """Mine the transactions of a case under later rules; return headers or the failure."""
    chain = begun(case, vm_class)
    builder = vm_class.get_transaction_builder()
    found: list[Any] = []
    for block in case.form["blocks"]:
        try:
            read = rlp.decode(bytes.fromhex(block["rlp"][2:]), CancunVM.get_block_class())
            transactions = [builder.decode(one.encode()) for one in read.transactions]
            settings = BlockSettings(
                prev_randao=read.header.mix_hash,
                parent_beacon_root=read.header.parent_beacon_block_root,
            )
            found.append(chain.mine(transactions, settings=settings).block.header.as_dict())
        except INVALID:
            found.append("no block may hold that")
    return found


def agents_vm(fork: Fork) -> type[AgentVM]:
    """Return the VM of a chain with agents."""
    return build_vm_class(executor(), fork=fork)


def _account(told: dict[str, Any]) -> GenesisAccount:
    return GenesisAccount(
        balance_wei=int(told["balance"], 16),
        nonce=int(told["nonce"], 16),
        code=bytes.fromhex(told["code"][2:]),
        storage={int(slot, 16): int(value, 16) for slot, value in told["storage"].items()},
    )
