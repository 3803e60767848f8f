"""The form of an oracle's commitments, printed before anybody pays a bond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.cli.output import out
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.messages import CouncilRequest


def print_commitments(client: CouncilClient, request: CouncilRequest | None) -> None:
    """Print the form of commitments. Input: request: one to try a form with; None: none."""
    try:
        found = client.find_commitment_form(client.read_chain_id(), request)
    except ConfigError as error:
        out.print(f"Warning: {error}", soft_wrap=True, markup=False)
        return
    out.print(
        f"Commitments: {found.form.option}, {found.form.value}; {found.source}",
        soft_wrap=True, markup=False,
    )  # fmt: skip
