"""Locks of objects shared between threads, kept consistent across `os.fork`.

A forked child has only the thread that forked. A lock held by another thread would stay locked
forever, and half-finished work would stay half-finished. A fork therefore waits for all locks.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class ForkAware(Protocol):
    """An object that reinitialises itself in a forked child."""

    @property
    def lock(self) -> threading.RLock:
        """The lock that protects the object's state."""

    def after_fork(self) -> None:
        """Reinitialise the object in a forked child; the lock is held."""


_fork_aware_objects: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_lock_holders: list[ForkAware] = []
_fork_lock = threading.Lock()
"""Serialises forks; protects `_lock_holders`."""


def register_for_forks(shared: ForkAware) -> None:
    """Make forks wait for the lock of `shared`, and call `shared.after_fork` in the child."""
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
