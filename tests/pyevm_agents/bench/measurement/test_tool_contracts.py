from __future__ import annotations

from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    ParamDescription,
    ParamType,
    decode_input_description,
    decode_string,
)
from pyevm_agents.bench.measurement.tool_contracts import build_tool_code
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig

TOOL = Address(b"\x70" * 20)
TEXT = st.text(st.characters(codec="utf-8"), max_size=80)
PARAMETER = st.builds(
    ParamDescription, param_type=st.sampled_from(ParamType), name=TEXT, description=TEXT
)


@settings(max_examples=20)
@given(name=TEXT, description=TEXT, parameters=st.lists(PARAMETER, max_size=8))
def test_a_tool_says_of_itself_what_its_code_was_made_of(
    name: str, description: str, parameters: list[ParamDescription]
) -> None:
    code = build_tool_code(name, description, parameters)
    chain = Chain(ChainConfig(), accounts={TOOL: GenesisAccount(code=code)})

    def read(selector: bytes) -> bytes:
        result = chain.call(Call(to=TOOL, data=selector))
        assert result.error is None
        return result.output

    assert decode_string(read(NAME_SELECTOR)) == name
    assert decode_string(read(DESCRIPTION_SELECTOR)) == description
    assert decode_input_description(read(INPUT_DESCRIPTION_SELECTOR)) == tuple(parameters)
    assert read(b"\xff" * 4) == b""
