"""What a user said, and what is a default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.core import ParameterSource

if TYPE_CHECKING:
    import click


def is_given(context: click.Context, name: str | None) -> bool:
    """Whether the user said something about an option, which a command has by this name."""
    return context.get_parameter_source(name or "") != ParameterSource.DEFAULT
