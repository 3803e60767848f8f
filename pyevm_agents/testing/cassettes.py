"""Cassettes: generations of a real model in a test, replayed without the model.

    with cassette(chain, "cassettes/deposit.json"):  # replays it
        ...
    with cassette(chain, "cassettes/deposit.json", record=chain.genesis.weights()):  # records it
        ...

In pytest, `@pytest.mark.cassette` does both. A changed prompt, an unused step and another model are
failures: a cassette never guesses.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from precompiles.language_model import HasProfile
from pyevm_agents.config.chain_config import get_fingerprint
from pyevm_agents.errors import ConfigError, FixtureError, RecordError
from pyevm_agents.models import CachingModel
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from pyevm_agents.recordings.generation_codec import normalize_exchange
from pyevm_agents.testing.cassette_file import (
    Cassette,
    CassetteModel,
    read_cassette,
    write_cassette,
)
from pyevm_agents.testing.prompt_diff import diff_prompts, find_closest, format_end, join_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from precompiles.language_model import (
        Generation,
        GenerationRequest,
        LanguageModel,
        ModelIdentity,
        Segment,
    )
    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.testing.chain import AgentChain

RERECORD_HINT = "record it with the model"
"""The default next step in messages; the pytest plugin has a command."""


class CassetteError(RecordError):
    """A test that differs from the cassette; the message has the command that records again."""


@contextmanager
def cassette(
    chain: AgentChain, path: Path | str, *, record: LanguageModel | None = None, test: str = ""
) -> Iterator[None]:
    """Replay or record a cassette. If the body raises, no file is written.

    Input:  the chain; the file; the model to record, None to replay; the test's name, for the file.
    Raises: CassetteError: the file does not exist, was altered, or differs from the body's
            requests. ConfigError: the file can't be written, or the model to record is the test's
            own.
    """
    path = Path(path)
    if record is chain.model:
        raise ConfigError(
            "a cassette records a real model, not the test's own, which it stands in for: give "
            "chain.genesis.weights(), or mark the test with @pytest.mark.cassette"
        )
    if record is None:
        player = CassettePlayer(open_cassette(path), str(path))
        player.insert(chain)
        yield
        player.finish()
    else:
        recorder = CassetteRecorder(path, test=test)
        recorder.insert(chain, record)
        yield
        recorder.finish()


def open_cassette(path: Path, *, name: str = "", again: str = RERECORD_HINT) -> Cassette:
    """Read a cassette.

    Input:  the file; the name in messages, by default the path; the next step in messages.
    Raises: CassetteError: the file does not exist, or was altered.
    """
    name = name or str(path)
    if not path.is_file():
        raise CassetteError(f"there is no cassette {name}\nto make it, {again}")
    try:
        return read_cassette(path)
    except (ConfigError, FixtureError) as error:
        what = str(error).removeprefix(f"{path}: ")
        raise CassetteError(f"{name}: {what}\nget it from git, or {again}") from error


class CassettePlayer:
    """Replays a cassette on one or several chains."""

    def __init__(self, tape: Cassette, name: str, *, again: str = RERECORD_HINT) -> None:
        """Start before the first step.

        Input: the cassette; the name, and the next step, in messages.
        """
        self.tape = tape
        self.name = name
        self._rerecord_hint = again
        self._played: set[int] = set()

    def insert(self, chain: AgentChain) -> None:
        """Replace a chain's model with the cassette.

        Raises: CassetteError: the cassette was recorded with another model.
        """
        (profile,) = chain.chain.config.models
        recorded = {model.name: model.digest for model in self.tape.models}
        if recorded.get(profile.name) != profile.digest:
            raise self.build_error(
                "it was recorded with another model",
                "\n".join(f"-{name} 0x{digest.hex()}" for name, digest in recorded.items()),
                f"+{profile.name} 0x{profile.digest.hex()}",
            )
        chain.model.use_model(_PlaybackModel(self, profile.name))

    def finish(self) -> None:
        """Check that all steps were replayed.

        Raises: CassetteError: steps were not replayed; the message shows these.
        """
        steps = self.tape.exchanges
        left = [index for index in range(len(steps)) if index not in self._played]
        if not left:
            return
        parts = [f"{len(left)} of its {len(steps)} steps were not asked for"]
        for index in left:
            generation = steps[index].generation
            answer = "" if generation is None else format_end(generation.text)
            parts.append(
                f"step {index + 1}:\n{format_end(join_segments(steps[index].segments))}{answer}"
            )
        raise self.build_error(*parts)

    def build_error(self, *parts: str) -> CassetteError:
        """Return an error of several paragraphs, with the next step as the last line."""
        return CassetteError(
            "\n".join([f"{self.name}: {parts[0]}", *parts[1:], self._rerecord_line])
        )

    @property
    def _rerecord_line(self) -> str:
        return f"if that is right, {self._rerecord_hint}"

    # -- requests of the models -- #

    def get_steps(self, model: str) -> dict[int, Exchange]:
        """Return the exchanges of a model, by index."""
        steps = enumerate(self.tape.exchanges)
        return {index: step for index, step in steps if step.model == model}

    def mark_played(self, index: int) -> None:
        """Record that a step was replayed."""
        self._played.add(index)

    def build_prompt_error(self, model: str, segments: Sequence[Segment]) -> CassetteError:
        """Return an error with the difference of a prompt from the closest recorded one."""
        now, steps = join_segments(segments), self.get_steps(model)
        if not steps:
            return self.build_error(f"{model} said nothing in it, and is asked:", format_end(now))
        left = [index for index in steps if index not in self._played]
        places = left or list(steps)
        index = places[
            find_closest([join_segments(steps[place].segments) for place in places], now)
        ]
        diff = diff_prompts(join_segments(steps[index].segments), now)
        count = len(self.tape.exchanges)
        if not left:
            return self.build_error(
                f"all of its {count} steps were said, and one more is asked for; next to step "
                f"{index + 1}:",
                diff,
            )
        return self.build_error(
            f"the prompt of step {index + 1} of {count} is not what was recorded", diff
        )


class _PlaybackModel(RecordedModel):
    """One model's part of a cassette."""

    def __init__(self, player: CassettePlayer, name: str) -> None:
        self._player = player
        self._name = name
        steps = player.get_steps(name)
        super().__init__(steps.values())
        self._tokenized_places = {
            step.segments: place for place, step in steps.items() if step.grammar is None
        }
        self._generated_places = {
            (step.prompt_tokens, step.grammar): place
            for place, step in steps.items()
            if step.grammar is not None
        }

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the recorded tokens of a prompt.

        Raises: CassetteError: the prompt was not recorded.
        """
        try:
            tokens = super().tokenize(segments)
        except RecordError:
            raise self._player.build_prompt_error(self._name, segments) from None
        if segments in self._tokenized_places:
            self._player.mark_played(self._tokenized_places[segments])
        return tokens

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the recorded generation.

        Raises: CassetteError: the request was not recorded, or with fewer tokens.
        """
        place = self._generated_places.get((request.prompt_tokens, request.grammar))
        if place is None:
            raise self._build_grammar_error(request)
        try:
            generation = super().generate(request)
        except RecordError as error:
            raise self._player.build_error(str(error)) from None
        self._player.mark_played(place)
        return generation

    def _build_grammar_error(self, request: GenerationRequest) -> CassetteError:
        """Return an error with the difference of a grammar from the recorded one."""
        for place, step in self._player.get_steps(self._name).items():
            if step.prompt_tokens == request.prompt_tokens and step.grammar is not None:
                return self._player.build_error(
                    f"the prompt of step {place + 1} is the same, but what may be said to it is "
                    "not: its grammar changed",
                    diff_prompts(step.grammar, request.grammar),
                )
        return self._player.build_prompt_error(self._name, request.segments)


