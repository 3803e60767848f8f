"""A node that continues the chain of another one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.forking import RemoteFork, open_fork
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BALANCE_WEI = 10**21


def build_config(fork: RemoteFork) -> ChainConfig:
    """Return the chain config of a fork without models."""
    return ChainConfig(
        chain_id=fork.origin.chain_id,
        block_gas_limit=fork.header.gas_limit,
        genesis_timestamp_seconds=fork.header.timestamp,
        origin=fork.origin,
    )


@contextmanager
def forked_node(
    url: str, folder: Path | None = None, *, block_number: int | None = None
) -> Iterator[Served]:
    """Fork a node inside a context; the accounts of the tests are funded."""
    fork = open_fork(
        url,
        block_number=block_number,
        cache_folder=folder,
        retries=0,
        timeout_seconds=HANG_SECONDS,
    )
    accounts = {each: GenesisAccount(balance_wei=BALANCE_WEI) for each in ADDRESSES}
    chain = Chain(build_config(fork), accounts=accounts, fork=fork)
    served = Served(chain=chain)
    try:
        yield served
    finally:
        served.close()
        fork.close()
