"""The operator in an agent's manifest, the account that confirms runs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.manifests.endpoints import name_endpoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.manifests.agent_folder import AgentFolder


def find_operator(folder: AgentFolder) -> bytes | None:
    """Return the operator that an agent's manifest names; None without one."""
    wallet = folder.read_manifest().operator_wallet
    return None if wallet is None else to_canonical_address(wallet)


@contextmanager
def name_operator(
    folder: AgentFolder, operator: bytes, endpoints: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Complete a manifest for a registration inside a context.

    A manifest that names no operator gets the given one: the registration would name the sender's
    account, which need not be the one that confirms. The endpoints become those of the control
    plane that serves the agent. If the registration fails before the manifest has an identity, the
    manifest stays unchanged.

    Input: the agent's folder; the account that confirms runs; the control plane's endpoints.
    """
    before = folder.read_manifest()
    named = before.operator_wallet or to_checksum_address(operator)
    complete = name_endpoints(replace(before, operator_wallet=named), endpoints or {})
    if complete != before:
        folder.write_manifest(complete)
    try:
        yield
    except BaseException:
        if folder.read_manifest().identity == before.identity:
            folder.write_manifest(before)
        raise
