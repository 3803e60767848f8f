"""The table of methods: a name, what it takes, and the function that answers.

    @METHODS.method("eth_getBalance", address, optional(block, LATEST))
    def get_balance(rpc: Rpc, account: Address, block: BlockId) -> str: ...

Errors call a parameter as its function does, in camel case.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Read = Callable[[object, str], Any]
    Answer = Callable[..., object]


AnswerT = TypeVar("AnswerT", bound="Answer")


@final
@dataclass(frozen=True, slots=True)
class Optional:
    """A parameter that may be left out, or be null."""

    read: Read
    default: object


def optional(read: Read, default: object = None) -> Optional:
    """Let a parameter be left out."""
    return Optional(read, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method of JSON-RPC."""

    name: str
    answer: Answer
    parameters: tuple[Read | Optional, ...]
    names: tuple[str, ...]
    is_quick: bool
    """Whether it answers well within a millisecond; where it would wait it asks `Rpc` first."""

    @property
    def description(self) -> str:
        """The first line of what its function says of itself."""
        return (inspect.getdoc(self.answer) or "").split("\n", maxsplit=1)[0]

    def arguments(self, params: Sequence[object] | Mapping[str, object]) -> list[object]:
        """Read the parameters of a request, by place or by name.

        Raises: RpcError: one is missing, too many, or not what it should be.
        """
        values = [*params] if not hasattr(params, "keys") else self._by_place(params)  # type: ignore[arg-type]
        if len(values) > len(self.parameters):
            raise RpcError(
                INVALID_PARAMS,
                f"too many params: {self.name} takes at most {len(self.parameters)}, "
                f"not {len(values)}",
            )
        return [*self._read(values)]

    def _read(self, values: Sequence[object]) -> Iterator[object]:
        for index, (parameter, name) in enumerate(zip(self.parameters, self.names, strict=True)):
            value = values[index] if index < len(values) else None
            if isinstance(parameter, Optional):
                yield parameter.default if value is None else parameter.read(value, name)
            elif index >= len(values):
                raise RpcError(
                    INVALID_PARAMS, f"missing value for required argument {index}: {name}"
                )
            else:
                yield parameter(value, name)

    def _by_place(self, params: Mapping[str, object]) -> list[object]:
        unknown = [name for name in params if name not in self.names]
        if unknown:
            raise RpcError(
                INVALID_PARAMS,
                f"unknown params {', '.join(unknown)}: {self.name} takes {', '.join(self.names)}",
            )
        return [params.get(name) for name in self.names]


class Table:
    """Methods by name."""

    def __init__(self) -> None:
        """Begin empty."""
        self.methods: dict[str, Method] = {}

    def method(
        self, *told: str | Read | Optional, is_quick: bool = False
    ) -> Callable[[AnswerT], AnswerT]:
        """Enter a function: under a name or several, with what reads its parameters."""
        names = [one for one in told if isinstance(one, str)]
        parameters = tuple(one for one in told if not isinstance(one, str))

        def enter(answer: AnswerT) -> AnswerT:
            called = [*inspect.signature(answer).parameters][1:]
            if len(called) != len(parameters):
                raise TypeError(f"{names[0]}: {len(parameters)} readers for {called}")
            for name in names:
                self.methods[name] = Method(
                    name=name,
                    answer=answer,
                    parameters=parameters,
                    names=tuple(map(_camel, called)),
                    is_quick=is_quick,
                )
            return answer

        return enter


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
