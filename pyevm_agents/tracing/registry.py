"""Tracers by name in `debug_trace*` requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.tracing.budget import TraceBudget
from pyevm_agents.tracing.call_tracer import CallTracer, CallTracerOptions
from pyevm_agents.tracing.erc7562_tracer import (
    DEFAULT_IGNORED_OPCODES,
    Erc7562Options,
    Erc7562Tracer,
)
from pyevm_agents.tracing.flat_call_tracer import (
    FlatCallOptions,
    FlatCallTracer,
    TransactionLocation,
)
from pyevm_agents.tracing.four_byte_tracer import FourByteTracer
from pyevm_agents.tracing.keccak_tracer import KeccakTracer
from pyevm_agents.tracing.mux_tracer import MuxTracer
from pyevm_agents.tracing.options import TracerOptions
from pyevm_agents.tracing.prestate_tracer import PrestateOptions, PrestateTracer
from pyevm_agents.tracing.struct_log_tracer import StructLogOptions, StructLogTracer
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.tracing.tracer import Tracer

EXECUTION_OPTIONS = frozenset(
    {"timeout", "reexec", "stateOverrides", "blockOverrides", "txIndex", "overrides"}
)
"""Options of a request that concern the execution, which the caller reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Traced:
    """A tracer's transaction, and the budget of the request."""

    place: TransactionLocation | None
    first_log_index: int
    budget: TraceBudget


def create_tracer(
    request: object = None,
    *,
    place: TransactionLocation | None = None,
    first_log_index: int = 0,
    budget: TraceBudget | None = None,
) -> Tracer:
    """Create the tracer of a `debug_trace*` request.

    Input:  the request's last parameter, `{"tracer": …, "tracerConfig": {…}}` or the options of
            struct logs; the transaction's location, if mined; the number of logs of the block's
            earlier transactions; the budget that the request's tracers share.
    Raises: ConfigError: the tracer is unknown, or an option is invalid.
    """
    options = TracerOptions("trace options", request)
    fields = {
        name: value for name, value in options.take_rest().items() if name not in EXECUTION_OPTIONS
    }
    traced = _Traced(place=place, first_log_index=first_log_index, budget=budget or TraceBudget())
    name = fields.pop("tracer", None)
    settings = fields.pop("tracerConfig", None)
    if name is None or name == "":
        return _create_struct_log_tracer(TracerOptions("struct logs", fields), traced.budget)
    # Clients send the options of struct logs with any tracer's name; geth ignores them.
    return _create_named_tracer(name, settings, traced)


def _create_named_tracer(name: object, settings: object, traced: _Traced) -> Tracer:
    if not isinstance(name, str):
        raise ConfigError(f"tracer {name!r}: must be a name, one of {_list_tracer_names()}")
    if name == "muxTracer":
        parts = TracerOptions(name, settings).take_rest()
        return MuxTracer(
            {part: _create_named_tracer(part, of, traced) for part, of in parts.items()}
        )
    make = TRACERS.get(name)
    if make is None:
        kind = "JavaScript tracers are not supported" if "{" in name else "unknown tracer"
        raise ConfigError(f"tracer {name[:80]!r}: {kind}; known are {_list_tracer_names()}")
    return make(TracerOptions(name, settings), traced)


def _list_tracer_names() -> str:
    return ", ".join([*TRACERS, "muxTracer"])


def _create_struct_log_tracer(options: TracerOptions, budget: TraceBudget) -> Tracer:
    # Older geth showed memory and return data unless disabled, newer geth only if enabled.
    memory, no_memory = options.take_flag("enableMemory"), options.take_flag("disableMemory")
    returned, no_returned = (
        options.take_flag("enableReturnData"),
        options.take_flag("disableReturnData"),
    )
    wanted = StructLogOptions(
        stack=not options.take_flag("disableStack"),
        storage=not options.take_flag("disableStorage"),
        memory=memory and not no_memory,
        return_data=returned and not no_returned,
        limit=options.take_count("limit"),
    )
    options.take_flag("debug")  # In geth, prints to its console.
    options.take_flag("stepsTracing")  # ape-foundry's, which anvil ignores.
    options.require_all_taken()
    return StructLogTracer(wanted, budget)


def _create_call_tracer(options: TracerOptions, traced: _Traced) -> Tracer:
    wanted = CallTracerOptions(
        only_top_call=options.take_flag("onlyTopCall"),
        with_log=options.take_flag("withLog"),
        first_log_index=traced.first_log_index,
    )
    return CallTracer(wanted, traced.budget)


def _create_flat_call_tracer(options: TracerOptions, traced: _Traced) -> Tracer:
    wanted = FlatCallOptions(
        convert_parity_errors=options.take_flag("convertParityErrors"),
        include_precompiles=options.take_flag("includePrecompiles"),
    )
    return FlatCallTracer(wanted, traced.place, traced.budget)


def _create_prestate_tracer(options: TracerOptions, traced: _Traced) -> Tracer:
    del traced
    wanted = PrestateOptions(
        diff_mode=options.take_flag("diffMode"),
        code=not options.take_flag("disableCode"),
        storage=not options.take_flag("disableStorage"),
        include_empty=options.take_flag("includeEmpty"),
    )
    return PrestateTracer(wanted)


def _create_erc7562_tracer(options: TracerOptions, traced: _Traced) -> Tracer:
    options.take_count("stackTopItemsSize")  # In geth, how much of the stack it copies.
    wanted = Erc7562Options(
        ignored_opcodes=options.take_opcodes("ignoredOpcodes", default=DEFAULT_IGNORED_OPCODES),
        with_log=options.take_flag("withLog"),
        first_log_index=traced.first_log_index,
    )
    return Erc7562Tracer(wanted, traced.budget)


TRACERS: dict[str, Callable[[TracerOptions, _Traced], Tracer]] = {
    "callTracer": _create_call_tracer,
    "prestateTracer": _create_prestate_tracer,
    "4byteTracer": lambda _options, _traced: FourByteTracer(),
    "flatCallTracer": _create_flat_call_tracer,
    "erc7562Tracer": _create_erc7562_tracer,
    "keccak256PreimageTracer": lambda _options, traced: KeccakTracer(traced.budget),
    "noopTracer": lambda _options, _traced: NoopTracer(),
}
"""Factories of tracers, which ignore unknown options, as in geth. A muxTracer combines them, nested
muxTracers included."""