class CassetteRecorder:
    """Records a model's generations on one or several chains."""

    def __init__(
        self,
        path: Path,
        *,
        test: str = "",
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Start an empty cassette.

        Input: the file to write at the end; the test's name; a callback for lines of progress.
        """
        self.path = path
        self._test = test
        self._report = tell
        self._log: list[Exchange] = []
        self._models: dict[str, CassetteModel] = {}

    def insert(self, chain: AgentChain, model: LanguageModel) -> None:
        """Replace a chain's model with one that is recorded.

        Raises: CassetteError: the model is not the one in the chain's configuration.
        """
        config = chain.chain.config
        (profile,) = config.models
        facts: ModelIdentity | None = model.profile_facts if isinstance(model, HasProfile) else None
        if facts is not None and facts.digest != profile.digest:
            raise CassetteError(
                f"the model to record is 0x{facts.digest.hex()}, the chain's {profile.name} is "
                f"0x{profile.digest.hex()}: record with the chain's"
            )
        self._models[profile.name] = CassetteModel(name=profile.name, digest=profile.digest)
        inner_model = model if self._report is None else _ObservedModel(model, self._report)
        remembering = CachingModel(
            inner_model, digest=profile.digest, fingerprint=get_fingerprint(config, profile)
        )
        chain.model.use_model(RecordingModel(remembering, name=profile.name, log=self._log))

    def finish(self) -> bool:
        """Write the file; return whether the content changed.

        Raises: CassetteError: no model was used, or a model failed. ConfigError: the file can't be
                written.
        """
        steps = deduplicate_exchanges(self._log)
        if not steps:
            raise CassetteError(
                f"no model was asked for anything: there is nothing for {self.path}"
            )
        for step in steps:
            if step.grammar is not None and step.generation is None:
                raise CassetteError(
                    "the model failed over a prompt, which no cassette repeats; the prompt ends "
                    f"with\n{format_end(join_segments(step.segments))}"
                )
        models = tuple(self._models.values())
        tape = Cassette(test=self._test, models=models, exchanges=steps)
        return write_cassette(tape, self.path)


class _ObservedModel:
    """A model with lines of progress. Implements `LanguageModel`."""

    def __init__(self, model: LanguageModel, tell: Callable[[str], None]) -> None:
        self._model = model
        self._report = tell
        self._steps = 0

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return self._model.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        self._steps += 1
        self._report(f"step {self._steps}: reads {len(request.prompt_tokens):,} tokens")
        generation = self._model.generate(request)
        words = " ".join(generation.text.split())
        self._report(f"step {self._steps}: wrote {len(generation.tokens):,} tokens: {words}")
        return generation


def deduplicate_exchanges(log: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return each prompt once, with the longest generation, in the order of the first requests.

    A gas estimate, a call and the transaction have the same prompts, under different limits.
    """
    replies: dict[tuple[object, ...], Exchange] = {}
    read: dict[tuple[object, ...], Exchange] = {}
    order: dict[tuple[object, ...], None] = {}
    for exchange in log:
        prompt = (exchange.model, exchange.segments)
        if exchange.grammar is None:
            read.setdefault(prompt, exchange)
            order.setdefault(prompt)
            continue
        key = (*prompt, exchange.grammar)
        order.setdefault(key)
        known = replies.get(key)
        if known is None or _rank_exchange(exchange) > _rank_exchange(known):
            replies[key] = exchange
    worded = {(reply.model, reply.segments) for reply in replies.values()}
    exchanges = (
        replies[key] if key in replies else read[key] for key in order if key not in worded
    )
    return tuple(map(normalize_exchange, exchanges))


def _rank_exchange(exchange: Exchange) -> tuple[bool, int]:
    generation = exchange.generation
    if generation is None:
        return False, -1
    return generation.is_complete, len(generation.tokens)
