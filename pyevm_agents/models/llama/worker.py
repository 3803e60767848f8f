"""The engine's child process, `python -m pyevm_agents.models.llama.worker`, which serves the pipes.

The process exits when the parent closes the pipe or exits. A failed assertion of llama.cpp ends
only this
process: the parent reads the end of the stream and raises a fault.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import llguidance

from precompiles.language_model import Scoring
from precompiles.spec import PROMPT_BLOCK_TOKENS
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.models.decoding.guided import GuidedDecoder, GuidedOutput
from pyevm_agents.models.decoding.reference import generate_by_reference
from pyevm_agents.models.decoding.step_scores import StepScorer
from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter, tokenize_segments
from pyevm_agents.models.engine_messages import (
    EngineReply,
    EngineRequest,
    FactsMessage,
    FileMessage,
    LoadMessage,
    MarginMessage,
    StatsMessage,
    read_request,
    write_message,
)
from pyevm_agents.models.gguf.adapter import read_adapter
from pyevm_agents.models.gguf.files import FileStamp
from pyevm_agents.models.llama import bindings as engine
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS
from pyevm_agents.models.llama.canary import (
    compute_canary,
    compute_hardware_digest,
    compute_logits_digest,
)
from pyevm_agents.models.llama.context import EvaluationTally, LlamaContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO

    from precompiles.language_model import Margin

ORPHAN_CHECK_SECONDS = 0.5
"""Seconds between checks that the parent lives: a process that it forked may hold the pipe open."""


class EngineWorker:
    """A loaded model and the operations that the parent can request."""

    def __init__(self, replies: IO[bytes]) -> None:
        """Send progress to `replies`."""
        self._replies = replies
        self._llama: engine.Llama | None = None
        self._context: LlamaContext | None = None

    def handle_request(self, request: EngineRequest) -> EngineReply:
        """Execute a request; convert errors to an error reply."""
        try:
            return OPERATIONS[request["operation"]](self, request)
        except AgentsError as error:
            return EngineReply(error=type(error).__name__, message=str(error))
        except MemoryError:
            return EngineReply(
                error=EngineFault.__name__,
                message="the engine's process is out of memory; use a smaller model or context",
            )

    def hello(self, _request: EngineRequest) -> EngineReply:
        """Describe this engine, before anything is loaded."""
        return EngineReply(
            engine=engine.read_engine_version(),
            guidance=f"llguidance {llguidance.__version__}",
            system_info=engine.read_system_info(),
            backends=list(engine.list_backends()),
            machine=platform.machine(),
        )

    def load(self, request: EngineRequest) -> EngineReply:
        """Load the model file, or only the vocabulary, and return the facts."""
        message = request["load"]
        report = self._report if request["wants_progress"] else None
        _require_unchanged(message)
        self._unload()
        adapter = (
            None if message["adapter"] is None else read_adapter(_get_path(message["adapter"]))
        )
        llama = engine.Llama(
            message["model"]["path"],
            vocabulary_only=message["vocabulary_only"],
            adapter=adapter,
            report=report and (lambda done, total: report("load", done, total, "")),
        )
        context_tokens = _resolve_context_tokens(message, llama)
        digest = hardware = ""
        if not message["vocabulary_only"]:
            self._context = LlamaContext(
                llama,
                threads=message["threads"],
                context_tokens=context_tokens,
                prefix_cache_bytes=message["prefix_cache_bytes"],
            )
            kept, hardware = message["kept_canary"], compute_hardware_digest()
            if kept is not None and kept["hardware"] == hardware != "":
                digest = kept["canary"]
            else:
                if report is not None:
                    report("check", 0, 1, "")
                digest = compute_canary(llama, self._context)
        _require_unchanged(message)
        self._llama = llama
        self._cutter = SpecialTokenSplitter(llama.special_spellings())
        self._guide = GuidedDecoder(llama, self._cutter)
        beginning, ends = llama.bos_token(), llama.end_tokens()
        return EngineReply(
            hardware=hardware,
            facts=FactsMessage(
                name=llama.metadata("general.name") if adapter is None else adapter.name,
                architecture=llama.metadata("general.architecture"),
                context_tokens=context_tokens,
                vocabulary_tokens=llama.vocabulary_tokens,
                chat_template=llama.chat_template(),
                bos_text=""
                if beginning is None
                else llama.piece(beginning).decode("utf-8", "replace"),
                eos_text=llama.piece(ends[0]).decode("utf-8", "replace") if ends else "",
                adds_bos=llama.needs_bos(),
                repacked=llama.is_repacked,
                canary=digest,
                decoding=[] if adapter is None else list(adapter.decoding),
                chooser="" if adapter is None else adapter.chooser,
            ),
        )

    def _unload(self) -> None:
        """Unload a vocabulary before loading it again with weights."""
        if self._llama is not None:
            del self._guide, self._cutter
            self._llama.close()
            self._llama = None

    def tokenize(self, request: EngineRequest) -> EngineReply:
        """Return the tokens of segments."""
        llama = self._require_llama()
        first = llama.bos_token() if llama.needs_bos() else None
        return EngineReply(
            tokens=tokenize_segments(llama, self._cutter, request["segments"], first)
        )

    def generate(self, request: EngineRequest) -> EngineReply:
        """Continue a prompt under a grammar."""
        self._require_llama()
        report = self._report if request["wants_progress"] else None
        if report is not None:
            report("prompt", 0, len(request["tokens"]), "")  # The first batch takes a second.
        evaluator = self._require_context()
        evaluator.tally = EvaluationTally()
        evaluator.prompt_tokens = count_cacheable_tokens(len(request["tokens"]))
        output = self._guide.generate(
            evaluator,
            request["tokens"],
            request["grammar"],
            request["max_tokens"],
            report,
            known=request.get("known_tokens", []),
            scorer=_build_scorer(request),
        )
        return _build_reply(output) | EngineReply(work=_build_stats(evaluator.tally, request))

    def generate_reference(self, request: EngineRequest) -> EngineReply:
        """Continue a prompt under a grammar with the reference implementation (`reference.py`)."""
        self._require_llama()
        evaluator = self._require_context()
        evaluator.forget()
        return _build_reply(
            generate_by_reference(
                self._guide,
                evaluator,
                request["tokens"],
                request["grammar"],
                request["max_tokens"],
                scorer=_build_scorer(request),
            )
        )

    def encode_given_text(self, request: EngineRequest) -> EngineReply:
        """Encode a given text under a grammar."""
        self._require_llama()
        output = self._guide.encode_given_text(
            request["text"],
            request["grammar"],
            request["max_tokens"],
            is_scored=request.get("scoring") is not None,
        )
        return _build_reply(output)

    def detokenize(self, request: EngineRequest) -> EngineReply:
        """Return the text of tokens."""
        return EngineReply(
            text=b"".join(map(self._require_llama().piece, request["tokens"])).decode(
                "utf-8", "replace"
            )
        )

    def digest_logits(self, request: EngineRequest) -> EngineReply:
        """Return the digest of the logits after some tokens, for tests of determinism."""
        evaluator = self._require_context()
        evaluator.tally = EvaluationTally()
        evaluator.prompt_tokens = None
        logits = evaluator.evaluate(
            request["tokens"], batch_tokens=request.get("max_tokens", BATCH_TOKENS)
        )
        return EngineReply(
            logits=compute_logits_digest(logits), work=_build_stats(evaluator.tally, request)
        )

    def forget(self, _request: EngineRequest) -> EngineReply:
        """Clear the context's memory and saved prefixes."""
        self._require_context().forget()
        return EngineReply()

    def _report(self, phase: str, done: int, total: int, text: str) -> None:
        write_message(self._replies, EngineReply(progress=(phase, done, total, text)))

    def _require_llama(self) -> engine.Llama:
        if self._llama is None:
            raise EngineFault("the engine has loaded no model; request `load` first")
        return self._llama

    def _require_context(self) -> LlamaContext:
        if self._context is None:
            raise EngineFault(
                "the engine has loaded a vocabulary without weights; use a LlamaModel to generate"
            )
        return self._context


