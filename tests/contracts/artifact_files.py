"""The committed artifacts of `contracts/build/`, and the sources beside them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

CONTRACTS = Path(__file__).parents[2] / "contracts"
ARTIFACT_NAMES = sorted(path.stem for path in (CONTRACTS / "build").glob("*.json"))
SOURCES = sorted(
    path
    for path in CONTRACTS.rglob("*.sol")
    if not {"node_modules", "build"} & set(path.relative_to(CONTRACTS).parts)
)


@cache
def artifact_file(name: str) -> dict[str, Any]:
    form: dict[str, Any] = json.loads((CONTRACTS / "build" / f"{name}.json").read_text())
    return form
