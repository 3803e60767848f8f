"""Evaluation: one sequence in llama.cpp's memory, and other prompts' set aside for their return.

Whatever is reused gives the same bits as starting afresh (measured, and tested over random
interleavings), so reuse changes the time alone. This file and `bindings.py` alone import llama_cpp.
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
"""Bytes of weights from which on several threads write one token together. Threads that wait
without spinning meet some 300 times a token, 25 ms in all: more than the default model's 89 MB
take a single thread (16 ms a token; 41 ms with two). Batches are read by all threads in any case.
Source: `benchmarks/threads.py`, two cores."""

MIN_SHARED_READING_TOKENS = 9
"""Tokens of a batch from which on several threads read it together, where the model is smaller than
that: their meetings take 15 to 60 ms of any batch, by how soon the machine wakes a thread. Two save
as much as that of 8 tokens on a quiet machine and of 30 on a busy one (2 tokens: 22 ms with one
thread, 39 with two; 8: 59 and 57, or 57 and 85). Source: `benchmarks/threads.py`, two cores."""

WORTHWHILE_TOKENS = 16
"""Tokens that must be spared before a state is saved or restored. The default model evaluates 16 in
some 100 ms; to save or to restore 300 takes 1 to 6 ms and 1,000 some 12, so even a full context of
8,192 comes back in the time of 16. Writing, token by token, never saves and never restores."""

ADAPTER_SCALE = 1.0
"""How much of its adapter is added to a model: all, as it was trained."""

WITH_DATA, POSITIONS_ALONE = True, False
"""How llama.cpp's memory is emptied: the numbers as well, or the notes about what they belong to.
The former writes the whole context's memory (188 MB for the default model)."""


@dataclass(slots=True, kw_only=True)
class EvaluationTally:
    """What evaluations have cost since the tally began, and what the first of them found done."""

    evaluations: int = 0
    decoded_tokens: int = 0
    """In all of them."""

    kept_tokens: int = 0
    """In memory when the first one began."""

    restored_tokens: int = 0
    """From a state set aside, in place of those in memory, for the first one."""

    def add(self, *, kept_tokens: int, restored_tokens: int, decoded_tokens: int) -> None:
        """Count an evaluation."""
        if self.evaluations == 0:
            self.kept_tokens, self.restored_tokens = kept_tokens, restored_tokens
        self.evaluations += 1
        self.decoded_tokens += decoded_tokens


class LlamaContext:
    """The tokens evaluated last, what follows from them, and the prefixes of other prompts."""

    def __init__(
        self, llama: Llama, *, threads: int, context_tokens: int, prefix_cache_bytes: int = 0
    ) -> None:
        """Make room for `context_tokens` tokens, and later for states of `prefix_cache_bytes`.

        The model's adapter is applied to all that is evaluated here.

        Raises:
            ConfigError: llama.cpp refuses, for lack of memory as a rule.
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
                f"llama.cpp makes no context of {context_tokens} tokens for the model file "
                f"{describe_file(llama.path)}: {explain_last_errors()}, "
                "or ask for a smaller context_tokens"
            )
        self._context: int = context
        if llama.adapter is not None:
            self._apply_adapter(llama.adapter)
        self._memory: int = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        # A recurrent memory is one state: it goes on, or starts anew.
        self._can_truncate = not (
            llama_cpp.llama_model_is_recurrent(llama.model)
            or llama_cpp.llama_model_is_hybrid(llama.model)
        )
        self._tokens: list[int] = []
        self._prefix_cache = PrefixCache(prefix_cache_bytes)
        self.tally = EvaluationTally()
        self.prompt_tokens: int | None = None
        """How many of the tokens that are evaluated next are a prompt, which may come back; None
        for all of them."""

        self._known_prompt_tokens: int | None = None

    def _apply_adapter(self, adapter: ctypes._Pointer[ctypes.c_void_p]) -> None:
        adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
        scales = (ctypes.c_float * 1)(ADAPTER_SCALE)
        status = llama_cpp.llama_set_adapters_lora(self._context, adapters, 1, scales)
        if status != 0:
            raise ConfigError(
                f"llama.cpp does not apply the model's adapter (status {status}); leave it out, or "
                "use another one"
            )

    def forget(self) -> None:
        """Empty the memory and drop what was set aside: the next evaluation starts from nothing."""
        self._prefix_cache.clear()
        self._clear_memory(WITH_DATA)

    def evaluate(
        self,
        tokens: list[int],
        report: Callable[[int, int], None] | None = None,
        *,
        batch_tokens: int = BATCH_TOKENS,
    ) -> NDArray[np.float32]:
        """Return the logits of what follows after `tokens`.

        Starts from the longest prefix that it knows, and always evaluates the last token.

        Input:
            report: is called with tokens done and tokens in all.
            batch_tokens: evaluate in pieces of at most this many tokens: 1 to `BATCH_TOKENS`.

        Output:
            float32, one for each token of the vocabulary; valid until the next evaluation.

        Raises:
            EngineFault: no tokens, more than the context holds, or llama.cpp gave up.
        """
        if not 0 < len(tokens) <= self.context_tokens:
            raise EngineFault(
                f"{len(tokens)} tokens are to be evaluated; the context holds 1 to "
                f"{self.context_tokens}"
            )
        if not 0 < batch_tokens <= BATCH_TOKENS:
            raise EngineFault(
                f"A batch of {batch_tokens} tokens was asked for; it may have 1 to {BATCH_TOKENS}"
            )
        logits = self._evaluate(tokens, report, batch_tokens)
        if math.isnan(logits[0]):
            # It may come from an earlier prompt: attention multiplies what is left of one in
            # memory by 0, which makes nothing of a number and NaN of an overflow.
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
                f"llama.cpp computed no logits after {len(tokens)} tokens; run the call again"
            )
        return np.ctypeslib.as_array(logits, (self._llama.vocabulary_tokens,))

    def _prepare(self, tokens: list[int]) -> tuple[int, int]:
        """Leave the longest known prefix of `tokens` in memory; return its length.

        Output:
            tokens kept and tokens restored; one of the two is 0.
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
        self._prefix_cache.touch(match.prefix)  # So that setting the other aside drops it last.
        self._save_prefix(known, kept_tokens)
        return 0, self._restore_prefix(match)

    def _save_prefix(self, known: Tokens, kept_tokens: int) -> None:
        """Save what is in memory if too much beyond its first `kept_tokens` would be lost."""
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
        """Put a state back into memory, up to what it shares; return how many tokens that is."""
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
        """Drop from memory all but its first `count` tokens; return how many stay."""
        if count == len(self._tokens) and count > 0:
            return count
        if count == 0 or not llama_cpp.llama_memory_seq_rm(self._memory, 0, count, -1):
            self._clear_memory(POSITIONS_ALONE if self._can_truncate else WITH_DATA)
            return 0
        self._tokens = self._tokens[:count]
        return count

    def _clear_memory(self, data: bool) -> None:  # noqa: FBT001 - as llama.cpp takes it
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
                "emptied, run the call again"
            )


def _get_data_pointer(state: NDArray[np.uint8]) -> ctypes._Pointer[ctypes.c_uint8]:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
