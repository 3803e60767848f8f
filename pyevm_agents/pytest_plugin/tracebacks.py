"""Short tracebacks for errors of the kit and of web3.py: the test's own lines, and the message.

`--full-trace` shows the frames of the kit and of web3.py, too.
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
"""The base classes of errors with short tracebacks, by module; looked up if it is imported."""

OURS = "pyevm_agents."
KIT = (f"{OURS}testing.", f"{OURS}models.", "web3.")
"""Modules that a test calls. The plugin's modules call the test."""

REVERTED = "execution reverted: "
"""The prefix of a revert's reason."""

INSTALLED = frozenset(("site-packages", "dist-packages"))
"""Folders of installed packages; an environment may be inside of the suite's root."""

COLOURS = {"-": {"red": True}, "+": {"green": True}, "@": {"cyan": True}}
"""Colours of a diff's lines, by the first character."""


class FailureMessage:
    """A failure without a traceback, a diff in colours."""

    def __init__(self, text: str) -> None:
        """Create a failure from a text; the first line is the summary."""
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
    """Return whether an error is the kit's or web3.py's."""
    loaded = ((sys.modules.get(module), name) for module, name in ERRORS.items())
    roots = tuple(getattr(module, name) for module, name in loaded if module is not None)
    return isinstance(error, roots)


def trim_kit_frames(traceback: TracebackType | None, root: Path) -> bool:
    """Cut a traceback where a test calls the kit; return whether lines of a test are left.

    A traceback without the kit is not changed. Lines of a test are those of files in the suite's
    root, without installed packages.
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
    """Remove the kit's frames between a test and a function of the test that the kit calls."""
    last, is_kits = None, False
    while traceback is not None:
        if _is_of_test(traceback, root):
            if last is not None and is_kits:
                last.tb_next = traceback
            last, is_kits = traceback, False
        is_kits = is_kits or _get_module_name(traceback).startswith(OURS)
        traceback = traceback.tb_next


def drop_causes(error: BaseException, root: Path) -> None:
    """Remove an error's cause if no line of a test is in there: the message contains the cause."""
    cause = error.__cause__ or error.__context__
    if cause is not None and not any(_is_of_test(frame, root) for frame in _iter_frames(cause)):
        error.__cause__ = None
        error.__suppress_context__ = True


def _iter_frames(error: BaseException | None) -> Iterator[TracebackType]:
    """Yield the frames of an error and of the causes."""
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            yield traceback
            traceback = traceback.tb_next
        error = error.__cause__ or error.__context__


def summarize_error(error: BaseException) -> str:
    """Return one line about an error: the reason of a revert, else the message's first line."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return get_first_line(next((note for note in notes if note.startswith(REVERTED)), str(error)))


def get_first_line(text: str) -> str:
    """Return the first line of a message."""
    return text.split("\n", 1)[0]


def _is_of_test(traceback: TracebackType, root: Path) -> bool:
    file = Path(traceback.tb_frame.f_code.co_filename)
    is_ours = _get_module_name(traceback).startswith(OURS)
    return file.is_relative_to(root) and INSTALLED.isdisjoint(file.parts) and not is_ours


def _get_module_name(traceback: TracebackType) -> str:
    return f"{traceback.tb_frame.f_globals.get('__name__', '')}."
