"""Encoding of an agent's question."""

from __future__ import annotations

from eth_abi import decode
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.testing.inputs import agent_input


@given(st.text(st.characters(codec="utf-8")))
def test_it_is_one_text(question: str) -> None:
    [(kind, value)], encoded = agent_input(question)
    assert kind == 0
    assert decode(["string"], value) == (question,)
    assert encoded == value
