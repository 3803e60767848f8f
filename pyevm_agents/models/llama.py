"""The wall to llama.cpp: the only importer of llama_cpp. Runs in the engine's child process alone.

llama.cpp aborts the process on its assertions, so what would assert is checked here first; and
because it may abort all the same, nothing but `worker.py` imports this.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

import llama_cpp
import numpy as np

from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.build import BATCH_TOKENS
from pyevm_agents.models.vocabulary import TokenKind, require_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MAX_DEFAULT_CONTEXT_TOKENS = 8192
"""Tokens of context unless asked for more: 131,072 of them would take a larger model 16 GB."""

MIN_SHARED_WRITING_BYTES = 512 * 1024 * 1024
"""Bytes of weights from which on several threads write one token together. Threads that wait
without spinning meet some 300 times a token, 25 ms in all: more than the default model's 89 MB
take a single thread (16 ms a token; 41 ms with two). Prompts are read by all threads in any case.
Source: `benchmarks/threads.py`, two cores."""

LOG_ERROR = 4
"""Level of llama.cpp's log. Source: ggml.h, `ggml_log_level` (llama_cpp's comments are older)."""

MAX_PIECE_BYTES = 64 * 1024
"""Bytes that a token may stand for. Runs of spaces reach 512 in published vocabularies."""

SPELLED, CLEARED, WITHOUT_ENDS = True, True, False
"""Arguments of llama.cpp's functions, which take them by position alone: spell special tokens,
clear the data as well, add no special tokens."""

KEEP_SPACES = b"tokenizer.ggml.add_space_prefix"
"""Metadata entry that makes llama.cpp put a space before each text; overridden, so that data stays
what it is and segments stay independent of each other."""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _user_data: object) -> None:
    """Pass errors on to stderr, which the parent keeps; drop the rest."""
    if level == LOG_ERROR:
        sys.stderr.write(text.decode("utf-8", "replace"))
        sys.stderr.flush()


llama_cpp.llama_log_set(_log, ctypes.c_void_p(0))


def engine_version() -> str:
    """Return the version of llama-cpp-python, which pins that of llama.cpp."""
    return f"llama-cpp-python {llama_cpp.__version__}"


def system_info() -> str:
    """Return what the build says about itself."""
    info: bytes = llama_cpp.llama_print_system_info()
    return info.decode("utf-8", "replace")


def backend_names() -> tuple[str, ...]:
    """Return the names of the compute backends compiled in; some say nothing in `system_info`."""
    library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - ggml's registry has no other door
    count, get, name = (
        library.ggml_backend_reg_count,
        library.ggml_backend_reg_get,
        library.ggml_backend_reg_name,
    )
    count.restype, get.restype, name.restype = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    get.argtypes, name.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
    return tuple(name(get(index)).decode() for index in range(count()))


class Llama:
    """A GGUF file as llama.cpp has loaded it: metadata, vocabulary, and weights if asked for."""

    def __init__(self, path: str, *, vocabulary_only: bool) -> None:
        """Load a file.

        Raises:
            ConfigError: llama.cpp refuses it, or it is no model that continues text.
        """
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = 0
        self._no_devices = (ctypes.c_void_p * 1)(None)
        parameters.devices = ctypes.cast(self._no_devices, ctypes.c_void_p)
        parameters.use_extra_bufts = False
        parameters.vocab_only = vocabulary_only
        self._overrides = (llama_cpp.llama_model_kv_override * 2)()
        self._overrides[0].tag = llama_cpp.LLAMA_KV_OVERRIDE_TYPE_BOOL
        self._overrides[0].key = KEEP_SPACES
        value: Any = self._overrides[
            0
        ].value  # A union of C, which llama_cpp declares as one of Python.
        value.val_bool = False
        parameters.kv_overrides = self._overrides
        model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not model:
            raise ConfigError(
                f"llama.cpp does not load the model file {path}; download it again, or name another"
            )
        self.model: int = model
        vocab = llama_cpp.llama_model_get_vocab(model)
        if not vocab or llama_cpp.llama_vocab_n_tokens(vocab) == 0:
            raise ConfigError(f"The model file {path} has no vocabulary; convert it with one")
        self.vocab: int = vocab
        self.vocabulary_tokens: int = llama_cpp.llama_vocab_n_tokens(vocab)
        # llama_model_n_ctx_train is 0 where only a vocabulary was loaded.
        context_length = self.metadata(f"{self.metadata('general.architecture')}.context_length")
        self.trained_context_tokens = int(context_length) if context_length.isdecimal() else 0
        if llama_cpp.llama_model_has_encoder(model) or not llama_cpp.llama_model_has_decoder(model):
            raise ConfigError(
                f"The model file {path} ({self.metadata('general.architecture')}) does not "
                "continue text; use a decoder"
            )
        self.attributes: list[int] = [
            llama_cpp.llama_vocab_get_attr(vocab, token) for token in range(self.vocabulary_tokens)
        ]
        self._piece_buffer = ctypes.create_string_buffer(MAX_PIECE_BYTES)

    def metadata(self, key: str) -> str:
        """Return an entry of the file's metadata as text, or an empty text."""
        buffer = ctypes.create_string_buffer(4096)
        length = llama_cpp.llama_model_meta_val_str(self.model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def chat_template(self) -> str | None:
        """Return the file's chat template, unrendered."""
        template: bytes | None = llama_cpp.llama_model_chat_template(self.model, None)
        return None if template is None else template.decode("utf-8", "replace")

    def piece(self, token: int) -> bytes:
        """Return the bytes that a token stands for, a special token's spelling included."""
        length = llama_cpp.llama_token_to_piece(
            self.vocab, token, self._piece_buffer, MAX_PIECE_BYTES, 0, SPELLED
        )
        if length < 0:
            raise EngineFault(
                f"Token {token} of the model stands for more than {MAX_PIECE_BYTES} bytes; use "
                "another model"
            )
        return self._piece_buffer.raw[:length]

    def spelling(self, token: int) -> str:
        """Return a token's entry in the vocabulary's table."""
        text: bytes = llama_cpp.llama_vocab_get_text(self.vocab, token)
        return text.decode("utf-8", "replace")

    def kind(self, token: int) -> TokenKind:
        """Return what a token is for."""
        attribute = self.attributes[token]
        if (
            attribute & (llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNUSED)
            or not attribute
        ):
            return TokenKind.CONTROL
        if attribute & llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN:
            return TokenKind.UNKNOWN
        if attribute & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED and len(self.spelling(token)) > 1:
            return TokenKind.USER_DEFINED
        return TokenKind.PLAIN

    def special_spellings(self) -> list[str]:
        """Return every text that spells an entry which is not plain."""
        special = [
            token
            for token in range(self.vocabulary_tokens)
            if self.kind(token) is not TokenKind.PLAIN
        ]
        return [self.spelling(token) for token in special] + [
            self.piece(token).decode("utf-8", "replace") for token in special
        ]

    def end_tokens(self) -> list[int]:
        """Return the tokens that end a text, the vocabulary's own end token first."""
        ends = [
            token
            for token in range(self.vocabulary_tokens)
            if llama_cpp.llama_vocab_is_eog(self.vocab, token)
        ]
        own = llama_cpp.llama_vocab_eos(self.vocab)
        return sorted(ends, key=lambda token: (token != own, token))

    def beginning_token(self) -> int | None:
        """Return the token that begins a text, or None."""
        token = llama_cpp.llama_vocab_bos(self.vocab)
        return token if token >= 0 else None

    def adds_beginning(self) -> bool:
        """Whether the vocabulary asks for its beginning-of-text token."""
        return llama_cpp.llama_vocab_get_add_bos(self.vocab) and self.beginning_token() is not None

    def tokens_of(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text by itself."""
        data = text.encode()
        room = len(data) + 16
        buffer = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(
            self.vocab, data, len(data), buffer, room, WITHOUT_ENDS, parse_special
        )
        if count < 0:
            buffer = (llama_cpp.llama_token * -count)()
            count = llama_cpp.llama_tokenize(
                self.vocab, data, len(data), buffer, -count, WITHOUT_ENDS, parse_special
            )
        return list(buffer[:count])

    def tokenize_function(self) -> int:
        """Return the address of `llama_tokenize`, which llguidance calls by itself."""
        library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - as llguidance.llamacpp does
        return ctypes.cast(library.llama_tokenize, ctypes.c_void_p).value or 0


class Context:
    """One sequence in llama.cpp's memory: the tokens evaluated last, and what follows from them."""

    def __init__(self, llama: Llama, *, threads: int, context_tokens: int) -> None:
        """Make room for `context_tokens` tokens.

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
        parameters.n_threads = threads if is_large else 1
        parameters.n_threads_batch = threads
        parameters.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        parameters.offload_kqv = parameters.op_offload = False
        parameters.kv_unified = False
        parameters.swa_full = True
        parameters.no_perf = True
        context = llama_cpp.llama_init_from_model(llama.model, parameters)
        if not context:
            raise ConfigError(
                f"llama.cpp makes no context of {context_tokens} tokens for this model; ask for a "
                "smaller context_tokens"
            )
        self._context: int = context
        self._memory: int = llama_cpp.llama_get_memory(context)
        self._batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        # A recurrent memory is one state: it goes on, or starts anew.
        self._can_cut = not (
            llama_cpp.llama_model_is_recurrent(llama.model)
            or llama_cpp.llama_model_is_hybrid(llama.model)
        )
        self._tokens: list[int] = []

    def forget(self) -> None:
        """Empty the memory: the next evaluation starts from nothing."""
        llama_cpp.llama_memory_clear(self._memory, CLEARED)
        self._tokens = []

    def evaluate(
        self,
        tokens: list[int],
        report: Callable[[int, int], None] | None = None,
        *,
        batch_tokens: int = BATCH_TOKENS,
    ) -> NDArray[np.float32]:
        """Return the logits of what follows after `tokens`.

        Keeps what it knows of the longest common prefix with the previous evaluation, which gives
        the same bits as starting afresh (measured), and always evaluates the last token.

        Input:
            report: is called with tokens done and tokens in all.
            batch_tokens: evaluate in pieces of at most this many tokens: 1 to `BATCH_TOKENS`.

        Output:
            float32, one for each token of the vocabulary; valid until the next evaluation.

        Raises:
            EngineFault: no tokens, more than the context holds, or llama.cpp gave up.
        """
        require_tokens(tokens, self._llama.vocabulary_tokens)
        if not 0 < len(tokens) <= self.context_tokens:
            raise EngineFault(
                f"{len(tokens)} tokens are to be evaluated; the context holds 1 to "
                f"{self.context_tokens}"
            )
        if not 0 < batch_tokens <= BATCH_TOKENS:
            raise EngineFault(
                f"A batch of {batch_tokens} tokens was asked for; it may have 1 to {BATCH_TOKENS}"
            )
        done = self._keep(tokens)
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

    def _keep(self, tokens: list[int]) -> int:
        """Drop from memory what is not a prefix of `tokens`; return how many tokens stay."""
        known = self._tokens
        if len(known) < len(tokens) and tokens[: len(known)] == known:
            return len(known)
        limit = min(len(known), len(tokens) - 1) if self._can_cut else 0
        kept = next((i for i in range(limit) if known[i] != tokens[i]), limit)
        if kept == 0 or not llama_cpp.llama_memory_seq_rm(self._memory, 0, kept, -1):
            self.forget()
            return 0
        self._tokens = known[:kept]
        return kept

    def _decode(self, tokens: list[int], position: int, *, wants_logits: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = position + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = wants_logits and index == len(tokens) - 1
        status = llama_cpp.llama_decode(self._context, batch)
        if status != 0:
            self.forget()
            raise EngineFault(
                f"llama_decode failed with status {status} at token {position}; its memory was "
                "emptied, run the call again"
            )
