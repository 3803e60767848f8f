"""The chooser that is installed with this package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.chooser import Chooser
    from pyevm_agents.models.chooser.sentence_chooser import SentenceChooser

FILE = Path(__file__).with_name("default_chooser.gguf")

DIGEST = bytes.fromhex("b8d420aff831eaf659e843450eb580899eb15e48fb37dc3e23559f759cf47e4d")
"""SHA-256 of the file."""


@cache
def find_chooser(digest: bytes) -> Chooser:
    """Return the installed chooser with a digest, one for all chains of the process.

    Raises:
        ConfigError: it is another one.
    """
    if digest != DIGEST:
        raise ConfigError(
            f"the chain's chooser has SHA-256 {digest.hex()}, that of this version has "
            f"{DIGEST.hex()}; open the chain with the version of pyevm-agents that created it"
        )
    return _Installed()


class _Installed:
    """The installed chooser, which is read on first use. Implements `Chooser`."""

    digest = DIGEST

    def __init__(self) -> None:
        self._lock = Lock()
        self._chooser: SentenceChooser | None = None

    def _open(self) -> SentenceChooser:
        with self._lock:
            if self._chooser is None:
                # NumPy is imported with it.
                from pyevm_agents.models.chooser.chooser_file import open_chooser  # noqa: PLC0415

                opened = open_chooser(FILE)
                if opened.digest != DIGEST:
                    raise ConfigError(
                        f"the installed file {FILE} has SHA-256 {opened.digest.hex()}, must have "
                        f"{DIGEST.hex()}; install pyevm-agents again"
                    )
                self._chooser = opened
            return self._chooser

    def count_mood_tokens(self, sentence: str) -> int:
        return self._open().count_mood_tokens(sentence)

    def count_call_tokens(self, sentence: str, call: str) -> int:
        return self._open().count_call_tokens(sentence, call)

    def score_moods(self, sentences: Sequence[str]) -> tuple[int, ...]:
        return self._open().score_moods(sentences)

    def score_calls(self, pairs: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        return self._open().score_calls(pairs)
