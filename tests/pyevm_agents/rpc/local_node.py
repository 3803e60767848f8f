"""A node with three funded accounts, called by method name."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eth_utils import to_canonical_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.rpc.service import NodeService

ETHER = 10**18
FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
SECOND = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
STRANGER = "0x" + "57" * 20
START_SECONDS = 1_800_000_000


class LocalNode:
    """A node, its service and a client's session."""

    def __init__(self, node: Node, service: NodeService) -> None:
        self.node = node
        self._service = service
        self._session = Session("test")

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - a method's result
        return self._service.call(method, list(params), self._session)

    def ask_at_once(self, method: str, *params: object) -> Any:  # noqa: ANN401 - see above
        """Call a method that may not block, as on the server's event loop."""
        return self._service.call(method, list(params), self._session, may_wait=False)

    def number(self, method: str, *params: object) -> int:
        return int(self.ask(method, *params), 16)

    def block(self, number: str) -> Any:  # noqa: ANN401 - JSON
        """Return a block with the hashes of its transactions; None if it is unknown."""
        is_full = False
        return self.ask("eth_getBlockByNumber", number, is_full)

    def mine_by_hand(self) -> None:
        """Switch automine off."""
        is_automatic = False
        self.ask("evm_setAutomine", is_automatic)

    def deploy(self, name: str) -> str:
        """Deploy one of the package's contracts; return its address."""
        made = self.ask(
            "eth_sendTransaction",
            {
                "from": FIRST,
                "data": "0x" + load_artifact(name).encode_creation().hex(),
                "gas": hex(5_000_000),
            },
        )
        return str(self.ask("eth_getTransactionReceipt", made)["contractAddress"])

    def send(self, **told: object) -> str:
        """Send a wei from the first account to the second, with other fields if given."""
        form = {"from": FIRST, "to": SECOND, "value": "0x1", "gas": hex(21_000)} | told
        return str(self.ask("eth_sendTransaction", form))


@contextmanager
def local_node(config: ChainConfig | None = None) -> Iterator[LocalNode]:
    keys = Keys(derive_keys(DEFAULT_MNEMONIC, 3))
    accounts = {one: GenesisAccount(balance_wei=10_000 * ETHER) for one in keys.addresses}
    seconds = itertools.count(START_SECONDS)
    chain = Chain(config or ChainConfig(), accounts=accounts)
    start = chain.head.timestamp
    node = Node(chain, now=lambda: next(seconds), keys=keys, since_seconds=start)
    yield LocalNode(node, build_node_service(node, send_seconds=240))
    node.close()


def canonical(text: str) -> Address:
    return to_canonical_address(text)
