"""Circumstances of a generation: computed, cut, killed or reverted work before it."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from eth_abi import encode
from eth_utils import to_checksum_address

from benchmarks.cases import MAX_OUTPUT_TOKENS, Case
from precompiles.abi import RUN_NEXT_ITERATION_SELECTOR
from precompiles.language_model import Generation, GenerationRequest
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.chain import Call
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, create_funded_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import EngineFault
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.fakes.recorded import Exchange, RecordingModel

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from precompiles.language_model import ModelProfile
    from pyevm_agents.models import ProfileFacts

INTERRUPTED = 0.1
"""Share of cut generations with another prompt between the two halves."""

KEPT_BYTES = (2**32, 2**28)
"""Bounds of an engine's saved prompts: one keeps all, one must evict."""

Pair = tuple[GenerationRequest, Generation]
"""A request and its generation."""


class Bench:
    """One engine process, a chain on top of it, and the circumstances of a generation."""

    def __init__(self, path: Path | None, number: int = 0, *, adapter: Path | None = None) -> None:
        """Start an engine on one thread. Engines of other numbers keep more or fewer prompts."""
        kept_bytes = KEPT_BYTES[number % len(KEPT_BYTES)]
        self.model = LlamaModel(path, adapter=adapter, threads=1, prefix_cache_bytes=kept_bytes)
        self._seen: list[Exchange] = []
        self.profile = soak_profile(self.model.profile_facts)
        recording = RecordingModel(self.model, name=self.profile.name, log=self._seen)
        self.chain = create_funded_chain(recording, self.model.profile_facts, self.profile)

    def __enter__(self) -> Self:
        """Return the bench itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the engine."""
        self.model.close()

    def generate_again(self, it: Case, _chance: random.Random) -> list[Pair]:
        """Generate after any other work."""
        return [(it.request, self.model.generate(it.request))]

    def cut_generation(self, it: Case, chance: random.Random) -> list[Pair]:
        """Generate under a lower limit."""
        lower = replace(it.request, max_tokens=chance.randint(1, it.request.max_tokens))
        return [(lower, self.model.generate(lower))]

    def resume_generation(self, it: Case, chance: random.Random) -> list[Pair]:
        """Cut it, generate another text or not, and resume from the cut."""
        lower = replace(it.request, max_tokens=chance.randint(1, it.request.max_tokens))
        known = self.model.generate(lower)
        pairs = [(lower, known)]
        if chance.random() < INTERRUPTED:
            self.model.generate(replace(it.request, prompt_tokens=it.request.prompt_tokens[::-1]))
        if not known.is_complete:
            pairs.append((it.request, self.model.resume(it.request, known)))
        return pairs

    def empty_memory(self, it: Case, chance: random.Random) -> list[Pair]:
        """Clear the memory first."""
        self.model.forget()
        return self.generate_again(it, chance)

    def kill_engine(self, it: Case, chance: random.Random) -> list[Pair]:
        """Kill the engine's process before the end, then generate with its successor."""
        process_id = self.model.engine.process_id
        if process_id is not None:
            killer = threading.Timer(chance.random() / 2, os.kill, (process_id, signal.SIGKILL))
            killer.start()
            with suppress(EngineFault):
                self.model.generate(it.request)
            killer.join()
        with suppress(
            EngineFault
        ):  # Where it was done before it was killed, this one meets its end.
            return self.generate_again(it, chance)
        return self.generate_again(it, chance)

    def call_precompile(self, it: Case, _chance: random.Random) -> list[Pair]:
        """Generate through the precompile."""
        call = _call(it)
        return self._watch(lambda: self.chain.call(call))

    def run_out_of_gas(self, it: Case, chance: random.Random) -> list[Pair]:
        """Generate through the precompile with too little gas, then with enough."""
        call, price = _call(it), self.profile.output_token_gas
        limit = chance.randint(1, it.request.max_tokens)
        needed = self.chain.call(call).gas_used
        too_low = replace(call, gas=needed - price * limit)
        return self._watch(lambda: (self.chain.call(too_low), self.chain.call(call)))

    def revert_block(self, it: Case, _chance: random.Random) -> list[Pair]:
        """Mine it in a block, revert to the block before, and mine it again."""
        data, account = _call(it).data, LocalAccount(self.chain)

        def mine_twice() -> None:
            for _ in range(2):
                before = self.chain.snapshot()
                account.send(EXECUTOR_ADDRESS, data)
                self.chain.revert(before)

        return self._watch(mine_twice)

    def _watch(self, act: Callable[[], object]) -> list[Pair]:
        self._seen.clear()
        act()
        return [
            (
                GenerationRequest(
                    segments=seen.segments,
                    prompt_tokens=seen.prompt_tokens,
                    grammar=seen.grammar or "",
                    max_tokens=seen.max_tokens or 0,
                ),
                seen.generation,
            )
            for seen in self._seen
            if seen.generation is not None
        ]


CIRCUMSTANCES: Mapping[str, tuple[float, Callable[[Bench, Case, random.Random], list[Pair]]]] = {
    "after others": (24, Bench.generate_again),
    "under a lower limit": (10, Bench.cut_generation),
    "cut, then resumed": (40, Bench.resume_generation),
    "memory emptied": (0.1, Bench.empty_memory),
    "engine killed, then again": (0.1, Bench.kill_engine),
    "through the precompile": (10, Bench.call_precompile),
    "out of gas, then again": (7, Bench.run_out_of_gas),
    "in a reverted block": (8, Bench.revert_block),
}
"""Name to percentage and method. Circumstances that empty the memory are rare, as the soak tests
reuse. For prompts that no contract makes, those of the chain stand for a plain, a cut and a resumed
one, and are counted as those.
"""

PLAIN = {
    "through the precompile": "after others",
    "out of gas, then again": "under a lower limit",
    "in a reverted block": "cut, then resumed",
}


def soak_profile(facts: ProfileFacts) -> ModelProfile:
    """Return the model's profile with the soak's output limit."""
    return replace(build_model_profile(facts), max_output_tokens=MAX_OUTPUT_TOKENS)


def _call(it: Case) -> Call:
    iteration = it.iteration
    if iteration is None:
        raise ValueError(f"case {it.number} is a prompt that no contract makes")
    types = ["string", "string", "address[]", "string[]", "string[]", "string"]
    body = encode(
        types,
        [
            iteration.model_id,
            iteration.base_prompt,
            [to_checksum_address(tool) for tool in iteration.tools],
            iteration.agent_reasoning,
            iteration.tool_results,
            iteration.prompt,
        ],
    )
    return Call(
        to=EXECUTOR_ADDRESS,
        sender=DEVELOPMENT_ADDRESS,
        data=RUN_NEXT_ITERATION_SELECTOR + body,
    )
