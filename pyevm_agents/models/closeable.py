"""What is closed when a `with` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class Closeable(ABC):
    """A context manager that closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held. A second time does nothing."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
