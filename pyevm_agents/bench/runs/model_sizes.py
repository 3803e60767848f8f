"""Token times of larger models: files with random weights, measured beside the model itself.

All models are loaded at once and timed in turns: a slow minute slows all alike. A term is the
difference between a longer and a shorter piece of work, over the difference in tokens.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.bench.inference.model_shapes import (
    QUANTISATION,
    SHAPES,
    ModelShape,
    count_shape_parameters,
    count_tensor_bytes,
)
from pyevm_agents.bench.inference.random_models import require_gguf, write_model
from pyevm_agents.bench.inference.synthetic_vocabulary import build_synthetic_vocabulary
from pyevm_agents.bench.measurement.intervals import divide_intervals, estimate_median
from pyevm_agents.bench.measurement.machine import describe_model
from pyevm_agents.bench.measurement.results import ModelSize
from pyevm_agents.bench.measurement.rounds import time_in_rounds, time_with_result
from pyevm_agents.bench.pricing.parity import get_reference_ns_per_gas
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.gguf.header import read_header
from pyevm_agents.reports.number_format import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from precompiles.language_model import Generation
    from pyevm_agents.bench.measurement.results import Yardstick
    from pyevm_agents.bench.measurement.rounds import BenchSettings

    Tokens = tuple[int, ...]

ROUNDS = 5
"""Samples of each term: a round with a model of 1.5 billion parameters takes 15 seconds."""

CONTEXT_TOKENS = 1_024

LONG_TOKENS, SHORT_TOKENS = 96, 32
"""Tokens of the prompts; terms hold for the longer one's length."""

SAID_TOKENS = 13
"""Tokens sampled one by one; the first costs only the prompt."""

FORCED_LONG, FORCED_SHORT = 8, 1
"""Repetitions of a literal of six words."""

VOCABULARY_BYTES = 16_000_000
"""Upper bound of a file's bytes beside its tensors: 151,936 tokens and their merges take 6 million
bytes.
"""

TERMS = ("cold", "warm", "sampled", "forced")

NS = 1e9
WORDS = "the quick brown fox jumps over the lazy dog and then sleeps for a while in the warm sun "
FREE = "start: /[^\\n]{4000}/\n"
"""No end within the requested length, and always many tokens to choose from."""

FLOAT32_KIND = 0
"""Type of norms and biases, in any quantisation. Source: ggml.h, `ggml_type`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """A measured model."""

    name: str
    model: LlamaModel
    parameters: int
    file_bytes: int
    quantisation: str


def measure_sizes(  # noqa: PLR0913 - each is told by its name
    setting: BenchSettings,
    yardsticks: Sequence[Yardstick],
    *,
    shapes: tuple[ModelShape, ...] = SHAPES,
    work: Path | None = None,
    rounds: int = ROUNDS,
    context_tokens: int = CONTEXT_TOKENS,
) -> tuple[ModelSize, ...]:
    """Measure models of other sizes beside the settings' own, which comes first.

    Input:
        yardsticks: references of parity; only those of our VM count.
        work: a folder that keeps the files for the next time; None for a temporary one.

    Raises:
        ConfigError: the `gguf` package is not installed, or the disk is too small (nothing is
        written), or an engine refuses a file.
        EngineFault: a model failed.
    """
    require_gguf()
    steps = len(shapes) + (1 + len(shapes)) * (1 + len(TERMS) * rounds)
    with open_work_folder(shapes, work) as folder, ExitStack() as models:
        setting.observer.begin_part("Models of other sizes", steps)
        subjects = [describe_own_model(setting.model)]
        for shape in shapes:
            path = ensure_model_file(shape, folder)
            model = models.enter_context(LlamaModel(path, context_tokens=context_tokens))
            subjects.append(
                ModelUnderTest(
                    name=shape.name,
                    model=model,
                    parameters=count_shape_parameters(shape),
                    file_bytes=path.stat().st_size,
                    quantisation=QUANTISATION,
                )
            )
            setting.observer.finish_step(f"{shape.name} is written")
        clocks = {}
        for subject in subjects:
            clocks[subject.name] = _TermTimer(subject.model)
            setting.observer.finish_step(f"{subject.name} is loaded")
        cases = {
            _name_case(name, term): partial(clock.time_term, term)
            for name, clock in clocks.items()
            for term in TERMS
        }
        seconds = time_in_rounds(setting, cases, rounds=rounds)
        references = get_reference_ns_per_gas(yardsticks)
        return tuple(_build_size(subject, seconds, references) for subject in subjects)


@contextmanager
def open_work_folder(shapes: Sequence[ModelShape], work: Path | None) -> Iterator[Path]:
    """Yield a folder with room for the models; a temporary one is always removed afterwards.

    Raises: ConfigError: there is too little room, or the folder cannot be created.
    """
    if work is not None:
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder {work} can't be made: {error.strerror}") from error
        require_room([shape for shape in shapes if not get_model_path(shape, work).exists()], work)
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="pyevm-agents-bench-") as folder:
        require_room(shapes, Path(folder))
        yield Path(folder)


def require_room(shapes: Sequence[ModelShape], folder: Path) -> None:
    """Check that a disk has room for the models.

    Raises: ConfigError: there is too little; names the needed bytes.
    """
    wanted = sum(count_tensor_bytes(shape) + VOCABULARY_BYTES for shape in shapes)
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise ConfigError(
            f"the models' files take {wanted:,} bytes, and {folder} has {free:,} free: make room, "
            "or set TMPDIR to another folder"
        )


def get_model_path(shape: ModelShape, folder: Path) -> Path:
    """Return the path of a model's file in a folder."""
    return folder / f"{shape.name}-{QUANTISATION}.gguf"


