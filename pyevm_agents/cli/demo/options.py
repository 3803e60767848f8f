"""Options of `pyevm-agents demo` that some scenarios have and others refuse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import require_file_path
from pyevm_agents.cli.agent.extra import require_agents_extra
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.models import is_given
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.record import require_fixture_path
from pyevm_agents.scenarios.swap.world import SWAP_CHAIN_ID
from pyevm_agents.scenarios.trading.demo import DEFAULT_POST_COUNT
from pyevm_agents.scenarios.trading.posts import read_posts

if TYPE_CHECKING:
    from collections.abc import Callable

WALLETS = ("wallet", "callback")
STORED = ("wallet", "swap", "trading", "loan", "run", "council")
FITTING = {
    "prompt": ("--prompt", WALLETS, "the others have requests of their own"),
    "assumes_yes": ("--yes", WALLETS, "the others ask nothing"),
    "posts": ("--posts", ("trading",), "omit it"),
    "fork_url": ("--fork-url", ("swap",), "omit it"),
    "router": ("--router", ("swap",), "omit it"),
    "token": ("--token", ("swap",), "omit it"),
    "chain_id": ("--chain-id", ("swap",), "omit it"),
    "store_path": ("--store", STORED, "callback measures inference"),
    "record_path": ("--record", STORED, "use `pyevm-agents record --scenario callback`"),
}
"""Options that not every scenario has: the flag, the scenarios, and the next step."""

NOT_IDEAL = {"--prompt": "prompt", "--record": "record_path"}
"""Options that exclude `--ideal`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Options of the scenarios."""

    posts: int | None
    fork_url: str | None
    router: bytes | None
    token: bytes | None
    chain_id: int | None
    html: Path | None
    ideal: bool
    record_path: Path | None

    def require_fitting(self, scenario: str) -> None:
        """Reject options that do not fit the scenario or one another, and files without a folder.

        Raises: click.UsageError, ConfigError.
        """
        context = click.get_current_context()
        for name, (flag, scenarios, step) in FITTING.items():
            if is_given(context, name) and scenario not in scenarios:
                raise click.UsageError(f"{flag} is for --scenario {', '.join(scenarios)}; {step}")
        self._require_consistent_fork(
            {
                name
                for name in ("fork_url", "router", "token", "chain_id")
                if is_given(context, name)
            }
        )
        for flag, name in NOT_IDEAL.items() if self.ideal else ():
            if is_given(context, name):
                raise click.UsageError(f"{flag}: must be of a run of the model; omit --ideal")
        self._require_files()
        if scenario == "run":
            require_agents_extra()

    def _require_files(self) -> None:
        if self.html is not None:
            require_file_path(self.html)
        if self.record_path is not None:
            require_fixture_path(self.record_path)

    @staticmethod
    def _require_consistent_fork(given: set[str]) -> None:
        if "fork_url" not in given:
            for name in ("router", "token"):
                if name in given:
                    raise click.UsageError(
                        f"--{name}: needs --fork-url URL; a chain of its own has new contracts"
                    )
        elif not {"router", "token"} <= given:
            raise click.UsageError("--fork-url: needs --router ADDRESS and --token ADDRESS")
        elif "chain_id" in given:
            raise click.UsageError("--chain-id: a fork has the ID of the remote chain; omit it")


def add_demo_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of scenarios to a command, as the parameter `options`."""
    return add_option_group(command, "options", DemoOptions, _OPTIONS)


_OPTIONS = (
    click.option(
        "--posts", type=click.IntRange(1, len(read_posts().posts)), metavar="N",
        help=f"trading: The first N of {len(read_posts().posts)} posts.  "
        f"[default: {DEFAULT_POST_COUNT}]",
    ),
    click.option(
        "--fork-url", metavar="URL",
        help="swap: Node of a chain to fork in this process; URL@BLOCK names a block. Nothing is "
        "sent to it.  [default: a chain of its own]",
    ),
    click.option(
        "--router", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="swap: A router like Uniswap V2's on the fork.",
    ),
    click.option(
        "--token", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="swap: A token of the fork that has a pool with the wrapped native token.",
    ),
    click.option(
        "--chain-id", type=click.IntRange(1, 2**63 - 1), metavar="ID",
        help="swap: Chain ID of a chain of its own, whose native currency the requests name.  "
        f"[default: {SWAP_CHAIN_ID}]",
    ),
    click.option(
        "--ideal", is_flag=True, help="Run the scripted ideal in place of the model."
    ),
    click.option(
        "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="Write the report as a self-contained page.",
    ),
    click.option(
        "--record", "record_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="Write the run's chain to a file that `pyevm-agents replay FILE` checks.",
    ),
)  # fmt: skip
