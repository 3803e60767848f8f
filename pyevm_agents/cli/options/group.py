"""Options that a command gets together, as one value."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def add_option_group(
    command: Callable[..., None],
    parameter: str,
    build: Callable[..., object],
    options: Sequence[Callable[..., Any]],
) -> Callable[..., None]:
    """Add options to a command, as one parameter.

    Input:
        build: a dataclass, or a function that returns the parameter's value. The parameters are the
            names of the options' values; one without such an option needs a default.
        options: click's decorators, in the order of the help.
    """
    names = [*inspect.signature(build).parameters]

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        group = build(**{name: values.pop(name) for name in names if name in values})
        command(*arguments, **values, **{parameter: group})

    for option in reversed(options):
        run = option(run)
    return run
