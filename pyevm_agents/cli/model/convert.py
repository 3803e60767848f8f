"""`pyevm-agents model convert`: a float model in ONNX as a numeric model in integers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from pyevm_agents.atomic_files import require_file_path, write_atomically
from pyevm_agents.cli.output import out, print_table
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.models.numeric.convert import Conversion, InputColumns
    from pyevm_agents.models.numeric.convert.comparison import ErrorTable
    from pyevm_agents.models.numeric.convert.data import DataTable

NO_RUNTIME = "the table of errors needs onnxruntime: pip install onnxruntime"
MAX_INPUT_PARTS = 5

EXAMPLES = """\b
Examples:
  pyevm-agents model convert forecast.onnx -o forecast.int.onnx --calibration train.csv \\
      --input-decimals 6 --output-decimals 6 --evaluate test.csv
  pyevm-agents model convert text.onnx -o text.int.onnx --calibration words.npy \\
      --input word:48:0:0:4096 --output-name score
"""


class _DecimalsType(click.ParamType["int | tuple[int, ...]"]):
    """One number of decimals, or one for each input, separated by commas."""

    name = "decimals"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parse the text."""
        try:
            numbers = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value}: must be N, or N,N,… with one for each input", param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


class _InputType(click.ParamType["InputColumns"]):
    """Consecutive inputs: NAME:COUNT:DECIMALS[:LEAST:MOST]."""

    name = "input"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> InputColumns:
        """Parse the text."""
        from pyevm_agents.models.numeric.convert import InputColumns  # noqa: PLC0415 - imports onnx

        name, *rest = str(value).split(":")
        try:
            numbers = [int(part) for part in rest]
        except ValueError:
            numbers = []
        if not name or len(numbers) not in {2, MAX_INPUT_PARTS - 1}:
            self.fail(f"{value}: must be NAME:COUNT:DECIMALS[:LEAST:MOST]", param, ctx)
        least, most = (None, None, *numbers[2:])[-2:]
        return InputColumns(
            name=name, count=numbers[0], decimals=numbers[1], least=least, most=most
        )