def ensure_model_file(shape: ModelShape, folder: Path) -> Path:
    """Return the path of a model's file; write the file if absent."""
    path = get_model_path(shape, folder)
    if not path.exists():
        vocabulary = build_synthetic_vocabulary(find_default_model(), shape.vocabulary_tokens)
        write_model(shape, path, vocabulary)
    return path


def describe_own_model(model: LlamaModel) -> ModelUnderTest:
    """Return the benchmark's own model, with the facts of the file."""
    description = describe_model(model)
    kinds = Counter(tensor.kind for tensor in read_header(model.path).tensors)
    kinds.pop(FLOAT32_KIND, None)
    common = kinds.most_common(1)
    return ModelUnderTest(
        name=description.name,
        model=model,
        parameters=description.parameters,
        file_bytes=description.file_bytes,
        quantisation=str(require_gguf().GGMLQuantizationType(common[0][0]).name)
        if common
        else "F32",
    )


class _TermTimer:
    """Times one model's terms."""

    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        tokens = model.tokenize((Segment(text=WORDS * LONG_TOKENS),))
        self._long, self._short = tokens[:LONG_TOKENS], tokens[:SHORT_TOKENS]
        self._literals = 0
        self._generate(self._short, FREE, 1)  # Loads the weights, and makes the engine's tables.

    def time_term(self, term: str) -> float:
        """Return the seconds of one more token."""
        work: Mapping[str, Callable[[], float]] = {
            "cold": lambda: self._time_reading(lambda _: self._model.forget()),
            "warm": lambda: self._time_reading(lambda prompt: self._generate(prompt, FREE, 1)),
            "sampled": self._time_sampled,
            "forced": self._time_forced,
        }
        return work[term]()

    def _time_reading(self, prepare: Callable[[Tokens], object]) -> float:
        times = []
        for prompt in (self._short, self._long):
            prepare(prompt)
            times.append(self._generate(prompt, FREE, 1)[0])
        return (times[1] - times[0]) / (LONG_TOKENS - SHORT_TOKENS)

    def _time_sampled(self) -> float:
        self._generate(self._long, FREE, 1)
        single_s, _ = self._generate(self._long, FREE, 1)
        many, generation = self._generate(self._long, FREE, SAID_TOKENS)
        return (many - single_s) / (len(generation.tokens) - 1)

    def _time_forced(self) -> float:
        """Force new literals, each followed by one sampled token.

        The sampled token makes the engine evaluate the literal.
        """
        times, forced = [], []
        for times_said in (FORCED_SHORT, FORCED_LONG):
            self._literals += 1
            text = f" {self._literals}" + " the quick brown fox jumps over" * times_said
            grammar = FREE.replace("start: ", f"start: {json.dumps(text)} ", 1)
            tokens = len(self._model.tokenize((Segment(text=text),)))
            self._generate(self._long, FREE, 1)
            seconds, generation = self._generate(self._long, grammar, tokens + 1)
            times.append(seconds)
            forced.append(generation.forced_tokens)
        return (times[1] - times[0]) / (forced[1] - forced[0])

    def _generate(self, prompt: Tokens, grammar: str, limit: int) -> tuple[float, Generation]:
        request = GenerationRequest(
            segments=(), prompt_tokens=prompt, grammar=grammar, max_tokens=limit
        )
        return time_with_result(lambda: self._model.generate(request))


def _name_case(model: str, term: str) -> str:
    return f"{model}: {term}"


def _build_size(
    subject: ModelUnderTest,
    seconds: Mapping[str, tuple[float, ...]],
    references: Mapping[str, Interval],
) -> ModelSize:
    ns = {
        term: _convert_to_ns(estimate_median(seconds[_name_case(subject.name, term)]))
        for term in TERMS
    }
    return ModelSize(
        name=subject.name,
        parameters=subject.parameters,
        file_bytes=subject.file_bytes,
        quantisation=subject.quantisation,
        ns=tuple(ns.items()),
        prompt_tokens=LONG_TOKENS,
        parity_gas=tuple(
            (
                reference,
                tuple((term, divide_intervals(interval, per_gas)) for term, interval in ns.items()),
            )
            for reference, per_gas in references.items()
        ),
    )


def _convert_to_ns(seconds: Interval) -> Interval:
    """Return nanoseconds, at least 0: the difference of two noisy times may be negative."""
    return Interval(
        middle=max(seconds.middle, 0.0) * NS,
        low=max(seconds.low, 0.0) * NS,
        high=max(seconds.high, 0.0) * NS,
    )
