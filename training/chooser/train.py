"""Train the chooser: whether a sentence is an order, and whether it orders exactly a call.

    python -m training.chooser.train FOLDER/train.jsonl.gz --base BASE --out RUN [--resume] …

BASE has `model.safetensors`, `config.json` and `vocab.txt` of a BERT encoder. RUN gets
`chooser.pt`, the network, and `checkpoint.pt`, what --resume needs; both are written each few
minutes, and at the end. A step has a batch of pairs, one of sentences and one of choices, so that
all end an epoch together. The loss of a choice is the cross entropy of the softmax over its calls'
scores and 0, which stands for none.

Needs training/requirements.txt. With the same machine, number of threads and options, the results
are bit-for-bit equal, with or without interruption by --resume. Ctrl-C saves and stops, and
`python -m training.pause RUN` makes the run wait.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from training.chooser.batches import DataError, Order, read_training_data
from training.chooser.network import (
    WEIGHTS,
    BaseError,
    describe,
    hash_file,
    load_chooser,
    load_run_file,
    make_chooser,
    read_vocabulary,
)
from training.pause import is_paused
from training.record import open_log
from training.schedule import Steps, learning_rate_factor
from training.stop import STOPPED, Stop
from training.torch_files import save_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from training.chooser.batches import Choices, Examples
    from training.chooser.network import Chooser

CHOOSER, CHECKPOINT, LOG = "chooser.pt", "checkpoint.pt", "log.jsonl"
FORMAT = 1
LATE_EXAMPLES = 512
"""Pairs whose late interaction before training is the zero of the scores."""

SEED_STRIDE = 1_000_003
"""Between the generators of two seeds: more than a run has steps."""

HEAD_FACTOR = 10.0
"""Learning rate of the heads, which are new, relative to the encoder's."""

MOOD_SMOOTHING = 0.05
"""Doubt in the labels of moods, so that templates are not learnt by heart."""

PAUSE_SECONDS = 1.0


class RunError(Exception):
    """A run can't begin or go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Parsed command line."""

    data: Path
    base: Path
    start: Path | None
    out: Path
    resume: bool
    steps: int | None
    epochs: float
    checkpoint_minutes: float
    log_steps: int
    threads: int
    seed: int
    batch: int
    learning_rate: float
    warmup: int
    fixed_layers: int
    clip: float
    bf16: bool

    def shaping(self) -> dict[str, object]:
        """Return the options that determine the result."""
        names = (
            "seed",
            "batch",
            "learning_rate",
            "warmup",
            "fixed_layers",
            "clip",
            "bf16",
            "threads",
        )
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Tally:
    """Losses and right answers of some steps."""

    steps: int = 0
    call_loss: float = 0.0
    mood_loss: float = 0.0
    calls_right: int = 0
    calls: int = 0
    moods_right: int = 0
    moods: int = 0
    choice_loss: float = 0.0
    choices_right: int = 0
    choices: int = 0


