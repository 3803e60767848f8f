"""A remote chain of three blocks, with a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.forking.fake_remote import FakeRemote, build_remote_chain, fake_remote

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    served = build_remote_chain()
    with fake_remote(served) as remote:
        yield remote
    served.close()
