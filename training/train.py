"""Train a LoRA adapter for the default model on ReAct runs.

    python -m training.train DATA --base MODEL.gguf --out FOLDER [--minutes M] [--resume] …

Needs PyTorch, gguf and numpy, but not pyevm_agents. With the same machine, number of threads and
options, the results on a CPU are bit-for-bit equal, with or without interruption by --resume.
`python -m training.export` converts the checkpoint to GGUF.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch

from training.checkpoint import CheckpointError
from training.gguf_weights import WeightsError, read_base
from training.learner import DivergedError
from training.options import parse_options
from training.packing import DatasetError
from training.stop import STOPPED, Stop
from training.training_run import TrainingRun

if TYPE_CHECKING:
    from training.options import Options


def set_up(options: Options) -> None:
    """Configure PyTorch to be deterministic, where possible, and fast."""
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    # Some kernels are not deterministic on a GPU; all are on a CPU.
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    # On a GPU: float32 products in TF32, several times as fast, with 10 bits of mantissa.
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
