"""A council on a node of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.council.council_chain import CouncilChain
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def chain() -> Iterator[CouncilChain]:
    served = Served()
    with fake_remote(served) as remote:
        yield CouncilChain(served.ask, remote.url)
    served.close()
