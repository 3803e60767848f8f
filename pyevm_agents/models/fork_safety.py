"""What threads share, kept whole over a fork.

A child process has only the thread that forked. A lock that another one held would stay locked
for ever, and what that one had half done would stay half done; so a fork waits for both.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that begins anew in a child process."""

    @property
    def lock(self) -> threading.RLock:
        """Held while it works."""

    def after_fork(self) -> None:
        """Begin anew; the lock is held."""


_forked: weakref.WeakSet[Forked] = weakref.WeakSet()
_held: list[Forked] = []
_forking = threading.Lock()
"""One fork at a time: `_held` belongs to it."""


def keep_over_forks(shared: Forked) -> None:
    """Have forks wait for `shared`, and tell it that it is in a child."""
    _forked.add(shared)


def _before() -> None:
    _forking.acquire()
    _held.extend(sorted(_forked, key=id))
    for shared in _held:
        shared.lock.acquire()


def _release() -> None:
    while _held:
        _held.pop().lock.release()
    _forking.release()


def _in_child() -> None:
    for shared in _held:
        shared.after_fork()
    _release()


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
