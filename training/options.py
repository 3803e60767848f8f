"""Options of a training run: the command line of `train`."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from training.gguf_weights import LAYER_LINEARS

if TYPE_CHECKING:
    from training.schedule import Decay

SHAPING = (
    "seed",
    "rank",
    "alpha",
    "layers",
    "parts",
    "dropout",
    "learning_rate",
    "weight_decay",
    "warmup",
    "decay",
    "clip",
    "batch_groups",
    "max_tokens",
)
"""Options that determine the result: a resumed run must have the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Parsed command line."""

    data: Path
    base: Path
    out: Path
    validation: Path | None
    validation_groups: int
    validate_every: int
    resume: bool
    start: Path | None
    steps: int | None
    minutes: float | None
    epochs: float
    replay: Path | None
    checkpoint_minutes: float
    device: str | None
    threads: int | None
    seed: int
    rank: int
    alpha: float
    layers: tuple[int, ...]
    parts: tuple[str, ...]
    dropout: float
    learning_rate: float
    weight_decay: float
    warmup: int
    decay: Decay
    clip: float
    batch_groups: int
    max_tokens: int

    def shaping(self) -> dict[str, object]:
        """Return the options that determine the result."""
        return {name: value for name, value in asdict(self).items() if name in SHAPING}


def parse_options(arguments: list[str] | None = None) -> Options:
    """Parse the command line; exit with a message if it is invalid."""
    parser = argparse.ArgumentParser(
        prog="python -m training.train",
        description="Train a LoRA adapter for the default model.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _add_files(parser)
    _add_ends(parser)
    _add_learning(parser)
    values = vars(parser.parse_args(arguments))
    return Options(**{field.name: values[field.name] for field in fields(Options)})


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", type=Path, help="JSON lines, gzipped or not; see training/packing.py")
    add("--base", type=Path, required=True, help="the model's GGUF file")
    add("--out", type=Path, required=True, help="folder for checkpoint.pt and log.jsonl")
    add("--resume", action="store_true", help="resume from the checkpoint in --out")
    add("--start", type=Path, help="start a new run with this checkpoint's or GGUF file's adapter")
    add("--validation", type=Path, help="held-out data, not trained on")
    add("--validation-groups", type=_count, default=16, help="groups of it to use")
    add("--validate-every", type=_count, default=50, metavar="STEPS", help="validation interval")
    add("--checkpoint-minutes", type=float, default=5.0, help="minutes between checkpoints")
    add("--device", help="cpu, cuda, cuda:1 (default: cuda if available, else cpu)")
    add("--threads", type=_count, help="CPU threads; affects results (default: PyTorch's)")


def _add_ends(parser: argparse.ArgumentParser) -> None:
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--epochs", type=float, default=1.0, help="passes over the data")
    ends.add_argument("--steps", type=_count, help="number of steps")
    ends.add_argument(
        "--minutes", type=float, help="duration, including time before --resume; see --replay"
    )
    ends.add_argument(
        "--replay", type=Path, metavar="LOG", help="repeat the steps of a run with --minutes"
    )


def _add_learning(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=int, default=1, help="of the adapter's beginning, the order, the dropout")
    add("--rank", type=_count, default=16, help="of the adapter's matrices")
    add("--alpha", type=float, default=32.0, help="the change is scaled by alpha / rank")
    add("--layers", type=_span, default=_span("0-29"), help="as 8-29: which are adapted")
    add("--parts", type=_parts, default=LAYER_LINEARS, help="as attn_q,attn_v: which matrices")
    add("--dropout", type=_share, default=0.0, help="share of inputs that the adapter misses")
    add("--learning-rate", type=float, default=8e-4, help="after the warm-up")
    add("--weight-decay", type=float, default=0.0, help="AdamW's")
    add("--warmup", type=int, default=20, metavar="STEPS", help="until the full learning rate")
    add("--decay", choices=("linear", "cosine"), default="linear", help="from there to zero")
    add("--clip", type=float, default=1.0, help="the most that the gradient's norm may be")
    add("--batch-groups", type=_count, default=2, help="groups of requests in a step")
    add("--max-tokens", type=_count, default=2048, help="of one sequence; a group may need several")


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be at least 1")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be from 0 to below 1")
    return value


def _span(text: str) -> tuple[int, ...]:
    first, _, last = text.partition("-")
    layers = tuple(range(int(first), int(last or first) + 1))
    if not layers:
        raise argparse.ArgumentTypeError(f"{text}: not a range of layers, such as 8-29")
    return layers


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    unknown = set(parts) - set(LAYER_LINEARS)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown matrices {sorted(unknown)}: must be of {', '.join(LAYER_LINEARS)}"
        )
    return tuple(part for part in LAYER_LINEARS if part in parts)
