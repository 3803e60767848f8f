"""Fixtures for the contracts' own tests: an EVM without executor, and a scripted one."""

from __future__ import annotations

import pytest

from tests.contracts.plain_evm import Contract, Evm, plain_evm


@pytest.fixture
def evm() -> Evm:
    return plain_evm()


@pytest.fixture
def executor(evm: Evm) -> Contract:
    return evm.deploy("MockExecutor")