class Run:
    """A training run and its progress."""

    def __init__(self, options: Options, is_stopped: Callable[[], bool]) -> None:
        """Read data and base; begin, or resume from the checkpoint.

        Raises:
            BaseError, DataError: a file can't be read.
            RunError: the checkpoint is missing, in the way, or of another run.
        """
        self._options, self._is_stopped = options, is_stopped
        pieces = read_vocabulary(options.base)
        self._data = read_training_data(options.data, pieces)
        self._base_sha256 = hash_file(options.base / WEIGHTS)
        if options.start is None:
            self._chooser = make_chooser(options.base, options.seed)
        else:
            found = load_run_file(options.start)
            self._chooser = load_chooser(found["state"], found["config"])
        self._chooser.encoder.fix(options.fixed_layers)
        self._trained = {n: p for n, p in self._chooser.named_parameters() if p.requires_grad}
        self._optimiser = make_optimiser(self._trained, options.learning_rate)
        calls = self._data.calls
        self._calls = self._order(calls, "calls")
        self._moods = self._order(self._data.moods, "moods")
        self._choices = self._order(self._data.choices, "choices")
        self._plan = Steps(options.steps or max(1, round(options.epochs * self._calls.batches)))
        self._step, self._elapsed_before, self._tally = 0, 0.0, Tally()
        if options.resume:
            self._restore()
        elif (options.out / CHECKPOINT).exists():
            raise RunError(
                f"{options.out / CHECKPOINT} already exists; go on with --resume, or pass another "
                "--out"
            )
        elif options.start is None:
            self._chooser.late0 = measure_late(self._chooser, calls, self._calls)
        self._chooser.train()
        options.out.mkdir(parents=True, exist_ok=True)
        self._log = open_log(options.out / LOG, self._step + 1)
        self._began = self._saved = time.monotonic()

    def _order(self, examples: Examples | Choices, name: str) -> Order:
        """Return the batches of one kind, as many in an epoch as of pairs."""
        options = self._options
        share = max(1, round(options.batch * len(examples) / len(self._data.calls)))
        return Order(examples.lengths, batch=share, seed=options.seed, name=name)

    def go(self) -> bool:
        """Train until the end or until stopped; return whether the end was reached.

        Raises: RunError: the loss is not finite; the last checkpoint is kept.
        """
        options = self._options
        _say(
            f"{'Going on' if self._step else 'Beginning'} at step {self._step + 1} of "
            f"{self._plan.total}: {len(self._data.calls):,} pairs and {len(self._data.moods):,} "
            f"sentences, {len(self._data.choices):,} choices, {self._data.skipped} too long; "
            f"{sum(p.numel() for p in self._trained.values()):,} numbers to learn"
        )
        with self._log:
            while self._step < self._plan.total:
                self._wait_while_paused()
                if self._is_stopped():
                    self._save()
                    _say(f"Stopped after {self._step} steps; go on with --resume")
                    return False
                self._take_step()
                if self._step % options.log_steps == 0 or self._step == self._plan.total:
                    self._report()
                if time.monotonic() - self._saved > options.checkpoint_minutes * 60:
                    self._save()
            self._save()
        _say(f"Done after {self._step} steps: {options.out / CHOOSER}")
        return True

    def _take_step(self) -> None:
        options, data, tally = self._options, self._data, self._tally
        rate = options.learning_rate * learning_rate_factor(
            self._step,
            self._step / self._plan.total,
            warmup_steps=options.warmup,
            decay="linear",
        )
        # What is dropped is a function of seed and step, so that a resumed run drops the same.
        torch.manual_seed(options.seed * SEED_STRIDE + self._step)
        self._optimiser.zero_grad(set_to_none=True)
        calls, moods, choices = (
            order.batch(self._step) for order in (self._calls, self._moods, self._choices)
        )
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            scores = self._chooser.score_calls(data.calls.batch(calls))
        loss, right = _learn(scores, data.calls.label(calls))
        tally.call_loss, tally.calls_right = tally.call_loss + loss, tally.calls_right + right
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            scores = self._chooser.score_moods(data.moods.batch(moods))
        smooth = data.moods.label(moods) * (1 - MOOD_SMOOTHING) + MOOD_SMOOTHING / 2
        loss, right = _learn(scores, smooth)
        tally.mood_loss, tally.moods_right = tally.mood_loss + loss, tally.moods_right + right
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
            scores = self._chooser.score_calls(data.choices.batch(choices))
        table = data.choices.tabulate(scores.float(), choices)
        loss, right = _learn_choices(table, data.choices.label(choices, table.shape[1] - 1))
        tally.choice_loss, tally.choices_right = (
            tally.choice_loss + loss,
            tally.choices_right + right,
        )
        norm = float(torch.nn.utils.clip_grad_norm_([*self._trained.values()], options.clip))
        if not norm < float("inf"):
            raise RunError(
                f"the gradient's norm is {norm} at step {self._step}; resume from the last "
                "checkpoint with a lower --learning-rate"
            )
        for group in self._optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        self._optimiser.step()
        self._step += 1
        tally.steps += 1
        tally.calls += len(calls)
        tally.moods += len(moods)
        tally.choices += len(choices)

    def _report(self) -> None:
        """Write a line of the steps since the last one, to the log and the terminal."""
        tally, self._tally = self._tally, Tally()
        line = {
            "step": self._step,
            "call_loss": round(tally.call_loss / tally.steps, 4),
            "call_right": round(tally.calls_right / tally.calls, 4),
            "mood_loss": round(tally.mood_loss / tally.steps, 4),
            "mood_right": round(tally.moods_right / tally.moods, 4),
            "choice_loss": round(tally.choice_loss / tally.steps, 4),
            "choice_right": round(tally.choices_right / tally.choices, 4),
            "seconds": round(self._elapsed(), 1),
            "cpu_seconds": round(time.process_time(), 1),
        }
        self._log.write(json.dumps(line) + "\n")
        self._log.flush()
        left = self._plan.seconds_left(self._step, self._elapsed())
        _say(
            f"step {self._step}/{self._plan.total}  call {line['call_loss']:.3f} "
            f"{line['call_right']:.1%}  mood {line['mood_loss']:.3f} {line['mood_right']:.1%}  "
            f"choice {line['choice_loss']:.3f} {line['choice_right']:.1%}  "
            f"{left / 60:.0f} min left"
        )

    def _wait_while_paused(self) -> None:
        if not is_paused(self._options.out) or self._is_stopped():
            return
        began = time.monotonic()
        self._save()
        _say(
            f"Paused after {self._step} steps; go on with: "
            f"python -m training.pause {self._options.out} --end"
        )
        while is_paused(self._options.out) and not self._is_stopped():
            time.sleep(PAUSE_SECONDS)
        self._began += time.monotonic() - began

    def _elapsed(self) -> float:
        return self._elapsed_before + time.monotonic() - self._began

    def _save(self) -> None:
        """Write the checkpoint and the network."""
        facts = {"shaping": self._options.shaping(), "data_sha256": self._data.sha256}
        facts["base_sha256"] = self._base_sha256
        save_file(
            self._options.out / CHECKPOINT,
            {
                "format": FORMAT,
                "step": self._step,
                "total": self._plan.total,
                "elapsed_seconds": self._elapsed(),
                "trained": {name: one.detach() for name, one in self._trained.items()},
                "optimiser": self._optimiser.state_dict(),
                "late0": self._chooser.late0,
                "tally": [getattr(self._tally, name) for name in Tally.__slots__],
                **facts,
            },
        )
        save_file(
            self._options.out / CHOOSER,
            {
                "state": self._chooser.state_dict()
                | {"late0": torch.tensor(self._chooser.late0, dtype=torch.float64)},
                "config": describe(self._chooser)
                | {"step": self._step, "steps": self._plan.total}
                | facts,
            },
        )
        self._saved = time.monotonic()

    def _restore(self) -> None:
        path = self._options.out / CHECKPOINT
        found = load_run_file(path)
        ours: dict[str, object] = {
            "format": FORMAT,
            "total": self._plan.total,
            "shaping": self._options.shaping(),
            "data_sha256": self._data.sha256,
            "base_sha256": self._base_sha256,
        }
        for name, value in ours.items():
            if found[name] != value:
                raise RunError(
                    f"{path} was trained with {name} {found[name]!r}, not {value!r}; resume with "
                    "the same options and files, or pass another --out"
                )
        self._step, self._elapsed_before = found["step"], found["elapsed_seconds"]
        self._chooser.late0 = found["late0"]
        with torch.no_grad():
            for name, one in self._trained.items():
                one.copy_(found["trained"][name])
        self._optimiser.load_state_dict(found["optimiser"])
        self._tally = Tally(*found["tally"])


