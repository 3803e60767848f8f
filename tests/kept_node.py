"""A process with a node and an agent, kept in a folder; it prints its address, and is killed.

    python -m tests.kept_node FOLDER AUTOMATIC INTERVAL_SECONDS [THINKING_SECONDS]

Its model generates at once, or after a time: a complete node with `--state-dir`, without the
weights.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, MiningMode, Node
from pyevm_agents.node.journal import Journal
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.server import Server, ServerOptions
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from pyevm_agents.chain.database import Rows

ANSWER = " I know.\nFinal Answer: As you like."
KEYS = Keys(derive_keys(DEFAULT_MNEMONIC, 5))


def kept_chain(rows: Rows, thinking_seconds: float = 0.0) -> Chain:
    """Open the chain, or begin it."""

    def think(_: object) -> str:
        time.sleep(thinking_seconds)
        return ANSWER

    accounts = {one: GenesisAccount(balance_wei=10**22) for one in KEYS.addresses}
    models = {PROFILE.name: ByteModel(think)}
    config = ChainConfig(models=(PROFILE,))
    return Chain(config, models, accounts=accounts, rows=rows)


async def serve(node: Node, send_seconds: float) -> None:
    service = build_node_service(node, send_seconds=send_seconds)
    async with Server(service, ServerOptions(port=0)) as server:
        print(server.url, flush=True)  # noqa: T201 - who started it reads it
        node.resume()
        await server.wait_stopped()


def main() -> None:
    folder, automatic, interval, *more = sys.argv[1:]
    mining = MiningMode(is_automatic=automatic == "yes", interval_seconds=float(interval))
    thinking_seconds = float(more[0]) if more else 0.0
    rows = LmdbRows(Path(folder))
    node = Node(
        kept_chain(rows, thinking_seconds),
        now=time.time,
        keys=KEYS,
        mining=mining,
        journal=Journal(rows),
        rehearses=True,
    )
    # A hash is returned while its agent thinks.
    asyncio.run(serve(node, send_seconds=0.05 if thinking_seconds else 2.0))


if __name__ == "__main__":
    main()
