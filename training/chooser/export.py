"""Export of a trained chooser as a GGUF file.

    python -m training.chooser.export STATE.pt VOCABULARY.txt OUT.gguf
    python -m training.chooser.export --frozen MODEL.safetensors VOCABULARY.txt OUT.gguf

STATE is what the trainer saves: `{"state": tensors, "config": facts}`. `--frozen` takes the encoder
as it is before the training, with heads of zeros. VOCABULARY has a piece a line.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from training.chooser.weights import (
    ChooserExportError,
    build_frozen_state,
    read_pieces,
    read_safetensors,
    write_chooser,
)
from training.torch_files import load_file

if TYPE_CHECKING:
    from training.chooser.weights import State


def read_state(path: Path) -> tuple[State, dict[str, str]]:
    """Return the arrays and the facts that a trainer saved.

    Raises:
        ChooserExportError: another format.
    """
    try:
        saved = load_file(path)
    except ValueError as error:
        raise ChooserExportError(
            f"{path} can't be read as a state: {error}; save one with torch.save, or pass --frozen"
        ) from error
    if not isinstance(saved, dict) or not {"state", "config"} <= saved.keys():
        raise ChooserExportError(f"{path}: must have the keys state and config")
    state = {name: torch.as_tensor(each).float().numpy() for name, each in saved["state"].items()}
    return state, {str(name): str(value) for name, value in saved["config"].items()}


def main(arguments: list[str] | None = None) -> int:
    """Export a chooser; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.chooser.export", description="Write a trained chooser as GGUF."
    )
    parser.add_argument("state", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--frozen", action="store_true", help="STATE has safetensors of an encoder")
    parser.add_argument("--heads", type=int, default=12, help="heads of attention")
    options = parser.parse_args(arguments)
    try:
        state, facts = (
            (build_frozen_state(read_safetensors(options.state)), {})
            if options.frozen
            else read_state(options.state)
        )
        pieces = read_pieces(options.vocabulary)
        write_chooser(state, pieces, options.out, heads=options.heads, facts=facts)
    except (ChooserExportError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{options.out}: {options.out.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
