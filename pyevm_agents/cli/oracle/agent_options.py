"""Options of commands that deploy agents: the model, iterations, and settings of the oracle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
from eth_typing import Address

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.models import is_given
from pyevm_agents.cli.options.sender import oracle_option
from pyevm_agents.cli.options.types import ADDRESS_TYPE, DURATION_TYPE
from pyevm_agents.contract_intelligence.agent_deployment import MAX_ITERATIONS, OracleSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., None]

DEFAULT_MODEL = "llama_model_3"
"""An alias of the default model of nodes and workers."""

MIN_CALLBACK_GAS, MAX_CALLBACK_GAS = 100_000, 11_000_000
MAX_STEP_SECONDS, MAX_LIFETIME_SECONDS = 7 * 86_400, 30 * 86_400
"""Source of the maxima: contracts/callback/AgentOracle.sol."""

iterations_option = click.option(
    "--iterations", type=click.IntRange(1, 2**16 - 1), default=MAX_ITERATIONS, show_default=True,
    metavar="N",
    help="How many times a run asks the model at most. All but the last can use a tool.",
)  # fmt: skip

optional_oracle_option = click.option(
    "--oracle", "oracle_address", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="For a chain without the executor: the oracle whose workers answer the agent.",
)  # fmt: skip


def build_model_option(owners: str) -> Callable[[Command], Command]:
    """Return the option `--model`. Input: owners: of the model, with a verb: `the workers have`."""
    return click.option(
        "--model", default=DEFAULT_MODEL, show_default=True, metavar="NAME",
        help=f"The model, by a name that {owners}.",
    )  # fmt: skip


def add_oracle_settings(
    *, callback_gas: int, is_optional: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that adds `--oracle` and the agent's settings for the oracle.

    The command gets one parameter, `oracle_settings`, None without an oracle.

    Input:  callback_gas: the default. is_optional: whether the oracle can be omitted.
    """
    options: tuple[Callable[[Command], Command], ...] = (
        optional_oracle_option if is_optional else oracle_option,
        *_build_options(callback_gas, " Needs --oracle." if is_optional else ""),
    )
    return partial(
        add_option_group, parameter="oracle_settings", build=_read_settings, options=options
    )


def _build_options(callback_gas: int, note: str) -> tuple[Callable[[Command], Command], ...]:
    return (
        click.option(
            "--callback-gas", type=click.IntRange(MIN_CALLBACK_GAS, MAX_CALLBACK_GAS),
            default=callback_gas, show_default=True, metavar="GAS",
            help="Gas of each callback, for the tool and the next request; see `pyevm-agents "
            f"estimate --callback`.{note}",
        ),
        click.option(
            "--step-timeout", type=DURATION_TYPE, default="1h", show_default=True, metavar="TIME",
            help=f"How long a request waits for a worker, at most 7d.{note}",
        ),
        click.option(
            "--run-timeout", type=DURATION_TYPE, default="10h", show_default=True, metavar="TIME",
            help="After so long anybody may end a run; with --step-timeout at most 30d."
            f"{note}",
        ),
    )  # fmt: skip


def _read_settings(
    oracle_address: bytes | None, callback_gas: int, step_timeout: int, run_timeout: int
) -> OracleSettings | None:
    """Return an agent's settings for the oracle; None without one.

    Raises: click.UsageError: a time is above the oracle's limits, or a setting comes without an
        oracle.
    """
    if oracle_address is None:
        context = click.get_current_context()
        for name in ("callback_gas", "step_timeout", "run_timeout"):
            if is_given(context, name):
                raise click.UsageError(f"--{name.replace('_', '-')}: needs --oracle ADDRESS")
        return None
    if not 1 <= step_timeout <= MAX_STEP_SECONDS:
        raise click.UsageError(f"--step-timeout {step_timeout:,} s: must be 1 s to 7d")
    if run_timeout + step_timeout > MAX_LIFETIME_SECONDS:
        raise click.UsageError(
            f"--run-timeout {run_timeout:,} s: must be at most 30d with --step-timeout"
        )
    return OracleSettings(
        oracle=Address(oracle_address),
        callback_gas=callback_gas,
        step_seconds=step_timeout,
        run_seconds=run_timeout,
    )
