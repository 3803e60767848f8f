"""What threads share, kept whole over a fork.

A child process has only the thread that forked. A lock that another one held would stay locked
for ever, and what that one had half done would stay half done; so a fork waits for both.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class ForkAware(Protocol):
    """Something that begins anew in a child process."""

    @property
    def lock(self) -> threading.RLock:
        """Held while it works."""

    def after_fork(self) -> None:
        """Begin anew; the lock is held."""


_fork_aware_objects: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_lock_holders: list[ForkAware] = []
_fork_lock = threading.Lock()
"""One fork at a time: `_lock_holders` belongs to it."""


def register_for_forks(shared: ForkAware) -> None:
    """Have forks wait for `shared`, and tell it that it is in a child."""
    _fork_aware_objects.add(shared)


def _acquire_locks() -> None:
    _fork_lock.acquire()
    _lock_holders.extend(sorted(_fork_aware_objects, key=id))
    for shared in _lock_holders:
        shared.lock.acquire()


def _release_locks() -> None:
    while _lock_holders:
        _lock_holders.pop().lock.release()
    _fork_lock.release()


def _reset_in_child() -> None:
    for shared in _lock_holders:
        shared.after_fork()
    _release_locks()


os.register_at_fork(
    before=_acquire_locks, after_in_parent=_release_locks, after_in_child=_reset_in_child
)
