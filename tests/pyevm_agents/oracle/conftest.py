"""A remote chain with an oracle, and a computer of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.config import ChainConfig
from pyevm_agents.oracle.recomputation import ForkComputer, HostedModels
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.forking.fake_remote import FakeRemote, fake_remote
from tests.pyevm_agents.oracle.oracle_chain import OracleChain, count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import LanguageModel

FINGERPRINT = '{"engine":"none"}'


def host(model: LanguageModel) -> HostedModels:
    """Return a model under the tests' profile."""
    config = ChainConfig(models=(PROFILE,), profile_fingerprint=FINGERPRINT)
    return HostedModels(config=config, models={PROFILE.name: model})


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    served = Served()
    with fake_remote(served) as remote:
        yield remote
    served.close()


@pytest.fixture
def oracle_chain(remote: FakeRemote) -> OracleChain:
    return OracleChain(remote.served.ask, remote.url)


@pytest.fixture
def model() -> ByteModel:
    return ByteModel(count_and_answer)


@pytest.fixture
def computer(oracle_chain: OracleChain, model: ByteModel) -> Iterator[ForkComputer]:
    with ForkComputer(oracle_chain.url, host(model), retries=0) as computer:
        yield computer