OPERATIONS: Mapping[str, Callable[[EngineWorker, EngineRequest], EngineReply]] = {
    "hello": EngineWorker.hello,
    "load": EngineWorker.load,
    "tokenize": EngineWorker.tokenize,
    "generate": EngineWorker.generate,
    "reference": EngineWorker.generate_reference,
    "follow": EngineWorker.encode_given_text,
    "text": EngineWorker.detokenize,
    "logits": EngineWorker.digest_logits,
    "forget": EngineWorker.forget,
}
"""Operations by name."""


def count_cacheable_tokens(prompt_tokens: int) -> int:
    """Return how many prompt tokens may be warm by the gas rules: those of whole blocks.

    Source: `precompiles.warm_prefixes`.
    """
    return prompt_tokens - prompt_tokens % PROMPT_BLOCK_TOKENS


def _build_scorer(request: EngineRequest) -> StepScorer | None:
    scoring = request.get("scoring")
    return None if scoring is None else StepScorer(Scoring(scoring))


def _build_reply(output: GuidedOutput) -> EngineReply:
    return EngineReply(
        text=output.text,
        tokens=output.tokens,
        forced_tokens=output.forced_tokens,
        is_complete=output.is_complete,
        margin=None if output.margin is None else _encode_margin(output.margin),
        surprisal=output.surprisal,
        tail_tokens=output.tail_tokens,
    )


