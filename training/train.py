"""Train a LoRA adapter for the default model on ReAct runs.

    python -m training.train DATA --base MODEL.gguf --out FOLDER [--minutes M] [--resume] …

Needs PyTorch, gguf and numpy, and nothing of pyevm_agents. On one machine with one number of
threads, the same options give the same bits on a CPU, and a resumed run those of one that never
stopped. `python -m training.export` makes a GGUF file of the checkpoint.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import torch

from training.checkpoint import CheckpointError
from training.gguf_weights import WeightsError, read_base
from training.learner import DivergedError
from training.options import parse_options
from training.packing import DatasetError
from training.training_run import TrainingRun

if TYPE_CHECKING:
    from types import FrameType

    from training.options import Options

STOPPED = 130
"""The exit status of what Ctrl-C ended."""


class Stop:
    """Whether Ctrl-C was pressed: once ends in order, twice at once."""

    def __init__(self) -> None:
        """Listen from now on."""
        self._is_asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._is_asked

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self._is_asked = True
        signal.signal(number, signal.SIG_DFL)


def set_up(options: Options) -> None:
    """Make PyTorch compute the same twice, where it can, and no slower than it must."""
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    # A GPU has a few kernels that can't; on a CPU all can.
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    # On a GPU: products of float32 in TF32, several times as fast, at 10 bits of mantissa.
    torch.set_float32_matmul_precision("high")


def main(arguments: list[str] | None = None) -> int:
    """Train; return the exit status."""
    options = parse_options(arguments)
    stop = Stop()
    set_up(options)
    try:
        is_done = TrainingRun(options, read_base(options.base), stop).go()
    except (CheckpointError, DatasetError, DivergedError, WeightsError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if is_done else STOPPED


if __name__ == "__main__":
    sys.exit(main())
