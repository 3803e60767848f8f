"""Table of JSON-RPC methods: name, parameter parsers and handler.

    @METHODS.method("eth_getBalance", parse_address, optional(parse_block_id, LATEST))
    def get_balance(rpc: RequestContext, account: Address, block: BlockId) -> str: ...

Error messages name a parameter as the handler does, in camel case.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    ParamParser = Callable[[object, str], Any]
    Handler = Callable[..., object]


HandlerT = TypeVar("HandlerT", bound="Handler")


@final
@dataclass(frozen=True, slots=True)
class OptionalParam:
    """A parameter that may be omitted or null."""

    parse: ParamParser
    default: object


def optional(read: ParamParser, default: object = None) -> OptionalParam:
    """Make a parameter optional."""
    return OptionalParam(read, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcMethod:
    """A JSON-RPC method."""

    name: str
    handler: Handler
    parameters: tuple[ParamParser | OptionalParam, ...]
    names: tuple[str, ...]
    is_quick: bool
    """Whether it takes well under a millisecond, but for a short transaction or call. It checks
    `RequestContext` before it blocks."""

    @property
    def description(self) -> str:
        """The first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").split("\n", maxsplit=1)[0]

    def parse_arguments(self, params: Sequence[object] | Mapping[str, object]) -> list[object]:
        """Parse the parameters of a request, by position or by name.

        Raises: RpcError: a parameter is missing, superfluous or invalid.
        """
        values = self.list_params(params)
        if len(values) > len(self.parameters):
            raise RpcError(
                INVALID_PARAMS,
                f"too many params: {self.name} takes at most {len(self.parameters)}, "
                f"not {len(values)}",
            )
        return [*self._parse(values)]

    def list_params(self, params: Sequence[object] | Mapping[str, object]) -> list[object]:
        """Return the parameters of a request by position, unparsed.

        Raises: RpcError: a name is unknown.
        """
        return [*params] if not hasattr(params, "keys") else self._order_by_position(params)  # type: ignore[arg-type]

    def _parse(self, values: Sequence[object]) -> Iterator[object]:
        for index, (parameter, name) in enumerate(zip(self.parameters, self.names, strict=True)):
            value = values[index] if index < len(values) else None
            if isinstance(parameter, OptionalParam):
                yield parameter.default if value is None else parameter.parse(value, name)
            elif index >= len(values):
                raise RpcError(
                    INVALID_PARAMS, f"missing value for required argument {index}: {name}"
                )
            else:
                yield parameter(value, name)

    def _order_by_position(self, params: Mapping[str, object]) -> list[object]:
        unknown = [name for name in params if name not in self.names]
        if unknown:
            raise RpcError(
                INVALID_PARAMS,
                f"unknown params {', '.join(unknown)}: {self.name} takes {', '.join(self.names)}",
            )
        return [params.get(name) for name in self.names]


class MethodTable:
    """Methods by name."""

    def __init__(self) -> None:
        self.methods: dict[str, RpcMethod] = {}

    def method(
        self, *parts: str | ParamParser | OptionalParam, is_quick: bool = False
    ) -> Callable[[HandlerT], HandlerT]:
        """Register a handler under one or several names, with the parsers of the parameters."""
        names = [part for part in parts if isinstance(part, str)]
        parameters = tuple(part for part in parts if not isinstance(part, str))

        def register(answer: HandlerT) -> HandlerT:
            called = [*inspect.signature(answer).parameters][1:]
            if len(called) != len(parameters):
                raise TypeError(f"{names[0]}: {len(parameters)} readers for {called}")
            for name in names:
                self.methods[name] = RpcMethod(
                    name=name,
                    handler=answer,
                    parameters=parameters,
                    names=tuple(map(_to_camel_case, called)),
                    is_quick=is_quick,
                )
            return answer

        return register


def _to_camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
