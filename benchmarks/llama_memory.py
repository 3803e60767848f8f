"""A model and a context of llama.cpp in any setting, through its C functions."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np

from pyevm_agents.models.llama.canary import compute_logits_digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BATCH = 512
CLEARED, WITHOUT_ENDS, PLAIN = True, False, False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def drop_log(_level: int, _text: bytes, _user_data: object) -> None:
    """Discard llama.cpp's log."""


class Model:
    """A model's weights, with the methods that the canary needs."""

    def __init__(self, path: str, *, extra_buffers: bool, adapter: str = "") -> None:
        """Load a file, and an adapter if given.

        Input:
            extra_buffers: lets REPACK change the layout of weights.
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

    def tokenize(self, text: str, *, parse_special: bool = PLAIN) -> list[int]:
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
        """Free the memory."""
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self.context)

    def set_threads(self, threads: int) -> None:
        """Set the number of threads."""
        llama_cpp.llama_set_n_threads(self.context, threads, threads)

    def clear(self) -> None:
        """Remove all sequences."""
        llama_cpp.llama_memory_clear(self._memory, CLEARED)

    def cut(self, position: int, sequence: int = 0) -> None:
        """Remove a sequence from a position on."""
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
        """Return the logits of the last evaluation, as a view."""
        pointer = llama_cpp.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(pointer, (self.model.vocabulary_tokens,))

    def digest(self) -> str:
        """Return a short digest of the last logits."""
        return compute_logits_digest(self.logits())[:16]

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
