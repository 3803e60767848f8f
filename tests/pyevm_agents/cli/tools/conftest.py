"""A served swap world, and an agent that `tools deploy` made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_canonical_address

from tests.pyevm_agents.cli.tools.swap_node import choose, open_swap_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode


@pytest.fixture(scope="package")
def swap_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwapNode]:
    with open_swap_node(tmp_path_factory.mktemp("cache")) as node:
        yield node


@pytest.fixture(scope="package")
def deployed(swap_node: SwapNode) -> Any:  # noqa: ANN401 - JSON
    """The printed JSON of a deployment, whose account has funds."""
    form = swap_node.read_json("deploy", *swap_node.contracts, *choose())
    swap_node.fund(to_canonical_address(form["account"]))
    return form
