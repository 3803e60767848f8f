"""A node with its dispatcher: JSON in, JSON out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.node import Keys, MiningMode, Node
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth_typing import Address

START = ChainConfig().genesis_timestamp_seconds


class RefusedError(Exception):
    """An error response."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


@dataclass
class Served:
    """A node and its dispatcher."""

    codes: Mapping[Address, bytes] = field(default_factory=dict)
    is_automatic: bool = True
    fork: str = DEFAULT_FORK
    now: Callable[[], float] = lambda: START + 100.0
    chain: Chain | None = None
    """The chain; a new one by default."""

    def __post_init__(self) -> None:
        accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
        accounts |= {one: GenesisAccount(code=code) for one, code in self.codes.items()}
        self.node = Node(
            self.chain or Chain(ChainConfig(fork=self.fork), accounts=accounts),
            now=self.now,
            keys=Keys(KEYS),
            mining=MiningMode(is_automatic=self.is_automatic),
            since_seconds=START if self.chain is None else None,
        )
        self.service = build_node_service(self.node, send_seconds=240)
        self.dispatcher = Dispatcher(self.service)
        self.told: list[Mapping[str, Any]] = []
        self.session = Session("test", self.told.append)

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.dispatcher.handle(orjson.dumps(request), self.session)
        if isinstance(answer, DeferredResponse):
            answer = answer()
        assert answer is not None
        read = orjson.loads(answer)
        if "error" in read:
            raise RefusedError(read["error"])
        return read["result"]

    def close(self) -> None:
        self.session.close()
        self.node.close()
