"""A training run: from options and an optional checkpoint, step by step, to the last checkpoint."""

from __future__ import annotations

import hashlib
import math
import time
from typing import TYPE_CHECKING

import torch

from training import checkpoint
from training.checkpoint import Checkpoint, CheckpointError
from training.gguf_weights import read_adapter
from training.learner import Learner, batch_of
from training.lora import LoraShape, adapter_of, new_adapter
from training.packing import read_dataset
from training.pause import is_paused
from training.record import Record
from training.schedule import Minutes, Steps, learning_rate_factor, read_replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from training.gguf_weights import BaseWeights
    from training.lora import Adapter
    from training.options import Options
    from training.packing import Dataset, Group
    from training.schedule import Plan

CHECKPOINT = "checkpoint.pt"
LOG = "log.jsonl"
PAUSE_SECONDS = 1.0
"""Interval at which a paused run looks whether it may go on."""


class TrainingRun:
    """A training run and its progress."""

    def __init__(
        self, options: Options, weights: BaseWeights, is_stopped: Callable[[], bool]
    ) -> None:
        """Read the data; start a new run or resume from the checkpoint.

        Raises:
            DatasetError: a dataset can't be read.
            CheckpointError: the checkpoint is missing, in the way, or of another run.
            ValueError: the options do not fit the base, or the log to replay is incomplete.
        """
        self._options = options
        self._weights = weights
        self._is_stopped = is_stopped
        self._device = torch.device(options.device or _best_device())
        vocabulary_tokens = weights.shape.vocabulary_tokens
        self._data = read_dataset(options.data, vocabulary_tokens=vocabulary_tokens)
        self._held_out: tuple[Group, ...] = ()
        if options.validation is not None:
            held_out = read_dataset(options.validation, vocabulary_tokens=vocabulary_tokens)
            self._held_out = held_out.groups[: options.validation_groups]
        self._plan = _plan_of(options, self._data)
        found = self._found()
        self._step = found.step if found else 0
        self._elapsed_before = found.elapsed_seconds if found else 0.0
        adapter, self._start_sha256 = self._first_adapter(found)
        self._learner = Learner(
            weights.to(self._device),
            adapter,
            max_tokens=options.max_tokens,
            clip=options.clip,
            weight_decay=options.weight_decay,
            dropout=options.dropout,
            device=self._device,
        )
        if found is None:
            torch.manual_seed(options.seed)
        else:
            self._learner.restore_optimiser(found.optimiser)
            self._set_random_state(found.random_state)
        self._record = Record(options.out / LOG, steps_done=self._step)
        self._began = self._saved = time.monotonic()

    def go(self) -> bool:
        """Train until the end or until stopped; return whether the end was reached.

        Raises:
            DivergedError: the loss is not finite. The last checkpoint is kept.
        """
        self._record.say(self._opening())
        try:
            while (progress := self._plan.progress(self._step, self._elapsed())) < 1:
                self._wait_while_paused()
                if self._step % self._options.validate_every == 0:
                    self._validate()
                if not self._take_step(progress):
                    return self._stop()
                if time.monotonic() - self._saved > self._options.checkpoint_minutes * 60:
                    self._save()
            self._save()
            self._validate()
            self._record.say(
                f"Done after {self._step} steps; make it GGUF with: "
                f"python -m training.export {self._path} adapter.gguf"
            )
        finally:
            self._record.close()
        return True

    def _wait_while_paused(self) -> None:
        """Save, and wait until the file `pause` in --out is gone or the run is stopped."""
        if not is_paused(self._options.out) or self._is_stopped():
            return
        began = time.monotonic()
        self._save()
        self._record.say(
            f"Paused after {self._step} steps; go on with: "
            f"python -m training.pause {self._options.out} --end"
        )
        while is_paused(self._options.out) and not self._is_stopped():
            time.sleep(PAUSE_SECONDS)
        self._began += time.monotonic() - began
        self._saved = time.monotonic()

    def _take_step(self, progress: float) -> bool:
        options, began = self._options, time.monotonic()
        before = self._random_state()
        rate = options.learning_rate * learning_rate_factor(
            self._step, progress, warmup_steps=options.warmup, decay=options.decay
        )
        indices = batch_of(
            self._step,
            count=len(self._data.groups),
            batch=options.batch_groups,
            seed=options.seed,
        )
        groups = [self._data.groups[index] for index in indices]
        outcome = self._learner.step(groups, rate, self._is_stopped)
        if outcome is None:
            self._set_random_state(before)
            return False
        self._step += 1
        self._record.step(
            self._step - 1,
            outcome,
            progress=progress,
            learning_rate=rate,
            seconds=time.monotonic() - began,
            elapsed_seconds=self._elapsed(),
            seconds_left=self._plan.seconds_left(self._step, self._elapsed()),
        )
        return True

    def _validate(self) -> None:
        if self._held_out:
            outcome = self._learner.validate(self._held_out, self._is_stopped)
            if outcome is not None:
                self._record.validation(self._step, outcome)

    def _stop(self) -> bool:
        self._save()
        self._record.say(
            f"Stopped after {self._step} steps, which are in {self._path}; go on with the same "
            "command and --resume"
        )
        return False

    def _opening(self) -> str:
        parameters = sum(matrix.numel() for matrix in self._learner.adapter.parameters())
        requests = sum(len(group.requests) for group in self._data.groups)
        return (
            f"{'Going on' if self._step else 'Beginning'} at step {self._step + 1} on "
            f"{self._device} ({torch.get_num_threads()} threads): {len(self._data.groups):,} "
            f"groups of {requests:,} requests, {parameters:,} numbers to learn"
        )

    @property
    def _path(self) -> Path:
        return self._options.out / CHECKPOINT

    def _elapsed(self) -> float:
        return self._elapsed_before + time.monotonic() - self._began

    def _found(self) -> Checkpoint | None:
        """Return the checkpoint to resume from, or None for a new run."""
        if not self._options.resume:
            if self._path.exists():
                raise CheckpointError(
                    f"{self._path} already exists; resume with --resume, or pass another --out"
                )
            return None
        found = checkpoint.load(self._path)
        for name, value in self._options.shaping().items():
            if found.shaping[name] != value:
                raise CheckpointError(
                    f"{self._path} was trained with {name} {found.shaping[name]!r}, not {value!r}; "
                    "resume with the same options, or pass another --out"
                )
        for what, theirs, ours in (
            ("base", found.base_sha256, self._weights.sha256),
            ("dataset", found.data_sha256, self._data.sha256),
        ):
            if theirs != ours:
                raise CheckpointError(
                    f"{self._path} was trained on a {what} with SHA-256 {theirs}, not {ours}; "
                    "resume with the same files, or pass another --out"
                )
        return found

    def _first_adapter(self, found: Checkpoint | None) -> tuple[Adapter, str]:
        options = self._options
        if max(options.layers) >= self._weights.shape.layers:
            raise ValueError(
                f"invalid --layers {max(options.layers)}: the base has layers 0 to "
                f"{self._weights.shape.layers - 1}"
            )
        shape = LoraShape(
            rank=options.rank, alpha=options.alpha, layers=options.layers, parts=options.parts
        )
        if found is not None:
            return adapter_of(shape, found.adapter, self._device), found.start_sha256
        if options.start is None:
            return new_adapter(self._weights, shape, options.seed, self._device), ""
        start = read_start(options.start)
        return adapter_of(shape, start, self._device), digest_of(start)

    def _save(self) -> None:
        checkpoint.save(
            Checkpoint(
                step=self._step,
                elapsed_seconds=self._elapsed(),
                adapter=self._learner.adapter.tensors(),
                optimiser=self._learner.optimiser_state(),
                random_state=self._random_state(),
                shaping=self._options.shaping(),
                base_sha256=self._weights.sha256,
                base_name=self._weights.name,
                base_licence=self._weights.licence,
                data_sha256=self._data.sha256,
                start_sha256=self._start_sha256,
            ),
            self._path,
        )
        self._saved = time.monotonic()

    def _random_state(self) -> torch.Tensor:
        if self._device.type == "cuda":
            return torch.cuda.get_rng_state(self._device)
        return torch.get_rng_state()

    def _set_random_state(self, state: torch.Tensor) -> None:
        if self._device.type == "cuda":
            torch.cuda.set_rng_state(state, self._device)
        else:
            torch.set_rng_state(state)


def read_start(path: Path) -> Mapping[str, torch.Tensor]:
    """Read the adapter of a checkpoint or of a GGUF file.

    Raises:
        CheckpointError: the file is not a checkpoint.
        WeightsError: the GGUF file is not an adapter.
    """
    if path.suffix == ".gguf":
        return read_adapter(path)
    return checkpoint.load(path).adapter


def digest_of(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of an adapter's numbers."""
    hasher = hashlib.sha256()
    for name in sorted(tensors):
        hasher.update(name.encode() + b"\0" + tensors[name].cpu().numpy().tobytes())
    return hasher.hexdigest()


def _best_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _plan_of(options: Options, data: Dataset) -> Plan:
    if options.minutes is not None:
        return Minutes(options.minutes)
    if options.replay is not None:
        return read_replay(options.replay)
    if options.steps is not None:
        return Steps(options.steps)
    return Steps(math.ceil(options.epochs * len(data.groups) / options.batch_groups))