def _encode_margin(margin: Margin) -> MarginMessage:
    return MarginMessage(
        gap=margin.gap,
        token_index=margin.token_index,
        chosen=margin.chosen,
        other=margin.other,
    )


def _build_stats(tally: EvaluationTally, request: EngineRequest) -> StatsMessage:
    prompt_tokens = len(request["tokens"])  # Known and forced tokens may have been reused as well.
    return StatsMessage(
        evaluated_tokens=tally.decoded_tokens,
        reused_tokens=min(tally.kept_tokens + tally.restored_tokens, prompt_tokens),
        restored_tokens=min(tally.restored_tokens, prompt_tokens),
    )


def _require_unchanged(message: LoadMessage) -> None:
    for role, file in (("model", message["model"]), ("adapter", message["adapter"])):
        if file is None:
            continue
        try:
            stamp = FileStamp.from_path(_get_path(file))
        except OSError as error:
            raise EngineFault(
                f"{role} file {file['path']} is missing: {error.strerror}; restore it"
            ) from error
        if stamp.to_message() != file:
            raise EngineFault(
                f"{role} file {file['path']} changed since its SHA-256 was computed; start again "
                "with the new file"
            )


def _get_path(file: FileMessage) -> Path:
    return Path(file["path"])


def _resolve_context_tokens(message: LoadMessage, llama: engine.Llama) -> int:
    """Return the context length: as configured, or as trained, up to a limit."""
    trained, context_tokens = llama.trained_context_tokens, message["context_tokens"]
    if trained == 0:
        raise ConfigError(
            f"model file {message['model']['path']} does not specify its context length; convert "
            "it again"
        )
    if context_tokens is None:
        return min(trained, engine.MAX_DEFAULT_CONTEXT_TOKENS)
    if not 0 < context_tokens <= trained:
        raise ConfigError(
            f"invalid context_tokens {context_tokens}: must be 1 to {trained} for this model"
        )
    return context_tokens


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Serve requests until the parent closes the pipe."""
    worker = EngineWorker(replies)
    while (request := read_request(requests)) is not None:
        write_message(replies, worker.handle_request(request))


def exit_with_parent(parent: int) -> None:
    """Exit once the parent process has exited.

    The end of the pipe is not sufficient: a process that the parent forked may hold the pipe open,
    and during a generation the pipe is not read.
    """
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK_SECONDS)
    os._exit(1)


def main() -> None:
    """Serve stdin and stdout; redirect the output of libraries to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent handles Ctrl-C.
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=exit_with_parent, args=(os.getppid(),), daemon=True).start()
    with suppress(BrokenPipeError):
        serve(requests, replies)
    sys.stderr.flush()
    os._exit(0)  # No state to save; skips the engine's destructors.


if __name__ == "__main__":
    main()
