"""A process with llama.cpp in any setting: `python -m benchmarks.probe`, for scripts.

The product's engine has one setting; this process measures others. It reads a `Setting` and then
requests as lines of JSON, and answers each with a line. `LLAMA_CPP_LIB_PATH` selects the build.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np

from benchmarks.llama_memory import Memory, Model, drop_log
from benchmarks.shapes import examine, fresh
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.llama.canary import compute_canary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


class CanaryContext:
    """The context of the product's canary: a text is continued, or saved."""

    def __init__(self, memory: Memory) -> None:
        """Evaluate in this memory."""
        self._memory = memory
        self._done: list[int] = []
        self._aside: tuple[list[int], bytes] = ([], b"")

    def forget(self) -> None:
        """Empty the memory."""
        self._memory.clear()
        self._done, self._aside = [], ([], b"")

    def evaluate(self, tokens: list[int]) -> NDArray[np.float32]:
        """Evaluate the new tokens in `tokens`, after a saved text if they start with it."""
        if tokens[: len(self._done)] != self._done:
            before, state = self._aside
            self._aside = (self._done, self._memory.save())
            self._memory.clear()
            self._done = []
            if before and tokens[: len(before)] == before:
                self._memory.restore(state)
                self._done = before
        self._memory.feed(tokens, len(self._done))
        self._done = list(tokens)
        return self._memory.logits().copy()


class Probe:
    """One model in one setting."""

    def __init__(self, setting: dict[str, Any]) -> None:
        """Load the model."""
        self._model = Model(
            setting["model"], extra_buffers=setting["extra_buffers"], adapter=setting["adapter"]
        )
        self._flash_attention: bool = setting["flash_attention"]
        self._memory = self._new_memory(threads=setting["threads"])

    def _new_memory(self, **options: Any) -> Memory:  # noqa: ANN401 - Memory's own options
        return Memory(self._model, flash_attention=self._flash_attention, **options)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        return OPERATIONS[question["ask"]](self, question)

    def system_info(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Return the build's description of itself."""
        return {"system_info": llama_cpp.llama_print_system_info().decode()}

    def reference(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the digests of the plainest shape, to compare this process with another."""
        prompts = self._prompts(question)
        return {"digests": [f"{i} {fresh(self._memory, p, [])}" for i, p in enumerate(prompts)]}

    def _prompts(self, question: dict[str, Any]) -> list[list[int]]:
        texts = [self._model.tokenize(text) for text in question["texts"]]
        return [text[:length] for text, length in zip(texts, question["lengths"], strict=True)]

    def shapes(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return each shape's digests, for all texts."""
        return {"digests": examine(self._memory, self._new_memory, self._prompts(question))}

    def canary(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Return whether the product's canary detects that this setting is not invariant."""
        started = time.perf_counter()
        try:
            digest = compute_canary(self._model, CanaryContext(self._memory))  # type: ignore[arg-type]
        except ConfigError as error:
            return {"refused": str(error), "seconds": time.perf_counter() - started}
        return {"digest": digest, "seconds": time.perf_counter() - started}

    def speed(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return seconds of each round's prefill and decode."""
        text = self._model.tokenize(question["text"])
        tokens = (text * (1 + question["prompt_tokens"] // len(text)))[: question["prompt_tokens"]]
        memory = self._memory
        memory.feed(tokens[:8])
        prefill, decode = [], []
        for _ in range(question["rounds"]):
            memory.clear()
            started = time.perf_counter()
            memory.feed(tokens)
            middle = time.perf_counter()
            for number in range(question["output_tokens"]):
                token = int(memory.logits().argmax())
                memory.decode([(token, len(tokens) + number, 0)])
            prefill.append(middle - started)
            decode.append(time.perf_counter() - middle)
        memory.clear()
        return {"prefill": prefill, "decode": decode, "prompt_tokens": len(tokens)}

    def generate(self, question: dict[str, Any]) -> dict[str, Any]:
        """Continue a text greedily; write each step's logits to a file."""
        prompt = self._model.tokenize(question["text"])
        memory, tokens, margins = self._memory, list(prompt), []
        memory.clear()
        memory.feed(tokens)
        seen = []
        for _ in range(question["max_tokens"]):
            logits = memory.logits().copy()
            seen.append(logits)
            second, best = np.partition(logits, -2)[-2:]
            margins.append(float(best - second))
            tokens.append(int(logits.argmax()))
            memory.feed(tokens, len(tokens) - 1)
        np.save(question["file"], np.array(seen))
        return {"prompt": prompt, "output": tokens[len(prompt) :], "margins": margins}

    def follow(self, question: dict[str, Any]) -> dict[str, Any]:
        """Follow another build's generation until this one would choose another token."""
        seen = np.load(question["file"], mmap_mode="r")
        memory, tokens = self._memory, list(question["prompt"])
        memory.clear()
        memory.feed(tokens)
        differences: list[float] = []
        for step, token in enumerate(question["output"]):
            logits = memory.logits()
            differences.append(float(np.abs(logits - seen[step]).max()))
            if int(logits.argmax()) != token:
                return {"differs_at": step, "differences": differences}
            tokens.append(token)
            memory.feed(tokens, len(tokens) - 1)
        return {"differs_at": None, "differences": differences}


OPERATIONS: Mapping[str, Callable[[Probe, dict[str, Any]], dict[str, Any]]] = {
    "system_info": Probe.system_info,
    "reference": Probe.reference,
    "shapes": Probe.shapes,
    "canary": Probe.canary,
    "speed": Probe.speed,
    "generate": Probe.generate,
    "follow": Probe.follow,
}


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    llama_cpp.llama_log_set(drop_log, ctypes.c_void_p(0))
    libraries = os.environ.get("LLAMA_CPP_LIB_PATH")
    if libraries is not None and not Path(libraries).is_dir():
        raise SystemExit(f"LLAMA_CPP_LIB_PATH names no folder: {libraries}")
    probe = Probe(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        answers.write(json.dumps(probe.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
