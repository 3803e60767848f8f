"""Write the artifacts of Uniswap V2 from its npm packages.

python scripts/uniswap_artifacts.py NODE_MODULES

`NODE_MODULES` has `@uniswap/v2-core` 1.0.1 and `@uniswap/v2-periphery` 1.1.0-beta.0. ABI and
creation code are kept, unmodified. They are under GPL-3.0-or-later:
`pyevm_agents/scenarios/swap/uniswap_v2/`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "pyevm_agents" / "scenarios" / "swap" / "uniswap_v2"

PACKAGES = {
    "UniswapV2Factory": "v2-core",
    "UniswapV2Pair": "v2-core",
    "UniswapV2Router02": "v2-periphery",
    "WETH9": "v2-periphery",
}
"""Contract to package of the scope `@uniswap`."""


def format_artifact(node_modules: Path, name: str) -> str:
    """Return the text of an artifact's file."""
    package = node_modules / "@uniswap" / PACKAGES[name]
    form = json.loads((package / "build" / f"{name}.json").read_text())
    artifact = {
        "abi": form["abi"],
        "bytecode": "0x" + form["bytecode"].removeprefix("0x"),
        "contractName": name,
    }
    return json.dumps(artifact, indent=1) + "\n"


def main() -> int:
    """Write the files, and the packages' licence."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - one argument
        print(__doc__, file=sys.stderr)
        return 2
    node_modules = Path(sys.argv[1])
    FOLDER.mkdir(exist_ok=True)
    for name in PACKAGES:
        (FOLDER / f"{name}.json").write_text(format_artifact(node_modules, name))
    licence = node_modules / "@uniswap" / "v2-core" / "LICENSE"
    (FOLDER / "LICENSE").write_text(licence.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
