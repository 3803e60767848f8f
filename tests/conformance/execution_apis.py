"""The test suite of ethereum/execution-apis: its chain, and what is asked of it.

Source: `../shared/conformance/README.md`; execution-apis `tests/` at 97723808.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rlp
from eth.vm.forks import (
    ArrowGlacierVM,
    BerlinVM,
    ByzantiumVM,
    CancunVM,
    ConstantinopleVM,
    GrayGlacierVM,
    HomesteadVM,
    IstanbulVM,
    LondonVM,
    MuirGlacierVM,
    ParisVM,
    PetersburgVM,
    ShanghaiVM,
    SpuriousDragonVM,
    TangerineWhistleVM,
)
from eth_typing import Address

from pyevm_agents.chain import Chain, ForeignRules, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm import PragueAgentVM
from pyevm_agents.vm.forks import BPO1, BPO2, OSAKA

if TYPE_CHECKING:
    from pathlib import Path

NAME = "execution-apis"
"""The suite's folder."""

SECONDS_OF_A_BLOCK = 10
"""All blocks of the suite's chain are so far apart, from 0 on: its forks by time have a number."""

HOMESTEAD = HomesteadVM.configure(__name__="HomesteadVM", support_dao_fork=False)

FORKS = (
    ("homesteadBlock", HOMESTEAD),
    ("eip150Block", TangerineWhistleVM),
    ("eip158Block", SpuriousDragonVM),
    ("byzantiumBlock", ByzantiumVM),
    ("constantinopleBlock", ConstantinopleVM),
    ("petersburgBlock", PetersburgVM),
    ("istanbulBlock", IstanbulVM),
    ("muirGlacierBlock", MuirGlacierVM),
    ("berlinBlock", BerlinVM),
    ("londonBlock", LondonVM),
    ("arrowGlacierBlock", ArrowGlacierVM),
    ("grayGlacierBlock", GrayGlacierVM),
    ("mergeNetsplitBlock", ParisVM),
    ("shanghaiTime", ShanghaiVM),
    ("cancunTime", CancunVM),
    ("pragueTime", PragueAgentVM),
    ("osakaTime", OSAKA.vm_class),
    ("bpo1Time", BPO1.vm_class),
    ("bpo2Time", BPO2.vm_class),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request, and the answer to it."""

    request: bytes
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One file of the suite."""

    name: str
    is_spec_only: bool
    """Whether only the shape of the answer is told, and not its values."""

    exchanges: tuple[Exchange, ...]


def cases(folder: Path) -> list[Case]:
    """Return all files of the suite."""
    return [_case(path) for path in sorted(folder.glob("*/*.io"))]


def _case(path: Path) -> Case:
    lines = path.read_text().splitlines()
    asked = [line[2:].strip() for line in lines if line.startswith(">>")]
    told = [line[2:].strip() for line in lines if line.startswith("<<")]
    return Case(
        name=f"{path.parent.name}/{path.stem}",
        is_spec_only=any(line.startswith("// speconly") for line in lines),
        exchanges=tuple(
            Exchange(request=request.encode(), answer=json.loads(answer))
            for request, answer in zip(asked, told, strict=True)
        ),
    )


def imported_chain(folder: Path) -> Chain:
    """Return the suite's chain, each of its blocks executed and held against its header."""
    genesis = json.loads((folder / "genesis.json").read_text())
    chain = Chain(
        ChainConfig(
            chain_id=genesis["config"]["chainId"],
            block_gas_limit=int(genesis["gasLimit"], 16),
        ),
        accounts={
            Address(bytes.fromhex(address)): _account(told)
            for address, told in genesis["alloc"].items()
        },
        foreign=ForeignRules(
            forks=tuple(
                (_number(genesis, name), vm_class)
                for name, vm_class in FORKS
                if name in genesis["config"]
            ),
            genesis_header={
                "difficulty": int(genesis["difficulty"], 16),
                "extra_data": bytes.fromhex(genesis["extraData"][2:]),
                "gas_limit": int(genesis["gasLimit"], 16),
                "timestamp": int(genesis["timestamp"], 16),
                "coinbase": bytes.fromhex(genesis["coinbase"][2:]),
                "mix_hash": bytes.fromhex(genesis["mixHash"][2:]),
                "nonce": int(genesis["nonce"], 16).to_bytes(8, "big"),
            },
        ),
    )
    rest = (folder / "chain.rlp").read_bytes()
    while rest:
        end = _end_of_first(rest)
        chain.import_block(rest[:end])
        rest = rest[end:]
    return chain


def _end_of_first(encoded: bytes) -> int:
    _, _, length, start = rlp.codec.consume_length_prefix(encoded, 0)
    return int(start + length)


def _number(genesis: dict[str, Any], name: str) -> int:
    value = int(genesis["config"][name])
    return value // SECONDS_OF_A_BLOCK if name.endswith("Time") else value


def _account(told: dict[str, Any]) -> GenesisAccount:
    storage = told.get("storage", {})
    return GenesisAccount(
        balance_wei=int(told["balance"], 16),
        nonce=int(told.get("nonce", "0x0"), 16),
        code=bytes.fromhex(told.get("code", "0x")[2:]),
        storage={int(slot, 16): int(value, 16) for slot, value in storage.items()},
    )
