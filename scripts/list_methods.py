"""Write docs/methods.md: every method of JSON-RPC that the node answers, and those it does not.

python -m scripts.list_methods
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.rpc.method_table import OptionalParam
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.unsupported import UNSUPPORTED_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyevm_agents.rpc.method_table import RpcMethod

FILE = Path(__file__).parent.parent / "docs" / "methods.md"

FIRST = ("agent", "eth")
"""Namespaces that come before the others."""

HEAD = """\
# Methods of JSON-RPC

What `pyevm-agents node` answers over HTTP and WebSocket, and `AgentProvider` in process. A
parameter in brackets may be left out or be null. `python -m scripts.list_methods` wrote this file
from the table of methods itself.

"""

ABSENT_HEAD = """\
## Absent

Methods that other nodes have and this one has not. Each is answered with -32601 and the reason.

| method | reason |
|---|---|
"""


def document() -> str:
    """Return the file's text."""
    methods = collect_methods()
    names = sorted(methods, key=_order)
    sections = (
        _section(namespace, (methods[name] for name in group))
        for namespace, group in groupby(names, _namespace)
    )
    absent = (f"| `{name}` | {why} |\n" for name, why in sorted(UNSUPPORTED_METHODS.items()))
    return HEAD + "".join(sections) + ABSENT_HEAD + "".join(absent)


def _section(namespace: str, methods: Iterable[RpcMethod]) -> str:
    rows = "".join(
        f"| `{method.name}` | {_parameters(method)} | {_cell(method.description)} |\n"
        for method in methods
    )
    return f"## {namespace}\n\n| method | parameters | what it does |\n|---|---|---|\n{rows}\n"


def _parameters(method: RpcMethod) -> str:
    return ", ".join(_named(method)) or "none"


def _named(method: RpcMethod) -> Iterator[str]:
    for parameter, name in zip(method.parameters, method.names, strict=True):
        yield f"`[{name}]`" if isinstance(parameter, OptionalParam) else f"`{name}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _namespace(name: str) -> str:
    return name.partition("_")[0]


def _order(name: str) -> tuple[int, str, str]:
    namespace = _namespace(name)
    place = FIRST.index(namespace) if namespace in FIRST else len(FIRST)
    return place, namespace, name.lower()


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
    print(f"{FILE}: {len(collect_methods())} methods, {len(UNSUPPORTED_METHODS)} absent")
