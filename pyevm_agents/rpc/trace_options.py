"""Options of `debug_trace*` requests.

A member of `tracerConfig` that the tracer does not know is ignored, as in geth. An unknown option
beside it is refused: a misspelt `stateOverrides` would trace another call.

Source: geth, eth/tracers/api.go, `TraceConfig` and `TraceCallConfig`; eth/tracers/logger, `Config`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.rpc.params import invalid_param_error, parse_object, parse_uint64
from pyevm_agents.vm import FORKS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyevm_agents.vm import Fork

STRUCT_LOG_OPTIONS = (
    *("disableMemory", "disableReturnData", "disableStack", "disableStorage"),
    *("enableMemory", "enableReturnData", "limit", "debug"),
    "stepsTracing",  # ape-foundry's; anvil ignores it
)
TRACE_OPTIONS = ("tracer", "tracerConfig", "timeout", "reexec", "overrides", *STRUCT_LOG_OPTIONS)
CALL_OPTIONS = ("stateOverrides", "blockOverrides", "txIndex")


FORK_TIMES = {f"{name}Time": name for name in FORKS}
"""geth's names of the forks' times in a chain config."""


def parse_trace_options(value: object, name: str) -> Mapping[str, object]:
    """Parse the options of a mined transaction's trace, without those that are null."""
    return _take_known(parse_object(value, name), TRACE_OPTIONS, name)


def parse_call_trace_options(value: object, name: str) -> Mapping[str, object]:
    """Parse the options of a call's trace, without those that are null."""
    return _take_known(parse_object(value, name), (*TRACE_OPTIONS, *CALL_OPTIONS), name)


def choose_fork(options: Mapping[str, object], own: str, timestamp: int) -> Fork | None:
    """Return the fork whose rules `overrides` asks for; None for the chain's own.

    Input:  the options; the name of the chain's fork, which it has from its first block on; the
            time of the block.
    Source: geth, `overrideConfig`.
    Raises: RpcError: another field of a chain config, or a fork that this node does not have.
    """
    name = "options.overrides"
    form = parse_object(options.get("overrides", {}), name)
    if unknown := sorted(form.keys() - FORK_TIMES.keys()):
        raise invalid_param_error(name, unknown, f"must be {', '.join(FORK_TIMES)}")
    names = [*FORKS]
    times = dict.fromkeys(names[: names.index(own) + 1], 0)
    for field, value in form.items():
        if value is not None:
            times[FORK_TIMES[field]] = parse_uint64(value, f"{name}.{field}")
    active = [each for each in names if times.get(each, timestamp + 1) <= timestamp]
    if not active:
        raise invalid_param_error(name, dict(form), f"the oldest fork here is {names[0]}")
    return None if active[-1] == own else FORKS[active[-1]]


def _take_known(
    form: Mapping[str, object], known: Collection[str], name: str
) -> Mapping[str, object]:
    """Return the options that are not null by geth's names, whose case does not matter there.

    Raises: RpcError: an option is unknown.
    """
    names = {option.lower(): option for option in known}
    if unknown := sorted(option for option in form if option.lower() not in names):
        raise invalid_param_error(name, unknown, f"must be options of {', '.join(known)}")
    return {names[option.lower()]: entry for option, entry in form.items() if entry is not None}
