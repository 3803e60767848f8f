"""Jump destinations equal py-evm's, found in one pass, for queries in any order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from eth.vm.code_stream import CodeStream
from eth.vm.opcode_values import JUMPDEST
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.vm.agent_code import AgentCode
from pyevm_agents.vm.jump_destinations import JumpDestinations, get_jump_destinations

BYTES = st.sampled_from([0x00, 0x5B, 0x5B, 0x60, 0x61, 0x62, 0x7E, 0x7F]) | st.integers(0, 255)
if TYPE_CHECKING:
    from random import Random

CODES = st.lists(BYTES, max_size=200).map(bytes)


@given(CODES, st.randoms(use_true_random=False))
def test_jumps_lead_where_they_do_in_py_evm(code: bytes, chance: Random) -> None:
    asked = list(range(len(code))) * 2
    chance.shuffle(asked)
    plain, jumps = CodeStream(code), JumpDestinations(code)
    for position in asked:
        is_one = code[position] == JUMPDEST and plain.is_valid_opcode(position)
        assert jumps.is_valid(position) == is_one
    assert jumps.known == {at for at in range(len(code)) if jumps.is_valid(at)}


@pytest.mark.parametrize("position", [-1, 2, 2**256 - 1])
def test_no_jump_leads_out_of_the_code(position: int) -> None:
    assert not AgentCode(b"\x5b\x5b").is_valid_opcode(position)


def test_data_that_the_code_ends_in_is_no_destination() -> None:
    assert not AgentCode(b"\x7f\x5b").is_valid_opcode(1)


def test_calls_of_a_code_share_what_is_known() -> None:
    code = b"\x00\x5b" + bytes(3)
    assert AgentCode(code).is_valid_opcode(1)
    assert AgentCode(bytes(code)).valid_positions == {1}
    assert get_jump_destinations(code) is get_jump_destinations(bytes(code))


def test_a_code_is_swept_in_the_time_that_py_evm_takes_for_a_tenth() -> None:
    def sweep(kind: type[CodeStream], pushes: int) -> float:
        # What py-evm takes longest for: each PUSH may be data of the one before.
        code = b"\x60\x7f" * pushes + b"\x00\x5b"
        started = time.process_time()
        assert kind(code).is_valid_opcode(len(code) - 1)
        return time.process_time() - started

    # 8 ms and 50 ms; the quickest of a few, because other processes share the caches.
    assert min(sweep(AgentCode, 24_575 - i) for i in range(3)) < sweep(CodeStream, 2_457)
