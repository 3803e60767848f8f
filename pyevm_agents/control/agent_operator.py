"""The operator in an agent's manifest, the account that confirms runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.manifests.agent_folder import AgentFolder


def find_operator(folder: AgentFolder) -> bytes | None:
    """Return the operator that an agent's manifest names; None without one."""
    wallet = folder.read_manifest().operator_wallet
    return None if wallet is None else to_canonical_address(wallet)


@contextmanager
def name_operator(folder: AgentFolder, operator: bytes) -> Iterator[None]:
    """Name the operator in a manifest that names none, for a registration inside a context.

    The registration would name the sender's account, which need not be the one that confirms. If
    the registration fails before the manifest has an identity, the manifest stays unchanged.

    Input: the agent's folder; the account that confirms runs.
    """
    before = folder.read_manifest()
    if before.operator_wallet is not None:
        yield
        return
    folder.write_manifest(replace(before, operator_wallet=to_checksum_address(operator)))
    try:
        yield
    except BaseException:
        if folder.read_manifest().identity == before.identity:
            folder.write_manifest(before)
        raise
