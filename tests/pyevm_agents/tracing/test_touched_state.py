"""Touched accounts and slots, before and after."""

from __future__ import annotations

import pytest

from pyevm_agents.tracing import TouchedStateTracer
from tests.chain_bench import OWNER
from tests.pyevm_agents.tracing.scenario import CONTRACT, OWNER_WEI
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, CREATED, NOBODY

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")


def touched(name: str) -> TouchedStateTracer:
    tracer = TouchedStateTracer()
    BY_NAME[name].trace(tracer)
    assert tracer.before.keys() == tracer.after.keys()
    return tracer


def test_accounts_are_looked_up_before_and_after() -> None:
    tracer = touched("transfer")
    assert tracer.before[NOBODY].is_empty
    assert tracer.after[NOBODY].balance_wei == 5
    assert tracer.before[OWNER].balance_wei == OWNER_WEI
    assert (tracer.before[OWNER].nonce, tracer.after[OWNER].nonce) == (0, 1)


def test_who_is_called_or_created_is_touched() -> None:
    assert {CONTRACT, CALLEE} <= touched("calls of all kinds").before.keys()
    created = touched("creation")
    assert created.before[CREATED].is_empty
    assert created.after[CREATED].code


def test_slots_that_there_was_no_gas_for_are_not_touched() -> None:
    assert touched("out of gas for storage").before[CALLEE].storage == {}
    assert touched("storage").before[CONTRACT].storage != {}


def test_what_is_left_out_is_not_looked_up() -> None:
    tracer = TouchedStateTracer(with_storage=False, with_after=False)
    BY_NAME["storage"].trace(tracer)
    assert tracer.before[CONTRACT].storage == {}
    assert tracer.after == {}
