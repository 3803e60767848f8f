"""llama.cpp called in other ways than ours, in a process of its own, as a comparison.

Reads jobs as lines of JSON from stdin and answers each with a line on stdout. See `inference.py`
and `adapter_cost.py` in this folder.
"""

from __future__ import annotations

import json
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llama_cpp

from pyevm_agents.models.decoding.guided import GuidedDecoder
from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter
from pyevm_agents.models.gguf.adapter import read_adapter
from pyevm_agents.models.llama.bindings import Llama
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS
from pyevm_agents.models.llama.context import LlamaContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

Job = dict[str, Any]


class Timed:
    """An evaluator that records its time and its pieces."""

    def __init__(self, context: LlamaContext) -> None:
        """Wrap a context."""
        self.context = context
        self.seconds = 0.0
        self.pieces: list[int] = []
        self._done = 0

    def evaluate(
        self, tokens: list[int], report: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return the context's logits."""
        self.pieces.append(len(tokens) - self._done)
        self._done = len(tokens)
        started = time.perf_counter()
        logits = self.context.evaluate(tokens, report)
        self.seconds += time.perf_counter() - started
        return logits


@cache
def load_model(
    path: str, adapter: str, threads: int, context_tokens: int
) -> tuple[Llama, LlamaContext]:
    """Load a model with our own settings, once; an empty text means no adapter."""
    llama = Llama(
        path,
        vocabulary_only=False,
        adapter=read_adapter(Path(adapter)) if adapter else None,
    )
    return llama, LlamaContext(llama, threads=threads, context_tokens=context_tokens)


def load_job_model(job: Job) -> tuple[Llama, LlamaContext]:
    """Return a job's model and context, loaded."""
    return load_model(job["path"], job["adapter"], job["threads"], job["context_tokens"])


@cache
def load_plain_model(path: str, adapter: str, context_tokens: int) -> llama_cpp.Llama:
    """Load a model with llama-cpp-python's defaults, once."""
    return llama_cpp.Llama(path, n_ctx=context_tokens, lora_path=adapter or None, verbose=False)


def grammar(job: Job) -> Job:
    """Generate in this process; return the milliseconds spent outside of llama.cpp.

    Compiling the grammar, once per generation, is separate from the time per token.
    """
    llama, context = load_job_model(job)
    guide = GuidedDecoder(llama, SpecialTokenSplitter(llama.special_spellings()))
    rounds = []
    for number in range(job["rounds"] + 1):
        for asked in job["requests"]:
            timed = Timed(context)
            started = time.perf_counter()
            guide.compile_grammar(asked["grammar"])
            compiling = time.perf_counter() - started
            started = time.perf_counter()
            output = guide.generate(timed, asked["prompt"], asked["grammar"], asked["max_tokens"])
            outside = time.perf_counter() - started - timed.seconds - compiling
            sampled = len(timed.pieces)
            first = timed.pieces[0] - len(asked["prompt"])
            rounds.append(
                {
                    "is_warm": number > 0,
                    "sampled": sampled,
                    "tokens": len(output.tokens),
                    "token_milliseconds": 1000 * outside / sampled,
                    "compile_milliseconds": 1000 * compiling,
                    "leading_forced": first,
                    "pieces": timed.pieces[1:],
                }
            )
    return {"rounds": rounds}


def bare(job: Job) -> Job:
    """Feed the same tokens to `llama_decode` alone; return seconds, prompt included."""
    _, context = load_job_model(job)
    handle, memory = context._context, context._memory  # noqa: SLF001 - nothing between us and it
    batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
    seconds = []
    for _ in range(job["rounds"]):
        llama_cpp.llama_memory_clear(memory, True)  # noqa: FBT003 - by position alone
        position = 0
        started = time.perf_counter()
        for piece in job["pieces"]:
            batch.n_tokens = len(piece)
            for index, token in enumerate(piece):
                batch.token[index] = token
                batch.pos[index] = position + index
                batch.n_seq_id[index] = 1
                batch.seq_id[index][0] = 0
                batch.logits[index] = index == len(piece) - 1
            if llama_cpp.llama_decode(handle, batch):
                raise RuntimeError(f"llama_decode failed at token {position}")
            llama_cpp.llama_synchronize(handle)
            position += len(piece)
        seconds.append(time.perf_counter() - started)
    return {"seconds": seconds}


def adapters(job: Job) -> Job:
    """Read and write with each of some adapters in turns; return the seconds of each round.

    CPU seconds, which other processes lengthen less than wall-clock ones.

    Input: `adapters`: paths, or an empty text for the model alone.
    """
    prompt = [1000 + 7 * index for index in range(job["prompt_tokens"])]
    contexts = [
        load_model(job["path"], adapter, job["threads"], job["context_tokens"])[1]
        for adapter in job["adapters"]
    ]
    found: list[dict[str, list[float]]] = [{"reading": [], "writing": []} for _ in contexts]
    for _ in range(job["rounds"]):
        for context, seconds in zip(contexts, found, strict=True):
            context.forget()
            started = time.process_time()
            context.evaluate(prompt)
            seconds["reading"].append(time.process_time() - started)
        for number in range(1, job["output_tokens"] + 1):
            for context, seconds in zip(contexts, found, strict=True):
                started = time.process_time()
                context.evaluate([*prompt, *range(2000, 2000 + number)])
                seconds["writing"].append(time.process_time() - started)
    return {"seconds": found}


def naive(job: Job) -> Job:
    """Use llama-cpp-python as its README does: a grammar in GBNF, the whole prompt each time."""
    model = load_plain_model(job["path"], job["adapter"], job["context_tokens"])
    seconds, texts = [], []
    for asked in job["requests"]:
        model.reset()  # type: ignore[no-untyped-call]
        form = llama_cpp.LlamaGrammar.from_string(asked["gbnf"], verbose=False)
        started = time.perf_counter()
        reply: Any = model.create_completion(
            asked["prompt"], grammar=form, max_tokens=asked["max_tokens"], temperature=0.0
        )
        seconds.append(time.perf_counter() - started)
        texts.append((reply["choices"][0]["text"], reply["usage"]["completion_tokens"]))
    return {"seconds": seconds, "texts": texts}


JOBS: Mapping[str, Callable[[Job], Job]] = {
    "grammar": grammar,
    "bare": bare,
    "adapters": adapters,
    "naive": naive,
}


def main() -> None:
    """Run one job after the other."""
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(JOBS[job["job"]](job)), flush=True)


if __name__ == "__main__":
    main()
