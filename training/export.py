"""Export of a checkpoint's adapter as a GGUF file for llama.cpp.

    python -m training.export CHECKPOINT OUT.gguf

The same checkpoint gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gguf
import numpy as np

from training import checkpoint
from training.checkpoint import CheckpointError
from training.gguf_weights import ARCHITECTURE
from training.set_rules import RulesError, read_rules, write_beside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from training.checkpoint import Checkpoint

MAX_BYTES = 12 * 1024 * 1024
"""Maximum size of the adapter, which is part of the package."""

NUMBERS = {
    "f16": gguf.GGMLQuantizationType.F16,
    "f32": gguf.GGMLQuantizationType.F32,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}


class ExportError(Exception):
    """The adapter can't be exported with these options."""


def export(
    trained: Checkpoint,
    path: Path,
    *,
    numbers: str = "f16",
    called: str | None = None,
    rules: Mapping[str, int] | None = None,
) -> None:
    """Write the adapter.

    Input:
        numbers: `f16`, `f32`, or `q8_0`: blocks of 32 bytes with a scale, which need half of f16's
            space and multiply fastest if the rank is a multiple of 32.
        called: name of base and adapter together, which becomes the chain's model name. None for
            the base's name with `-react`.
        rules: the decoding rules that the adapter was trained for.

    Raises:
        ExportError: a number exceeds the format's range, or the file would exceed `MAX_BYTES`.
    """
    shaping = trained.shaping
    writer = gguf.GGUFWriter(None, ARCHITECTURE)
    writer.add_type("adapter")
    writer.add_name(called or f"{trained.base_name}-react")
    writer.add_license(trained.base_licence)
    writer.add_base_model_count(1)
    writer.add_base_model_name(0, trained.base_name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(str(shaping["alpha"])))
    writer.add_string("training.base_sha256", trained.base_sha256)
    writer.add_string("training.data_sha256", trained.data_sha256)
    writer.add_string("training.start_sha256", trained.start_sha256)
    writer.add_uint64("training.steps", trained.step)
    for rule, number in sorted((rules or {}).items()):
        writer.add_uint64(f"decoding.{rule}", number)
    for name in sorted(shaping):
        value = shaping[name]
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        writer.add_string(f"training.{name}", text)
    for name in sorted(trained.adapter):
        matrix = trained.adapter[name].numpy()
        if matrix.shape[1] % gguf.GGML_QUANT_SIZES[NUMBERS[numbers]][0]:
            raise ExportError(
                f"{name} has rows of {matrix.shape[1]}: must be a multiple of {numbers}'s blocks; "
                "train with a --rank of 32, or export with --numbers f16"
            )
        with np.errstate(over="ignore"):
            written = gguf.quants.quantize(matrix, NUMBERS[numbers])
        if not np.isfinite(gguf.quants.dequantize(written, NUMBERS[numbers])).all():
            raise ExportError(
                f"{name} has numbers up to {np.abs(matrix).max()}, out of {numbers}'s range; train "
                "with a lower --learning-rate, or export with --numbers f32"
            )
        writer.add_tensor(name, written, raw_dtype=NUMBERS[numbers])
    unfinished = write_beside(writer, path)
    size_bytes = unfinished.stat().st_size
    if size_bytes > MAX_BYTES:
        unfinished.unlink()
        raise ExportError(
            f"the adapter would have {size_bytes:,} bytes: must be at most {MAX_BYTES:,}; train "
            "with a lower --rank or fewer --layers, or export with --numbers f16"
        )
    unfinished.replace(path)


def main(arguments: list[str] | None = None) -> int:
    """Export an adapter; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.export", description="Write a checkpoint's adapter as GGUF."
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--numbers", choices=sorted(NUMBERS), default="f16")
    parser.add_argument("--name", help="model name of base and adapter together")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="NAME=NUMBER", help="a decoding rule"
    )
    options = parser.parse_args(arguments)
    try:
        export(
            checkpoint.load(options.checkpoint),
            options.out,
            numbers=options.numbers,
            called=options.name,
            rules=read_rules(options.rule),
        )
    except (CheckpointError, ExportError, RulesError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{options.out}: {options.out.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
