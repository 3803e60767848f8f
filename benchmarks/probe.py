"""A process with llama.cpp in it that takes any setting: `python -m benchmarks.probe`, for scripts.

The product's engine has one setting; this one is for measuring what another one would do. It reads
a `Setting` and then questions as lines of JSON, and answers each with a line. `LLAMA_CPP_LIB_PATH`
says which build is loaded.
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

from benchmarks.shapes import examine, fresh
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.canary import canary, logits_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

MAX_BATCH = 512
CLEARED, WITHOUT_ENDS, PLAIN = True, False, False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silent(_level: int, _text: bytes, _user_data: object) -> None:
    """Drop what llama.cpp logs."""


class Model:
    """A model's weights, and what the canary asks of them."""

    def __init__(self, path: str, *, extra_buffers: bool, adapter: str = "") -> None:
        """Load a file, with an adapter if one is named.

        Input:
            extra_buffers: lets REPACK lay out its weights anew.
        """
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = 0
        parameters.use_extra_bufts = extra_buffers
        self.model: Any = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not self.model:
            raise RuntimeError(f"llama.cpp does not load {path}")
        self.adapter: Any = None
        if adapter:
            self.adapter = llama_cpp.llama_adapter_lora_init(self.model, adapter.encode())
            if not self.adapter:
                raise RuntimeError(f"llama.cpp does not load {adapter}")
        self.vocab: Any = llama_cpp.llama_model_get_vocab(self.model)
        self.vocabulary_tokens: int = llama_cpp.llama_vocab_n_tokens(self.vocab)

    def metadata(self, key: str) -> str:
        """Return an entry of the file's metadata as text, or an empty text."""
        buffer = ctypes.create_string_buffer(256)
        length = llama_cpp.llama_model_meta_val_str(self.model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def tokens_of(self, text: str, *, parse_special: bool = PLAIN) -> list[int]:
        """Return the tokens of a text."""
        data = text.encode()
        buffer = (llama_cpp.llama_token * (len(data) + 16))()
        count = llama_cpp.llama_tokenize(
            self.vocab, data, len(data), buffer, len(buffer), WITHOUT_ENDS, parse_special
        )
        return list(buffer[:count])


class Memory:
    """llama.cpp's context: one or several sequences of tokens."""

    def __init__(  # noqa: PLR0913 - what llama.cpp's parameters are
        self,
        model: Model,
        *,
        flash_attention: bool,
        sequences: int = 1,
        unified: bool = False,
        tokens: int = 1024,
        threads: int = 1,
    ) -> None:
        """Make room for `tokens` tokens in each sequence."""
        self.model = model
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = tokens * sequences
        parameters.n_batch = parameters.n_ubatch = MAX_BATCH
        parameters.n_seq_max = sequences
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
            if flash_attention
            else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        parameters.offload_kqv = parameters.op_offload = False
        parameters.kv_unified = unified
        parameters.swa_full = True
        parameters.no_perf = True
        self.context: Any = llama_cpp.llama_init_from_model(model.model, parameters)
        if not self.context:
            raise RuntimeError("llama.cpp makes no context")
        if model.adapter is not None:
            adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(model.adapter)
            llama_cpp.llama_set_adapters_lora(self.context, adapters, 1, (ctypes.c_float * 1)(1.0))
        self._memory = llama_cpp.llama_get_memory(self.context)
        self._batch = llama_cpp.llama_batch_init(MAX_BATCH, 0, 1)

    def close(self) -> None:
        """Give the memory back."""
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self.context)

    def set_threads(self, threads: int) -> None:
        """Use this many threads from now on."""
        llama_cpp.llama_set_n_threads(self.context, threads, threads)

    def clear(self) -> None:
        """Forget all sequences."""
        llama_cpp.llama_memory_clear(self._memory, CLEARED)

    def cut(self, position: int, sequence: int = 0) -> None:
        """Forget a sequence from a position on."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, sequence, position, -1):
            raise RuntimeError(f"llama.cpp does not cut at {position}")

    def decode(self, rows: list[tuple[int, int, int]], wanted: int = -1) -> None:
        """Evaluate rows of token, position and sequence at once; `wanted` gives logits."""
        batch = self._batch
        batch.n_tokens = len(rows)
        wanted %= len(rows)
        for index, (token, position, sequence) in enumerate(rows):
            batch.token[index] = token
            batch.pos[index] = position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = index == wanted
        status = llama_cpp.llama_decode(self.context, batch)
        if status != 0:
            raise RuntimeError(f"llama_decode returned {status}")

    def feed(
        self, tokens: list[int], start: int = 0, *, batch: int = MAX_BATCH, sequence: int = 0
    ) -> None:
        """Evaluate `tokens[start:]` in batches."""
        for first in range(start, len(tokens), batch):
            piece = tokens[first : first + batch]
            self.decode([(token, first + i, sequence) for i, token in enumerate(piece)])

    def logits(self) -> NDArray[np.float32]:
        """Return the logits that the last evaluation gave, as a view."""
        pointer = llama_cpp.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(pointer, (self.model.vocabulary_tokens,))

    def digest(self) -> str:
        """Return a short digest of the last logits."""
        return logits_digest(self.logits())[:16]

    def save(self, sequence: int = 0) -> bytes:
        """Return a sequence's state."""
        size = llama_cpp.llama_state_seq_get_size(self.context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        count = llama_cpp.llama_state_seq_get_data(self.context, buffer, size, sequence)
        return bytes(buffer)[:count]

    def restore(self, state: bytes, sequence: int = 0) -> None:
        """Put a saved state into a sequence."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if llama_cpp.llama_state_seq_set_data(self.context, buffer, len(state), sequence) == 0:
            raise RuntimeError("llama.cpp does not restore the state")


class CanaryContext:
    """What the product's canary needs of a context: one text goes on, or is set aside."""

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
        """Evaluate what is new in `tokens`, after what was set aside if it begins so."""
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
        """Do what a question asks."""
        return OPERATIONS[question["ask"]](self, question)

    def system_info(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Say what the build says of itself."""
        return {"system_info": llama_cpp.llama_print_system_info().decode()}

    def reference(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the digests of the plainest shape: to compare this process with another."""
        prompts = self._prompts(question)
        return {"digests": [f"{i} {fresh(self._memory, p, [])}" for i, p in enumerate(prompts)]}

    def _prompts(self, question: dict[str, Any]) -> list[list[int]]:
        texts = [self._model.tokens_of(text) for text in question["texts"]]
        return [text[:length] for text, length in zip(texts, question["lengths"], strict=True)]

    def shapes(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return each shape's digests, of all texts."""
        return {"digests": examine(self._memory, self._new_memory, self._prompts(question))}

    def canary(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Say whether the product's canary sees that this setting is not invariant."""
        started = time.perf_counter()
        try:
            digest = canary(self._model, CanaryContext(self._memory))  # type: ignore[arg-type]
        except ConfigError as error:
            return {"refused": str(error), "seconds": time.perf_counter() - started}
        return {"digest": digest, "seconds": time.perf_counter() - started}

    def speed(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return seconds of each round's prefill and decode."""
        text = self._model.tokens_of(question["text"])
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
        """Continue a text greedily; leave each step's logits in a file."""
        prompt = self._model.tokens_of(question["text"])
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
        """Go along another build's generation until this one would choose another token."""
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
    """Answer questions until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
    libraries = os.environ.get("LLAMA_CPP_LIB_PATH")
    if libraries is not None and not Path(libraries).is_dir():
        raise SystemExit(f"LLAMA_CPP_LIB_PATH names no folder: {libraries}")
    probe = Probe(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        answers.write(json.dumps(probe.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
