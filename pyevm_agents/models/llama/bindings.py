"""Bindings to llama.cpp's models and vocabularies. Imported only in the engine's child process.

Only this module and `context.py` import llama_cpp. llama.cpp aborts the process when an assertion
fails, so the conditions of assertions are checked here first. Because llama.cpp may still abort, no
module that the parent process imports may import these two.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

import llama_cpp

from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.decoding.tokenizer import TokenKind
from pyevm_agents.models.gguf.load_errors import describe_file, explain_load_errors
from pyevm_agents.models.llama.build_profile import build_engine_name
from pyevm_agents.models.llama.cpu import WeightKind, is_repacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.models.gguf.adapter import AdapterFile

MAX_DEFAULT_CONTEXT_TOKENS = 8192
"""Default context limit in tokens: with 131,072, a larger model would need 16 GB."""

LOG_ERROR = 4
"""Level of errors in llama.cpp's log. Source: ggml.h, `ggml_log_level` (newer than llama_cpp's)."""

MAX_PIECE_BYTES = 64 * 1024
"""Maximum bytes of a token. Runs of spaces reach 512 in published vocabularies."""

LOADED_PERCENT = 100
"""Total of the progress reports while weights are loaded."""

SPELLED, WITHOUT_ENDS = True, False
"""Positional arguments of llama.cpp's functions: render special tokens; add no special tokens."""

KEEP_SPACES = b"tokenizer.ggml.add_space_prefix"
"""Metadata entry that makes llama.cpp put a space before each text. It is overridden, so that data
is not changed and segments stay independent of each other."""

PARTS = b"split.count"
"""Metadata entry of a model that is split into several files."""


_errors: deque[str] = deque(maxlen=20)
"""llama.cpp's last error messages."""


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _user_data: object) -> None:
    """Write errors to stderr, which the parent stores; drop all other messages."""
    if level == LOG_ERROR:
        _errors.append(text.decode("utf-8", "replace"))
        sys.stderr.write(text.decode("utf-8", "replace"))
        sys.stderr.flush()


llama_cpp.llama_log_set(_log, ctypes.c_void_p(0))


def read_engine_version() -> str:
    """Return the versions of llama-cpp-python and llama.cpp; see `build_engine_name`."""
    library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - llama_cpp does not pass it on
    commit = library.ggml_commit
    commit.restype = ctypes.c_char_p
    return build_engine_name(llama_cpp.__version__, commit().decode())


def read_system_info() -> str:
    """Return llama.cpp's description of the build."""
    info: bytes = llama_cpp.llama_print_system_info()
    return info.decode("utf-8", "replace")


def list_backends() -> tuple[str, ...]:
    """Return the compute backends compiled in; `read_system_info` does not list all."""
    library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - ggml's registry has no other door
    count, get, name = (
        library.ggml_backend_reg_count,
        library.ggml_backend_reg_get,
        library.ggml_backend_reg_name,
    )
    count.restype, get.restype, name.restype = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p
    get.argtypes, name.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
    return tuple(name(get(index)).decode() for index in range(count()))


def _build_progress_callback(report: Callable[[int, int], None] | None) -> Any:  # noqa: ANN401 - ctypes
    """Build llama.cpp's loading callback, which makes one report for each whole percent."""
    last = -1

    def report_percent(fraction: float, _user_data: object) -> bool:
        nonlocal last
        done = int(fraction * LOADED_PERCENT)
        if report is not None and done != last:
            last = done
            report(done, LOADED_PERCENT)
        return True

    return llama_cpp.llama_progress_callback(report_percent)


def explain_last_errors() -> str:
    """Return the explanation of llama.cpp's last errors, with advice."""
    return explain_load_errors(_errors)


