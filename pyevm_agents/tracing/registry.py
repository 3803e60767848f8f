"""Tracers by the names that `debug_trace*` requests give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.tracing.call_tracer import CallOptions, CallTracer
from pyevm_agents.tracing.flat_call_tracer import FlatCallTracer, FlatOptions, Place
from pyevm_agents.tracing.four_byte_tracer import FourByteTracer
from pyevm_agents.tracing.mux_tracer import MuxTracer
from pyevm_agents.tracing.options import Options
from pyevm_agents.tracing.prestate_tracer import PrestateOptions, PrestateTracer
from pyevm_agents.tracing.struct_log_tracer import StructLogOptions, StructLogTracer
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.tracing.tracer import Tracer

NOT_THE_TRACERS = frozenset(
    {"timeout", "reexec", "stateOverrides", "blockOverrides", "txIndex", "overrides"}
)
"""Fields of a request's options that speak of the execution; who executes reads them."""


def tracer_from(
    request: object = None, *, place: Place | None = None, first_log_index: int = 0
) -> Tracer:
    """Return the tracer that a `debug_trace*` request asks for.

    Input:  the request's last argument, `{"tracer": …, "tracerConfig": {…}}` or the options of
            struct logs; where the transaction stands, if it is mined; how many logs the block's
            earlier transactions wrote.
    Raises: ConfigError: no tracer has the name, or its options are none of its own.
    """
    options = Options("trace options", request)
    fields = {name: value for name, value in options.rest().items() if name not in NOT_THE_TRACERS}
    name = fields.pop("tracer", None)
    settings = fields.pop("tracerConfig", None)
    if name is None or name == "":
        return _struct_logs(Options("struct logs", fields))
    # Clients send the options of struct logs along with any tracer's name; geth ignores them.
    return _named(name, settings, place, first_log_index)


def _named(name: object, settings: object, place: Place | None, first_log_index: int) -> Tracer:
    if not isinstance(name, str):
        raise ConfigError(f"tracer is a name, not {name!r}; known are {_known_names()}")
    if name == "muxTracer":
        parts = Options(name, settings).rest()
        return MuxTracer(
            {part: _named(part, of, place, first_log_index) for part, of in parts.items()}
        )
    make = TRACERS.get(name)
    if make is None:
        kind = "tracers in JavaScript are not run here" if "{" in name else "no such tracer"
        raise ConfigError(f"tracer {name[:80]!r}: {kind}; known are {_known_names()}")
    return make(Options(name, settings), place, first_log_index)


def _known_names() -> str:
    return ", ".join([*TRACERS, "muxTracer"])


def _struct_logs(options: Options) -> Tracer:
    # Older geth showed memory and return data unless told not to, newer geth where told to.
    memory, no_memory = options.flag("enableMemory"), options.flag("disableMemory")
    returned, no_returned = options.flag("enableReturnData"), options.flag("disableReturnData")
    wanted = StructLogOptions(
        stack=not options.flag("disableStack"),
        storage=not options.flag("disableStorage"),
        memory=memory and not no_memory,
        return_data=returned and not no_returned,
        limit=options.count("limit"),
    )
    options.flag("debug")  # geth prints on its own console.
    options.close()
    return StructLogTracer(wanted)


def _calls(options: Options, place: Place | None, first_log_index: int) -> Tracer:
    del place
    wanted = CallOptions(
        only_top_call=options.flag("onlyTopCall"),
        with_log=options.flag("withLog"),
        first_log_index=first_log_index,
    )
    options.close()
    return CallTracer(wanted)


def _flat_calls(options: Options, place: Place | None, first_log_index: int) -> Tracer:
    del first_log_index
    wanted = FlatOptions(
        convert_parity_errors=options.flag("convertParityErrors"),
        include_precompiles=options.flag("includePrecompiles"),
    )
    options.close()
    return FlatCallTracer(wanted, place)


def _prestate(options: Options, place: Place | None, first_log_index: int) -> Tracer:
    del place, first_log_index
    wanted = PrestateOptions(
        diff_mode=options.flag("diffMode"),
        code=not options.flag("disableCode"),
        storage=not options.flag("disableStorage"),
        include_empty=options.flag("includeEmpty"),
    )
    options.close()
    return PrestateTracer(wanted)


def _four_byte(options: Options, place: Place | None, first_log_index: int) -> Tracer:
    del place, first_log_index
    options.close()
    return FourByteTracer()


def _nothing(options: Options, place: Place | None, first_log_index: int) -> Tracer:
    del place, first_log_index
    options.close()
    return NoopTracer()


TRACERS: dict[str, Callable[[Options, Place | None, int], Tracer]] = {
    "callTracer": _calls,
    "prestateTracer": _prestate,
    "4byteTracer": _four_byte,
    "flatCallTracer": _flat_calls,
    "noopTracer": _nothing,
}
"""How each tracer is made. A muxTracer is made of these, and of others of its kind."""
