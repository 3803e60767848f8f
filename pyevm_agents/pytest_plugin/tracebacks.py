"""How pytest tells what the kit refuses: by the test's own lines, and the message.

Frames of the kit and of web3.py say nothing to who wrote the test. `--full-trace` shows them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

ERRORS = {"pyevm_agents.errors": "AgentsError", "web3.exceptions": "Web3Exception"}
"""Where the roots of errors are whose messages say enough; looked up where somebody has imported
them."""

OURS = "pyevm_agents."
KIT = (f"{OURS}testing.", f"{OURS}models.", "web3.")
"""Modules that a test calls; the plugin's own call the test."""

REVERTED = "execution reverted: "
"""What begins the note of `pyevm_agents.testing.web3_connection` on an error of web3.py."""

INSTALLED = frozenset(("site-packages", "dist-packages"))
"""Folders of what is installed; an environment may lie in the suite's root."""

COLOURS = {"-": {"red": True}, "+": {"green": True}, "@": {"cyan": True}}
"""Of the lines of a diff, by their first character."""


class FailureMessage:
    """A failure without a traceback, a diff in colours."""

    def __init__(self, text: str) -> None:
        """Tell a text; its first line is the summary."""
        self._text = text
        self.reprcrash = SimpleNamespace(message=get_first_line(text))

    def __str__(self) -> str:
        """Return the text."""
        return self._text

    def toterminal(self, terminal: Any) -> None:  # noqa: ANN401 - pytest's, not public
        """Write the text."""
        for line in self._text.split("\n"):
            terminal.line(line, **COLOURS.get(line[:1], {}))


def is_refusal(error: BaseException) -> bool:
    """Whether the message of an error says all: it is the kit's, or web3.py's."""
    loaded = ((sys.modules.get(module), name) for module, name in ERRORS.items())
    roots = tuple(getattr(module, name) for module, name in loaded if module is not None)
    return isinstance(error, roots)


def trim_kit_frames(traceback: TracebackType | None, root: Path) -> bool:
    """End a traceback where a test calls the kit; return whether there are lines of a test.

    One that does not pass through the kit is left as it is. Lines of a test are those of files in
    the root of its suite, but for what is installed there.
    """
    has_test = False
    while traceback is not None:
        has_test = has_test or _is_of_test(traceback, root)
        following = traceback.tb_next
        if following is not None and _get_module_name(following).startswith(KIT):
            if has_test:
                traceback.tb_next = None
            return has_test
        traceback = following
    return True


def trim_inner_kit_frames(traceback: TracebackType | None, root: Path) -> None:
    """Leave out the kit where a test calls it, and it a function of the test's in turn."""
    last, is_kits = None, False
    while traceback is not None:
        if _is_of_test(traceback, root):
            if last is not None and is_kits:
                last.tb_next = traceback
            last, is_kits = traceback, False
        is_kits = is_kits or _get_module_name(traceback).startswith(OURS)
        traceback = traceback.tb_next


def drop_causes(error: BaseException, root: Path) -> None:
    """Forget what a refusal came of, where no line of a test is in that: the message says it."""
    cause = error.__cause__ or error.__context__
    if cause is not None and not any(_is_of_test(frame, root) for frame in _iter_frames(cause)):
        error.__cause__ = None
        error.__suppress_context__ = True


def _iter_frames(error: BaseException | None) -> Iterator[TracebackType]:
    """Yield the frames of an error, and of what it came of."""
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            yield traceback
            traceback = traceback.tb_next
        error = error.__cause__ or error.__context__


def summarize_error(error: BaseException) -> str:
    """Return a line about an error: of a revert that web3.py tells in hexadecimal, its words."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return get_first_line(next((note for note in notes if note.startswith(REVERTED)), str(error)))


def get_first_line(text: str) -> str:
    """Return what a message begins with."""
    return text.split("\n", 1)[0]


def _is_of_test(traceback: TracebackType, root: Path) -> bool:
    file = Path(traceback.tb_frame.f_code.co_filename)
    is_ours = _get_module_name(traceback).startswith(OURS)
    return file.is_relative_to(root) and INSTALLED.isdisjoint(file.parts) and not is_ours


def _get_module_name(traceback: TracebackType) -> str:
    return f"{traceback.tb_frame.f_globals.get('__name__', '')}."
