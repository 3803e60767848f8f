"""Options of a command that it gets together, as one value."""

from __future__ import annotations

import dataclasses
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def add_option_group(
    command: Callable[..., None],
    parameter: str,
    kind: type[Any],
    options: Sequence[Callable[..., Any]],
) -> Callable[..., None]:
    """Add options to a command, which gets them as one parameter.

    Input:
        kind: a dataclass whose fields are the names of the options' values.
        options: click's decorators, in the order of the help.
    """
    names = [each.name for each in dataclasses.fields(kind)]

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        group = kind(**{name: values.pop(name) for name in names})
        command(*arguments, **values, **{parameter: group})

    for option in reversed(options):
        run = option(run)
    return run
