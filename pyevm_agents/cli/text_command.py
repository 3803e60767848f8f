"""Commands whose last argument is a text, which the shell splits into words without quotes."""

from __future__ import annotations

import click


class TextCommand(click.Command):
    """A command that tells a user to quote the text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; return nothing that is left."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            *_, text = (each for each in self.params if isinstance(each, click.Argument))
            name = text.make_metavar(ctx).strip("[]")
            ctx.fail(f"Got unexpected extra arguments ({' '.join(rest)}); put {name} in quotes")
        return rest