class _GgufOptions(ctypes.Structure):
    """ggml's options for reading a file. Source: ggml/include/gguf.h, `gguf_init_params`."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


def read_weight_kinds(path: str) -> set[WeightKind]:
    """Return the kinds of a file's weights, reading only the header.

    Empty for a file of a split model, because the other files are not read.

    Raises:
        ConfigError: ggml can't read the file.
    """
    library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - llama_cpp has no names for these
    read, free, find = library.gguf_init_from_file, library.gguf_free, library.gguf_find_key
    count, type_of = library.gguf_get_n_tensors, library.gguf_get_tensor_type
    shape_of, type_name = library.gguf_get_tensor_ne, library.ggml_type_name
    read.argtypes, read.restype = [ctypes.c_char_p, _GgufOptions], ctypes.c_void_p
    free.argtypes, free.restype = [ctypes.c_void_p], None
    find.argtypes, find.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_int64
    count.argtypes, count.restype = [ctypes.c_void_p], ctypes.c_int64
    type_of.argtypes = shape_of.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    shape_of.restype = ctypes.POINTER(ctypes.c_int64)
    type_name.argtypes, type_name.restype = [ctypes.c_int], ctypes.c_char_p
    file = read(os.fsencode(path), _GgufOptions(no_alloc=True))
    if not file:
        raise _build_load_error(path)
    indices = range(count(file) if find(file, PARTS) < 0 else 0)
    kinds = {
        WeightKind(type_name(type_of(file, index)).decode(), shape_of(file, index)[2] > 1)
        for index in indices
    }
    free(file)
    return kinds


def _build_load_error(path: str) -> ConfigError:
    return ConfigError(
        f"llama.cpp can't load the model file {describe_file(path)}: {explain_last_errors()}"
    )


class Llama:
    """A GGUF file loaded by llama.cpp: metadata, vocabulary, and (optionally) weights.

    An adapter of the weights applies to all contexts.
    """

    def __init__(
        self,
        path: str,
        *,
        vocabulary_only: bool,
        adapter: AdapterFile | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Load a file.

        Input:
            adapter: a LoRA adapter for the weights; without weights, only the architecture is
                checked.
            report: callback, called with the percentage done and 100.

        Raises:
            ConfigError: llama.cpp rejects the file, the model is not one of text generation, or the
                adapter is for another model.
        """
        self.is_repacked = is_repacked(read_weight_kinds(path), platform.machine())
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        parameters.n_gpu_layers = 0
        self._no_devices = (ctypes.c_void_p * 1)(None)
        parameters.devices = ctypes.cast(self._no_devices, ctypes.c_void_p)
        parameters.use_extra_bufts = self.is_repacked
        parameters.vocab_only = vocabulary_only
        self._overrides = (llama_cpp.llama_model_kv_override * 2)()
        self._overrides[0].tag = llama_cpp.LLAMA_KV_OVERRIDE_TYPE_BOOL
        self._overrides[0].key = KEEP_SPACES
        value: Any = self._overrides[
            0
        ].value  # A C union, which llama_cpp declares as a Python type.
        value.val_bool = False
        parameters.kv_overrides = self._overrides
        callback = _build_progress_callback(report)
        parameters.progress_callback = callback
        model = llama_cpp.llama_model_load_from_file(os.fsencode(path), parameters)
        if not model:
            raise _build_load_error(path)
        self.path = path
        self.model: int = model
        vocab = llama_cpp.llama_model_get_vocab(model)
        if not vocab or llama_cpp.llama_vocab_n_tokens(vocab) == 0:
            raise ConfigError(
                f"The model file {describe_file(path)} has no vocabulary; convert it with one"
            )
        self.vocab: int = vocab
        self.vocabulary_tokens: int = llama_cpp.llama_vocab_n_tokens(vocab)
        # llama_model_n_ctx_train is 0 if only a vocabulary was loaded.
        context_length = self.metadata(f"{self.metadata('general.architecture')}.context_length")
        self.trained_context_tokens = int(context_length) if context_length.isdecimal() else 0
        if llama_cpp.llama_model_has_encoder(model) or not llama_cpp.llama_model_has_decoder(model):
            raise ConfigError(
                f"model file {describe_file(path)} has the architecture "
                f"{self.metadata('general.architecture')}, which does not generate text; use a "
                "decoder model"
            )
        self.attributes: list[int] = [
            llama_cpp.llama_vocab_get_attr(vocab, token) for token in range(self.vocabulary_tokens)
        ]
        self._piece_buffer = ctypes.create_string_buffer(MAX_PIECE_BYTES)
        if adapter is not None:
            adapter.require_architecture(self.metadata("general.architecture"))
        # Before any context is created: its compute graphs reserve room for the adapter.
        self.adapter = None if adapter is None or vocabulary_only else self._load_adapter(adapter)

    def _load_adapter(self, adapter: AdapterFile) -> ctypes._Pointer[ctypes.c_void_p]:
        """Load an adapter for the weights."""
        loaded = llama_cpp.llama_adapter_lora_init(self.model, os.fsencode(adapter.path))
        if not loaded:
            raise ConfigError(
                f"llama.cpp can't apply the adapter file {describe_file(adapter.path)} to the "
                "model "
                f"file {describe_file(self.path)}: {explain_last_errors()}"
            )
        handle: ctypes._Pointer[ctypes.c_void_p] = loaded
        return handle

    def close(self) -> None:
        """Free the memory. No context of this model may be in use."""
        if self.adapter is not None:
            llama_cpp.llama_adapter_lora_free(self.adapter)
        llama_cpp.llama_model_free(self.model)

    def metadata(self, key: str) -> str:
        """Return a metadata entry as text; empty if missing."""
        buffer = ctypes.create_string_buffer(4096)
        length = llama_cpp.llama_model_meta_val_str(self.model, key.encode(), buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def chat_template(self) -> str | None:
        """Return the file's chat template, unrendered."""
        template: bytes | None = llama_cpp.llama_model_chat_template(self.model, None)
        return None if template is None else template.decode("utf-8", "replace")

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, including the spelling of a special token."""
        length = llama_cpp.llama_token_to_piece(
            self.vocab, token, self._piece_buffer, MAX_PIECE_BYTES, 0, SPELLED
        )
        if length < 0:
            raise EngineFault(
                f"Token {token} of the model has more than {MAX_PIECE_BYTES} bytes; use "
                "another model"
            )
        return self._piece_buffer.raw[:length]

    def spelling(self, token: int) -> str:
        """Return a token's entry in the vocabulary's table."""
        text: bytes = llama_cpp.llama_vocab_get_text(self.vocab, token)
        return text.decode("utf-8", "replace")

    def kind(self, token: int) -> TokenKind:
        """Return the kind of a token."""
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
        """Return every text that spells a vocabulary entry other than plain text."""
        special = [
            token
            for token in range(self.vocabulary_tokens)
            if self.kind(token) is not TokenKind.PLAIN
        ]
        return [self.spelling(token) for token in special] + [
            self.piece(token).decode("utf-8", "replace") for token in special
        ]

    def end_tokens(self) -> list[int]:
        """Return the tokens that end a text, the vocabulary's end-of-text token first."""
        ends = [
            token
            for token in range(self.vocabulary_tokens)
            if llama_cpp.llama_vocab_is_eog(self.vocab, token)
        ]
        own = llama_cpp.llama_vocab_eos(self.vocab)
        return sorted(ends, key=lambda token: (token != own, token))

    def bos_token(self) -> int | None:
        """Return the beginning-of-text token, or None."""
        token = llama_cpp.llama_vocab_bos(self.vocab)
        return token if token >= 0 else None

    def needs_bos(self) -> bool:
        """Return whether the vocabulary requires the beginning-of-text token."""
        return llama_cpp.llama_vocab_get_add_bos(self.vocab) and self.bos_token() is not None

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text."""
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
        """Return the address of `llama_tokenize`, for llguidance."""
        library: Any = llama_cpp.llama_cpp._lib  # noqa: SLF001 - as llguidance.llamacpp does
        return ctypes.cast(library.llama_tokenize, ctypes.c_void_p).value or 0