@click.command(epilog=EXAMPLES)
@click.argument("float_model", metavar="FLOAT", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "output_path", required=True, metavar="FILE", type=click.Path(path_type=Path),
    help="The integer model's file.",
)  # fmt: skip
@click.option(
    "--calibration", required=True, metavar="DATA", type=click.Path(path_type=Path),
    help="Rows of inputs in CSV or .npy; ranges are chosen from them.",
)  # fmt: skip
@click.option(
    "--evaluate", metavar="DATA", type=click.Path(path_type=Path),
    help="Other rows, for the table of errors.",
)  # fmt: skip
@click.option(
    "--input-decimals", type=_DecimalsType(), default="4", show_default=True, metavar="N[,N…]",
    help="Decimals of all inputs, or of each.",
)  # fmt: skip
@click.option(
    "--output-decimals", type=int, default=4, show_default=True, metavar="N",
    help="Decimals of the outputs.",
)  # fmt: skip
@click.option(
    "--input", "columns", type=_InputType(), multiple=True, metavar="SPEC",
    help="Names, decimals and ranges, as NAME:COUNT:DECIMALS[:LEAST:MOST] in order; in place of "
    "--input-decimals. Repeatable.",
)  # fmt: skip
@click.option(
    "--output-name", "output_names", multiple=True, metavar="NAME",
    help="Name of an output. Repeatable.  [default: y0, y1, …]",
)  # fmt: skip
@click.option(
    "--float-output", default="", metavar="NAME",
    help="The float model's output to convert.  [default: the last one]",
)  # fmt: skip
@click.option(
    "--bits", type=int, default=16, show_default=True, metavar="N", help="Bits of a weight."
)
@click.option(
    "--margin", type=float, default=0.5, show_default=True, metavar="SHARE",
    help="Share of the calibrated range that inputs may exceed at each side.",
)  # fmt: skip
@click.option(
    "--raw-scores", is_flag=True,
    help="Leave out a Softmax or logistic function at the end: scores in place of probabilities.",
)  # fmt: skip
@click.option("--license", "license_text", default="", metavar="TEXT", help="Licence to state.")
@click.option("--source", default="", metavar="TEXT", help="Origin to state, such as an address.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def convert(  # noqa: PLR0913 - one for each option
    float_model: Path,
    *,
    output_path: Path,
    calibration: Path,
    evaluate: Path | None,
    input_decimals: int | tuple[int, ...],
    output_decimals: int,
    columns: tuple[InputColumns, ...],
    output_names: tuple[str, ...],
    float_output: str,
    bits: int,
    margin: float,
    raw_scores: bool,
    license_text: str,
    source: str,
    as_json: bool,
) -> None:
    """Convert FLOAT, a float model in ONNX, to a file that computes in integers.

    Converted are linear models, multilayer perceptrons, tree ensembles and 1-D convolutions, as
    exported by scikit-learn, LightGBM and PyTorch. The table shows the errors of the outputs.
    """
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx and NumPy
    from pyevm_agents.models.numeric.convert import (  # noqa: PLC0415
        ConversionOptions,
        convert_model,
    )
    from pyevm_agents.models.numeric.convert.data import read_table  # noqa: PLC0415

    require_file_path(output_path)
    data = _read_model(float_model)
    table = read_table(calibration)
    held_out = None if evaluate is None else read_table(evaluate)
    if held_out is not None:
        _require_same_names(table, held_out)
    options = ConversionOptions(
        input_decimals=input_decimals,
        output_decimals=output_decimals,
        input_names=table.names,
        columns=columns,
        output_names=output_names,
        output=float_output,
        bits=bits,
        margin=margin,
        raw_scores=raw_scores,
        license=license_text,
        source=source,
    )
    conversion = convert_model(data, table.rows, options)
    numeric = NumericFile(conversion.data)
    errors = _compare(data, conversion, table, held_out)
    write_atomically(output_path, conversion.data)
    if as_json:
        form = {
            "path": str(output_path),
            "sha256": numeric.digest.hex(),
            "sizeBytes": numeric.size_bytes,
            "operations": numeric.operations,
            "errors": {label: each.to_form() for label, each in errors.items()},
        }
        click.echo(json.dumps(form, indent=2))
        return
    out.print(
        f"Wrote {output_path}: {numeric.size_bytes:,} bytes, {numeric.operations:,} operations, "
        f"sha256 {numeric.digest.hex()}",
        soft_wrap=True, markup=False,
    )  # fmt: skip
    if errors:
        print_table(_build_table(errors))
    else:
        out.print(f"No errors were measured: {NO_RUNTIME}", soft_wrap=True, markup=False)


def _read_model(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"model file {path}: can't be read: {error.strerror}; check the path"
        ) from error


def _require_same_names(table: DataTable, other: DataTable) -> None:
    if table.names and other.names and table.names != other.names:
        raise ConfigError(
            f"columns {', '.join(other.names)} of the data to evaluate: must be "
            f"{', '.join(table.names)}, as the calibration data has"
        )


def _compare(
    data: bytes, conversion: Conversion, table: DataTable, held_out: DataTable | None
) -> dict[str, ErrorTable]:
    from pyevm_agents.models.numeric.convert.comparison import (  # noqa: PLC0415 - imports NumPy
        compare_outputs,
        has_runtime,
    )

    if not has_runtime():
        return {}
    errors = {"calibration": compare_outputs(data, conversion, table.rows)}
    if held_out is not None:
        errors["evaluation"] = compare_outputs(data, conversion, held_out.rows)
    return errors


def _build_table(errors: dict[str, ErrorTable]) -> Table:
    """Return the table: a line for each figure, a column for each set of data."""
    lines = {
        "rows": [f"{each.rows:,}" for each in errors.values()],
        "clipped rows": [f"{each.clipped:,}" for each in errors.values()],
        "max error": [f"{each.greatest:.3g}" for each in errors.values()],
        "mean error": [f"{each.mean:.3g}" for each in errors.values()],
    }
    for share in next(iter(errors.values())).quantiles:
        lines[f"{100 * share:.0f} % below"] = [
            f"{each.quantiles[share]:.3g}" for each in errors.values()
        ]
    lines["spread of outputs"] = [f"{each.spread:.3g}" for each in errors.values()]
    shares = [each.equal_classes for each in errors.values()]
    if None not in shares:
        lines["equal class"] = [f"{100 * (share or 0):.2f} %" for share in shares]
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for label in errors:
        table.add_column(label, justify="right")
    for label, figures in lines.items():
        table.add_row(label, *figures)
    return table
