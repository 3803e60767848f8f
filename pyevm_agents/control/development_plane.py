"""A control plane on a separate development chain: for tests and trials of agents."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.host_tools import HOST_TOOLS
from pyevm_agents.control.plane import ControlPlane, PlaneOptions
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.trust import TrustThreshold
from pyevm_agents.manifests.agent_folder import AgentFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STORE_FILE = "runs.sqlite"

WITHOUT_REGISTRIES = TrustThreshold(requires_identity=False, requires_registration=False)
"""What an agent needs on a chain without registries: nothing that only they can tell."""


def build_development_options(
    chain: Chain, folder: Path, port: LocalChainPort | None = None
) -> PlaneOptions:
    """Return the options of a control plane on a chain whose development account is funded.

    Input: the chain; the folder of the store; the chain's port, None for one of this thread.
    """
    return PlaneOptions(
        port=port or LocalChainPort(chain, DEVELOPMENT_KEY),
        store_path=folder / STORE_FILE,
        now=time.time,
        operator_wallet=DEVELOPMENT_ADDRESS,
        threshold=WITHOUT_REGISTRIES,
        tools=HOST_TOOLS,
    )


@contextmanager
def open_development_plane(
    agents: Sequence[Path],
    folder: Path,
    *,
    chain: Chain | None = None,
    **options: Any,  # noqa: ANN401 - fields of `PlaneOptions`
) -> Iterator[ControlPlane]:
    """Run agents on a development chain inside a context.

    Input:
        agents: folders of agents.
        folder: for the store.
        chain: with a funded development account; None for a new one without a model.
        options: fields of `PlaneOptions`, to change the defaults.
    """
    if chain is None:
        funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
        chain = Chain(ChainConfig(), {}, accounts={DEVELOPMENT_ADDRESS: funds})
    chosen = replace(build_development_options(chain, folder), **options)
    with ControlPlane([AgentFolder(each) for each in agents], chosen) as plane:
        yield plane
