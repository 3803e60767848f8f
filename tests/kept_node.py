"""A process with a node and an agent, kept in a folder; it prints its address, and is killed.

    python -m tests.kept_node FOLDER AUTOMATIC INTERVAL_SECONDS

Its model generates at once: a complete node with `--state-dir`, without the weights.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, MiningMode, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.server import Server, ServerOptions
from tests.byte_model import PROFILE, ByteModel

ANSWER = " I know.\nFinal Answer: As you like."
KEYS = Keys(derive_keys(DEFAULT_MNEMONIC, 5))


def kept_chain(folder: Path) -> Chain:
    """Open the chain, or begin it."""
    accounts = {one: GenesisAccount(balance_wei=10**22) for one in KEYS.addresses}
    models = {PROFILE.name: ByteModel(lambda _: ANSWER)}
    config = ChainConfig(models=(PROFILE,))
    return Chain(config, models, accounts=accounts, rows=LmdbRows(folder))


async def serve(node: Node) -> None:
    async with Server(build_node_service(node), ServerOptions(port=0)) as server:
        print(server.url, flush=True)  # noqa: T201 - who started it reads it
        await server.wait_stopped()


def main() -> None:
    folder, automatic, interval = sys.argv[1:]
    mining = MiningMode(is_automatic=automatic == "yes", interval_seconds=float(interval))
    asyncio.run(serve(Node(kept_chain(Path(folder)), now=time.time, keys=KEYS, mining=mining)))


if __name__ == "__main__":
    main()
