"""Evaluation of tokens: one sequence in llama.cpp's memory, and saved states of other prompts.

Reuse gives bit-for-bit the same results as a fresh start (measured, and tested over random
interleavings), and affects only time. Only this module and `bindings.py` import llama_cpp.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import llama_cpp
import numpy as np

from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.decoding.tokenizer import require_tokens
from pyevm_agents.models.gguf.load_errors import describe_file
from pyevm_agents.models.llama.bindings import explain_last_errors
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS
from pyevm_agents.models.llama.prefix_cache import PrefixCache, count_shared_tokens, to_token_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyevm_agents.models.llama.bindings import Llama
    from pyevm_agents.models.llama.prefix_cache import PrefixMatch, Tokens

MIN_SHARED_WRITING_BYTES = 512 * 1024 * 1024
"""Size of the weights from which several threads generate a token together. Threads that wait
without spinning synchronise about 300 times a token, 25 ms in all: more than a single thread needs
for the default model's 89 MB (16 ms a token; 41 ms with two threads). Large batches always use all
threads. Source: `benchmarks/threads.py`, two cores."""

MIN_SHARED_READING_TOKENS = 9
"""Tokens of a batch from which several threads evaluate it together, for a smaller model. Their
synchronisation takes 15 to 60 ms of any batch, depending on how fast the machine wakes a thread. A
second thread saves as much at 8 tokens on a quiet machine, at 30 on a busy one (2 tokens: 22 ms
with one thread, 39 with two; 8: 59 and 57, or 57 and 85). Source: `benchmarks/threads.py`, two
cores."""

WORTHWHILE_TOKENS = 16
"""Minimum tokens saved by reuse before a state is saved or restored. The default model evaluates 16
tokens in about 100 ms; saving or restoring 300 takes 1 to 6 ms and 1,000 about 12, so even a full
context of 8,192 is restored in the time of 16. Generating token by token never saves or
restores."""

ADAPTER_SCALE = 1.0
"""Weight of the adapter: full, as it was trained."""

WITH_DATA, POSITIONS_ALONE = True, False
"""Ways to clear llama.cpp's memory: with the numbers, or only the positions. The former overwrites
the memory of the whole context (188 MB for the default model)."""


@dataclass(slots=True, kw_only=True)
class EvaluationTally:
    """Token counts of evaluations since the tally was created."""

    evaluations: int = 0
    decoded_tokens: int = 0
    """Decoded tokens of all evaluations."""

    kept_tokens: int = 0
    """Tokens that the first evaluation reused from memory."""

    restored_tokens: int = 0
    """Tokens that the first evaluation restored from a saved state instead of memory."""

    def add(self, *, kept_tokens: int, restored_tokens: int, decoded_tokens: int) -> None:
        """Add an evaluation."""
        if self.evaluations == 0:
            self.kept_tokens, self.restored_tokens = kept_tokens, restored_tokens
        self.evaluations += 1
        self.decoded_tokens += decoded_tokens


class LlamaContext:
    """The evaluated tokens, the last logits, and saved states of other prompts."""

    def __init__(
        self, llama: Llama, *, threads: int, context_tokens: int, prefix_cache_bytes: int = 0
    ) -> None:
        """Allocate a context of `context_tokens` tokens, and limit saved states to a size in bytes.

        The model's adapter is applied to all evaluations.

        Raises:
            ConfigError: llama.cpp can't create the context, usually for lack of memory.
        """
        self._llama = llama
        self.context_tokens = context_tokens
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = context_tokens
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.n_seq_max = 1
        is_large = llama_cpp.llama_model_size(llama.model) >= MIN_SHARED_WRITING_BYTES
        self._threads = threads
        self._small_batch_threads = threads if is_large else 1
        parameters.n_threads, parameters.n_threads_batch = self._small_batch_threads, threads
        parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        parameters.offload_kqv = parameters.op_offload = False
        parameters.kv_unified = False
        parameters.swa_full = True
        parameters.no_perf = True
        context = llama_cpp.llama_init_from_model(llama.model, parameters)
        if not context:
            raise ConfigError(
                f"llama.cpp can't create a context of {context_tokens} tokens for the model file "
                f"{describe_file(llama.path)}: {explain_last_errors()}, "
                "or pass a smaller context_tokens"
            )
        self._context: int = context
        if llama.adapter is not None:
            self._apply_adapter(llama.adapter)
        self._memory: int = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        # A recurrent memory is a single state: it can be continued or reset, but not truncated.
        self._can_truncate = not (
            llama_cpp.llama_model_is_recurrent(llama.model)
            or llama_cpp.llama_model_is_hybrid(llama.model)
        )
        self._tokens: list[int] = []
        self._prefix_cache = PrefixCache(prefix_cache_bytes)
        self.tally = EvaluationTally()
        self.prompt_tokens: int | None = None
        """Number of tokens of the next evaluation that are a prompt, which may be needed again;
        None for all of them."""

        self._known_prompt_tokens: int | None = None

    def _apply_adapter(self, adapter: ctypes._Pointer[ctypes.c_void_p]) -> None:
        adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
        scales = (ctypes.c_float * 1)(ADAPTER_SCALE)
        status = llama_cpp.llama_set_adapters_lora(self._context, adapters, 1, scales)
        if status != 0:
            raise ConfigError(
                f"llama.cpp can't apply the model's adapter (status {status}); leave it out, or "
                "use another one"
            )

    def forget(self) -> None:
        """Clear the memory and the saved states: the next evaluation starts from nothing."""
        self._prefix_cache.clear()
        self._clear_memory(WITH_DATA)

    def evaluate(
        self,
        tokens: list[int],
        report: Callable[[int, int], None] | None = None,
        *,
        batch_tokens: int = BATCH_TOKENS,
    ) -> NDArray[np.float32]:
        """Return the logits after `tokens`.

        Starts from the longest known prefix; always evaluates the last token.

        Input:
            report: callback, called with the tokens done and the total tokens.
            batch_tokens: maximum tokens of a batch: 1 to `BATCH_TOKENS`.

        Output:
            float32, one for each token of the vocabulary; valid until the next evaluation.

        Raises:
            EngineFault: no tokens, more than the context allows, or llama.cpp failed.
        """
        if not 0 < len(tokens) <= self.context_tokens:
            raise EngineFault(
                f"can't evaluate {len(tokens)} tokens: must be 1 to "
                f"{self.context_tokens}, the length of the context"
            )
        if not 0 < batch_tokens <= BATCH_TOKENS:
            raise EngineFault(f"invalid batch_tokens {batch_tokens}: must be 1 to {BATCH_TOKENS}")
        logits = self._evaluate(tokens, report, batch_tokens)
        if math.isnan(logits[0]):
            # The NaN may come from an earlier prompt: attention multiplies its rest in memory by 0,
            # which gives 0 for a number and NaN for an overflow.
            self.forget()
            logits = self._evaluate(tokens, report, batch_tokens)
        return logits

    def _evaluate(
        self, tokens: list[int], report: Callable[[int, int], None] | None, batch_tokens: int
    ) -> NDArray[np.float32]:
        kept_tokens, restored = self._prepare(tokens)
        self._known_prompt_tokens = self.prompt_tokens
        done = kept_tokens + restored
        self.tally.add(
            kept_tokens=kept_tokens, restored_tokens=restored, decoded_tokens=len(tokens) - done
        )
        while done < len(tokens):
            piece = tokens[done : done + batch_tokens]
            self._decode(piece, done, wants_logits=done + len(piece) == len(tokens))
            done += len(piece)
            self._tokens = tokens[:done]
            if report is not None:
                report(done, len(tokens))
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        if not logits:
            self.forget()
            raise EngineFault(
                f"llama.cpp computed no logits after {len(tokens)} tokens; repeat the call"
            )
        return np.ctypeslib.as_array(logits, (self._llama.vocabulary_tokens,))

    def _prepare(self, tokens: list[int]) -> tuple[int, int]:
        """Keep or restore the longest known prefix of `tokens` in memory.

        Output:
            Tokens kept and tokens restored; one of the two is 0.
        """
        count = len(self._tokens)
        rest = tokens[count:]
        if 0 < len(rest) <= WORTHWHILE_TOKENS and tokens[:count] == self._tokens:
            require_tokens(rest, self._llama.vocabulary_tokens)
            return count, 0
        require_tokens(tokens, self._llama.vocabulary_tokens)
        wanted, known = to_token_array(tokens[:-1]), to_token_array(self._tokens)
        kept_tokens = count_shared_tokens(known, wanted)
        if kept_tokens < count and not self._can_truncate:
            kept_tokens = 0
        match = self._prefix_cache.find_best(wanted, is_whole=not self._can_truncate)
        if match is None or match.shared_tokens - kept_tokens < WORTHWHILE_TOKENS:
            self._save_prefix(known, kept_tokens)
            return self._truncate_memory(kept_tokens), 0
        self._prefix_cache.touch(match.prefix)  # So that saving the other prefix drops it last.
        self._save_prefix(known, kept_tokens)
        return 0, self._restore_prefix(match)

    def _save_prefix(self, known: Tokens, kept_tokens: int) -> None:
        """Save the memory's state if too much after the first `kept_tokens` would be lost."""
        if len(known) - kept_tokens < WORTHWHILE_TOKENS:
            return
        saved = self._prefix_cache.find_best(known, is_whole=not self._can_truncate)
        if saved is not None and len(known) - saved.shared_tokens < WORTHWHILE_TOKENS:
            self._prefix_cache.touch(saved.prefix)
            return
        size_bytes = llama_cpp.llama_state_seq_get_size(self._context, 0)
        if size_bytes == 0 or not self._prefix_cache.make_room(known, size_bytes):
            return
        state = np.empty(size_bytes, dtype=np.uint8)
        written = llama_cpp.llama_state_seq_get_data(
            self._context, _get_data_pointer(state), size_bytes, 0
        )
        if written == size_bytes:
            self._prefix_cache.put(known, state, prompt_tokens=self._known_prompt_tokens)

    def _restore_prefix(self, match: PrefixMatch) -> int:
        """Restore a state up to the shared tokens; return their number."""
        self._clear_memory(POSITIONS_ALONE if self._can_truncate else WITH_DATA)
        prefix = match.prefix
        size_bytes = prefix.state.nbytes
        read = llama_cpp.llama_state_seq_set_data(
            self._context, _get_data_pointer(prefix.state), size_bytes, 0
        )
        if read != size_bytes:
            self.forget()
            return 0
        self._tokens = prefix.tokens.tolist()
        return self._truncate_memory(match.shared_tokens)

    def _truncate_memory(self, count: int) -> int:
        """Truncate memory to the first `count` tokens; return the number of tokens left."""
        if count == len(self._tokens) and count > 0:
            return count
        if count == 0 or not llama_cpp.llama_memory_seq_rm(self._memory, 0, count, -1):
            self._clear_memory(POSITIONS_ALONE if self._can_truncate else WITH_DATA)
            return 0
        self._tokens = self._tokens[:count]
        return count

    def _clear_memory(self, data: bool) -> None:  # noqa: FBT001 - as in llama.cpp
        llama_cpp.llama_memory_clear(self._memory, data)
        self._tokens = []

    def _decode(self, tokens: list[int], position: int, *, wants_logits: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = position + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = wants_logits and index == len(tokens) - 1
        is_shared = len(tokens) >= MIN_SHARED_READING_TOKENS
        reading_threads = self._threads if is_shared else self._small_batch_threads
        llama_cpp.llama_set_n_threads(self._context, self._small_batch_threads, reading_threads)
        status = llama_cpp.llama_decode(self._context, batch)
        if status != 0:
            self.forget()
            raise EngineFault(
                f"llama_decode failed with status {status} at token {position}; its memory was "
                "cleared, repeat the call"
            )


def _get_data_pointer(state: NDArray[np.uint8]) -> ctypes._Pointer[ctypes.c_uint8]:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
