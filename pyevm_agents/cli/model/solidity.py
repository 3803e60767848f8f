"""`pyevm-agents model solidity`: a numeric model as a Solidity library."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pyevm_agents.atomic_files import require_file_path, write_atomically
from pyevm_agents.cli.output import out
from pyevm_agents.errors import ConfigError

MAX_CONTRACT_BYTES = 24_576
"""Upper bound of a contract's code. Source: EIP-170."""

EXAMPLE = """\b
Example:
  pyevm-agents model solidity forecast.onnx -o Forecast.sol
"""


@click.command(epilog=EXAMPLE)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "output_path", required=True, metavar="FILE", type=click.Path(path_type=Path),
    help="The Solidity file.",
)  # fmt: skip
@click.option("--name", metavar="NAME", help="Name of the library.  [default: that of the file]")
@click.option(
    "--max-bytes", type=click.IntRange(1), default=MAX_CONTRACT_BYTES, show_default=True,
    metavar="N", help="Refuse constants of more bytes: EIP-170 limits a contract's code.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def solidity(
    file: Path, *, output_path: Path, name: str | None, max_bytes: int, as_json: bool
) -> None:
    """Write FILE, a numeric model in integers or the name of a shipped one, as Solidity.

    The library and the contract give the results of the precompile at 0x1a, on chains without the
    precompile.
    """
    from pyevm_agents.models.numeric import NumericModelError  # noqa: PLC0415 - imports onnx
    from pyevm_agents.models.numeric.catalogue import find_named  # noqa: PLC0415
    from pyevm_agents.models.numeric.numeric_file import read_model_file  # noqa: PLC0415
    from pyevm_agents.models.numeric.solidity import generate_library  # noqa: PLC0415

    require_file_path(output_path)
    file = find_named(file)
    data = read_model_file(file)
    try:
        generated = generate_library(data, name or output_path.stem, max_bytes=max_bytes)
    except NumericModelError as error:
        raise ConfigError(f"{file}: {error}") from error
    write_atomically(output_path, generated.text.encode())
    if as_json:
        form = {
            "path": str(output_path),
            "dataBytes": generated.data_bytes,
            "memoryBytes": generated.memory_bytes,
        }
        click.echo(json.dumps(form, indent=2))
        return
    out.print(
        f"Wrote {output_path}: {generated.data_bytes:,} bytes of constants in the code, "
        f"{generated.memory_bytes:,} bytes of memory",
        soft_wrap=True, markup=False,
    )  # fmt: skip
