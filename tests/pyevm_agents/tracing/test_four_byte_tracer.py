"""geth's 4byteTracer."""

from __future__ import annotations

from pyevm_agents.tracing import create_tracer
from tests.pyevm_agents.tracing.scenarios import BY_NAME


def found(name: str) -> object:
    return BY_NAME[name].trace(create_tracer({"tracer": "4byteTracer"}))


def test_counts_selectors_with_the_size_of_their_arguments() -> None:
    assert found("calls of all kinds") == {
        "0xdeadbeef-1": 1,
        "0x01020304-1": 1,
        "0x0a0b0c0d-0": 1,
        "0x0a0b0c0d-1": 1,
    }


def test_counts_no_input_of_precompiles_and_creations() -> None:
    assert found("precompiles") == {}
    assert found("precompile as recipient") == {}
    assert found("creation") == {}
    assert found("create2") == {}


def test_counts_a_call_that_was_refused() -> None:
    assert found("callcode without the balance") == {"0x01020304-0": 1}