def make_optimiser(trained: Mapping[str, Any], learning_rate: float) -> torch.optim.AdamW:
    """Return an optimiser whose groups have a `factor` of the learning rate."""
    heads = [one for name, one in trained.items() if name.startswith("head_")]
    others = [one for name, one in trained.items() if not name.startswith("head_")]
    groups = [{"params": others, "factor": 1.0}, {"params": heads, "factor": HEAD_FACTOR}]
    return torch.optim.AdamW(groups, lr=learning_rate, weight_decay=0.01)


def measure_late(chooser: Chooser, calls: Examples, order: Order) -> float:
    """Return the mean late interaction of the first pairs."""
    with torch.no_grad():
        found: list[float] = []
        step = 0
        while len(found) < min(LATE_EXAMPLES, len(calls)):
            found += chooser.measure_late(calls.batch(order.batch(step))).tolist()
            step += 1
    return sum(found) / len(found)


def _learn(scores: torch.Tensor, labels: torch.Tensor) -> tuple[float, int]:
    """Add the gradients of a batch; return its mean loss and the number of right answers."""
    loss = functional.binary_cross_entropy_with_logits(scores.float(), labels)
    loss.backward()
    return loss.item(), int(((scores > 0) == (labels > 0.5)).sum())


def _learn_choices(table: torch.Tensor, rights: torch.Tensor) -> tuple[float, int]:
    """Add the gradients of a batch of choices; return its mean loss and the right answers."""
    loss = functional.cross_entropy(table, rights)
    loss.backward()
    return loss.item(), int((table.argmax(1) == rights).sum())


def main(arguments: Sequence[str] | None = None) -> int:
    """Train; return the exit status."""
    options = _parse(arguments)
    stop = Stop()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(mode=True)
    try:
        is_done = Run(options, stop).go()
    except (BaseError, DataError, RunError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if is_done else STOPPED


def _parse(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m training.chooser.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("data", type=Path, help="train.jsonl.gz of training.chooser.dataset")
    add("--base", type=Path, required=True, help="folder of the encoder")
    add("--start", type=Path, help="chooser.pt of a run to begin with; default: new heads")
    add("--out", type=Path, required=True, help="folder of the run")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add("--steps", type=int, help="number of steps; default: that of --epochs")
    add("--epochs", type=float, default=1.0, help="passes over the pairs (default: 1)")
    add("--checkpoint-minutes", type=float, default=5.0, help="between checkpoints (default: 5)")
    add("--log-steps", type=int, default=20, help="steps of a line of the log (default: 20)")
    add("--threads", type=int, default=1, help="threads of PyTorch (default: 1)")
    add("--seed", type=int, default=1, help="seed of heads and order (default: 1)")
    add("--batch", type=int, default=32, help="pairs of a step (default: 32)")
    add("--learning-rate", type=float, default=6e-5, help="of the encoder (default: 6e-5)")
    add("--warmup", type=int, default=100, help="steps of rising learning rate (default: 100)")
    add("--fixed-layers", type=int, default=3, help="lower layers not trained (default: 3)")
    add("--clip", type=float, default=1.0, help="largest norm of a gradient (default: 1)")
    add("--bf16", action="store_true", help="compute in bfloat16, faster on some processors")
    return Options(**vars(parser.parse_args(arguments)))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
