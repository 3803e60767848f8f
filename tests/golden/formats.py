"""Formats of files: their marks, versions, and nested keys."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eth_utils import to_hex

from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.bench.measurement.results import FORM
from pyevm_agents.bench.measurement.results_json import read_report, to_json
from pyevm_agents.cli.node.log_format import MinedTransaction
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import SHORT_NAMES, ScheduleFile, parse_schedule
from pyevm_agents.errors import ConfigError
from pyevm_agents.local_node.genesis_file import read_genesis
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.node import state_dump
from pyevm_agents.recordings import codec, read_fixture
from pyevm_agents.recordings.export import ReplayExport, extract_replay_steps, render_json
from pyevm_agents.recordings.export_solidity import render_solidity
from pyevm_agents.testing import cassette_file, gas_snapshot
from pyevm_agents.testing.gas_snapshot import ZERO_COST
from tests.golden.chains import FINGERPRINT, FIXTURES
from tests.golden.json_values import Json, digest_of, structure_of
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models import Vocabulary

ROOT = FIXTURES.parent
REPORTS = ROOT / "benchmarks" / "reports"
CASSETTES = ROOT / "tests" / "examples" / "cassettes"


def collect_formats(vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return how each kind of file is written."""
    facts = replace(vocabulary.profile_facts, fingerprint=FINGERPRINT)
    config = ChainConfig(models=(build_model_profile(facts),), profile_fingerprint=FINGERPRINT)
    return {
        "configuration of a chain": {
            "without a model": _configuration(ChainConfig()),
            "with the default model": _configuration(config),
        },
        "schedule": {
            "file": ScheduleFile.from_config(config).to_json().split("\n"),
            "short names": {name: _short(name) for name in SHORT_NAMES},
        },
        "chain fixture": {
            path.stem: structure_of(json.loads(codec.encode(read_fixture(path))))
            | {"format and version": [codec.FORMAT, codec.VERSION]}
            for path in sorted(FIXTURES.glob("*.json"))
        },
        "cassette": {
            "format and version": [cassette_file.FORMAT, cassette_file.VERSION],
            "comment": cassette_file.COMMENT,
            "files": {path.stem: _cassette(path) for path in sorted(CASSETTES.rglob("*.json"))},
        },
        "gas snapshot": {"name": gas_snapshot.FILE, "lines": _gas_snapshot()},
        "report of the bench": {
            "form": FORM,
            "files": {name: _report(REPORTS / f"{name}.json") for name in REPORT_NAMES},
        },
        "replay, dump and log": _of_a_node(),
        "genesis": _genesis(),
    }


REPORT_NAMES = ("default-model", "run-before")


def _configuration(config: ChainConfig) -> Mapping[str, object]:
    return {"json": json.loads(config.to_json()), "keccak": to_hex(config.digest)}


def _short(name: str) -> object:
    """Return the expansion of a price's short name in a file of all models' prices."""
    return parse_schedule(json.dumps({name: 1})).models


def _cassette(path: Path) -> Json:
    """Return the structure of a cassette as it is written, lines of texts in one."""
    form = json.loads(cassette_file.encode(cassette_file.read_cassette(path)))
    return structure_of(form)


def _gas_snapshot() -> list[str]:
    numbers = {name: number for number, name in enumerate(asdict(ZERO_COST), start=1)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / gas_snapshot.FILE
        gas_snapshot.write_snapshot(
            {"tests/test_a.py::test_b": replace(ZERO_COST, **numbers)}, path
        )
        return path.read_text(encoding="utf-8").split("\n")


def _report(path: Path) -> Json:
    return structure_of(json.loads(to_json(read_report(path))))


def _of_a_node() -> Mapping[str, object]:
    node = AgentNode()
    sent = str(node.ask("eth_sendTransaction", node.instruction()))
    frame = node.ask("debug_traceTransaction", sent, {"tracer": "callTracer"})
    steps = extract_replay_steps(frame, node.ask("agent_traceTransaction", sent))
    replay = ReplayExport(name="Golden", source="Recorded for golden files.", steps=steps)
    dump = state_dump.dump(node.node)
    node.node.close()
    logged = MinedTransaction(
        hash=sent,
        block=1,
        gas_used=2,
        to=None,
        is_create=False,
        code=b"",
        selector=b"",
        failure=None,
        handles=(),
        printed=("a",),
    )
    source = render_solidity(replay, contracts="../contracts")
    return {
        "replay": structure_of(json.loads(render_json(replay))),
        "replay in Solidity": {"lines": len(source.split("\n")), "keccak": digest_of(source)},
        "state dump": {
            "format": dump["format"],
            "block": dump["block"],
            "structure": structure_of(dump),
        },
        "transaction in a log": structure_of(logged.as_json(KnownContracts())),
    }


ACCOUNT = "0x" + "5f" * 20
GENESIS: Mapping[str, object] = {
    "config.chainId": 5,
    "timestamp": "0x5",
    "gasLimit": "0x1c9c380",
    "baseFeePerGas": "0x7",
    f"alloc.{ACCOUNT}.balance": "0x5",
    f"alloc.{ACCOUNT}.nonce": "0x1",
    f"alloc.{ACCOUNT}.code": "0x01",
    f"alloc.{ACCOUNT}.storage": {"0x0": "0x2a"},
    "difficulty": "0x1",
    "coinbase": ACCOUNT,
}
"""Fields of a genesis file, by their places in it."""


def _genesis() -> Mapping[str, str]:
    """Return the fields of a genesis file that are read, found by the effect of a wrong value."""
    return {
        place: "is read" if _refuses_genesis({**GENESIS, place: "no value"}) else "is passed over"
        for place in GENESIS
    }


def _refuses_genesis(fields: Mapping[str, object]) -> bool:
    form: dict[str, Json] = {}
    for place, value in fields.items():
        *parents, name = place.split(".")
        inner = form
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[name] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genesis.json"
        path.write_text(json.dumps(form), encoding="utf-8")
        try:
            read_genesis(path)
        except ConfigError:
            return True
    return False
