"""Every scenario with every tracer, compared with anvil's recorded results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pyevm_agents.tracing import (
    PARITY,
    FlatCallTracer,
    MuxTracer,
    StateDiffTracer,
    TransactionLocation,
    create_tracer,
)
from tests.pyevm_agents.tracing.anvil_answers import (
    REQUESTS,
    UNLIKE,
    answers,
    comparable,
    shortened,
)
from tests.pyevm_agents.tracing.scenarios import BY_NAME, SCENARIOS

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")  # py-evm calls it deprecated

NEVER_COMPARED = {
    "delegation of a new account": "anvil takes every account for one that exists, and refunds",
}
COMPARED = [name for name in BY_NAME if name not in NEVER_COMPARED]


@pytest.mark.parametrize("name", COMPARED)
def test_traces_as_anvil_does(name: str) -> None:
    theirs = answers()[name]
    tracers = {request: create_tracer(of) for request, of in REQUESTS.items()}
    tracers["parity"] = FlatCallTracer(PARITY, _place(theirs["parity"][0]))
    tracers["stateDiff"] = StateDiffTracer()
    ours = _plain(BY_NAME[name].trace(MuxTracer(tracers)))
    assert ours["callTracer"]["gasUsed"] == theirs["gasUsed"]
    for request in tracers:
        mine, other = (
            comparable(request, result)
            for result in (shortened(request, ours[request]), theirs[request])
        )
        assert (mine == other) is ((name, request) not in UNLIKE), request


@pytest.mark.parametrize("name", NEVER_COMPARED)
def test_what_is_never_compared_is_not_alike(name: str) -> None:
    ours = _plain(BY_NAME[name].trace(create_tracer({"tracer": "callTracer"})))
    assert ours["gasUsed"] != answers()[name]["gasUsed"]


def test_every_scenario_is_recorded_and_every_exception_is_one() -> None:
    names = {scenario.name for scenario in SCENARIOS}
    assert len(names) == len(SCENARIOS)
    assert answers().keys() == names
    assert {name for name, _ in UNLIKE} | NEVER_COMPARED.keys() <= names


def _place(trace: Any) -> TransactionLocation:  # noqa: ANN401 - JSON
    return TransactionLocation(
        block_hash=bytes.fromhex(trace["blockHash"][2:]),
        block_number=trace["blockNumber"],
        transaction_hash=bytes.fromhex(trace["transactionHash"][2:]),
        transaction_index=trace["transactionPosition"],
    )


def _plain(result: object) -> Any:  # noqa: ANN401 - JSON
    """Return a result after a round trip through JSON."""
    return json.loads(json.dumps(result))
