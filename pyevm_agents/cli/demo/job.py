"""A demo with a page: its options, what it runs on, and how its result is written."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import require_file_path, write_output_file
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.scenarios.trading.demo import DEFAULT_POST_COUNT
from pyevm_agents.scenarios.trading.posts import read_posts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.tools.inspect import SlowStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Options of the scenarios with a page: all have `--html`, trading and loan `--ideal`."""

    posts: int | None
    html: Path | None
    ideal: bool

    def require_none(self) -> None:
        """Reject the options for another scenario.

        Raises: click.UsageError.
        """
        self.require_no_posts()
        if self.html is not None:
            raise click.UsageError(
                "--html is for --scenario trading, loan, run and council; omit it"
            )
        self.require_no_ideal()

    def require_no_ideal(self) -> None:
        """Reject the scripted ideal.

        Raises: click.UsageError.
        """
        if self.ideal:
            raise click.UsageError("--ideal is for --scenario trading and loan; omit it")

    def require_no_posts(self) -> None:
        """Reject a number of posts.

        Raises: click.UsageError.
        """
        if self.posts is not None:
            raise click.UsageError("--posts is for --scenario trading; omit it")

    def require_consistent(self, record_path: Path | None) -> None:
        """Reject options that do not fit together, and a page that can't be written.

        Raises: click.UsageError; ConfigError.
        """
        if self.ideal and record_path is not None:
            raise click.UsageError("--record: records what the model wrote; omit --ideal")
        if self.html is not None:
            require_file_path(self.html)


def add_demo_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of scenarios with a page to a command, which gets them as `options`."""
    return add_option_group(command, "options", DemoOptions, _OPTIONS)


_OPTIONS = (
    click.option(
        "--posts", type=click.IntRange(1, len(read_posts().posts)), metavar="N",
        help=f"trading: The first N of {len(read_posts().posts)} posts.  "
        f"[default: {DEFAULT_POST_COUNT}]",
    ),
    click.option(
        "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="trading, loan, run, council: Write the decisions or runs as a self-contained page.",
    ),
    click.option(
        "--ideal", is_flag=True,
        help="trading, loan: Run the scripted ideal in place of the model.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoJob:
    """What a demo runs on, and where its result goes."""

    chain: Chain
    """Has the model and the account."""

    options: DemoOptions
    model: Mapping[str, str]
    """Its name and digest."""

    watch: SlowStatus
    keep: Callable[[Chain, str], None]
    """Gets the chain of the runs, and what they are."""

    as_json: bool
    started: float = field(default_factory=time.monotonic)
    """Seconds of a monotonic clock."""

    def finish(
        self,
        chain: Chain,
        content: str,
        *,
        serialize: Callable[[float], Mapping[str, object]],
        print_result: Callable[[float], None],
        build_page: Callable[[], str],
    ) -> None:
        """Print the result, write its page if there is a path, and keep the chain.

        Input:
            chain, content: the chain of the runs, and what they are.
            serialize, print_result: get the seconds that the demo took.
            build_page: returns the page as HTML.

        Raises: AgentsError: the page can't be written.
        """
        seconds = time.monotonic() - self.started
        if self.as_json:
            click.echo(json.dumps(serialize(seconds), indent=2, ensure_ascii=False))
        else:
            print_result(seconds)
        if self.options.html is not None:
            write_output_file(self.options.html, build_page())
            self.watch.show_status(f"written: {self.options.html}")
        self.keep(chain, content)
