"""The numbers of the specification, restated by hand, and the code in the executor's account."""

from __future__ import annotations

import pytest
from eth.chains.base import MiningChain
from eth.db.atomic import AtomicDB
from eth.exceptions import Revert
from eth.vm.forks.prague import PragueVM
from eth_typing import Address

from precompiles import spec

NUMBERS = {
    "WORD_BYTES": 32,
    "SELECTOR_BYTES": 4,
    "ADDRESS_BYTES": 20,
    "HASH_BYTES": 32,
    "FIRST_V": 27,
    "MAX_CALLDATA_BYTES": 65_536,
    "MAX_METADATA_BYTES": 16_384,
    "MAX_TOOLS": 64,
    "MAX_PARAMETERS": 32,
    "MAX_NAME_BYTES": 64,
    "MAX_ADDRESSES": 64,
    "MAX_HANDLE_CHARACTERS": 32,
    "MAX_ARRAY_ITEMS": 64,
    "MAX_TYPE_CHARACTERS": 256,
    "MAX_TYPE_LEAVES": 32,
    "MAX_TOOL_PARTS": 64,
    "MAX_TYPE_DEPTH": 8,
    "MAX_TYPED_BYTES": 512,
    "MAX_THOUGHT_CHARACTERS": 240,
    "MAX_CHOSEN_NUMBERS": 1_024,
    "MAX_COPIES": 64,
    "BRANCH_TOKENS": 64,
    "BRANCH_PARAMETERS": 4,
    "MAX_REFUSAL_SENTENCES": 64,
    "MAX_QUOTED_RESULT_CHARACTERS": 200,
    "MAX_TEXT_CHARACTERS": 1_024,
    "MAX_REASON_BYTES": 1_024,
    "PROMPT_BLOCK_TOKENS": 32,
    "WARM_PREFIXES": 4,
    "DEFAULT_COLD_PROMPT_TOKEN_GAS": 6_000,
    "DEFAULT_WARM_PROMPT_TOKEN_GAS": 100,
    "DEFAULT_CHOOSER_TOKEN_GAS": 1_000,
    "DEFAULT_OUTPUT_TOKEN_GAS": 10_000,
    "DEFAULT_MAX_OUTPUT_TOKENS": 512,
}


def test_every_number_is_as_specified() -> None:
    numbers = {name: value for name, value in vars(spec).items() if type(value) is int}
    assert numbers == NUMBERS


def test_the_executor_lives_at_0x19() -> None:
    assert spec.EXECUTOR_ADDRESS.hex() == "0000000000000000000000000000000000000019"


@pytest.mark.parametrize("calldata", [b"", b"\x7e\x63\x6a\x24" + bytes(64)], ids=["none", "call"])
def test_the_code_of_the_account_says_why_nothing_answers(calldata: bytes) -> None:
    chain_class = MiningChain.configure("Chain", vm_configuration=((0, PragueVM),), chain_id=1)
    account = Address(bytes(19) + b"\x99")
    vm = chain_class.from_genesis(AtomicDB(), {"difficulty": 0, "gas_limit": 30_000_000}).get_vm()
    computation = vm.execute_bytecode(
        origin=Address(bytes(20)),
        gas_price=0,
        gas=100_000,
        to=account,
        sender=Address(bytes(20)),
        value=0,
        data=calldata,
        code=spec.EXECUTOR_CODE,
    )
    assert isinstance(computation.error, Revert)
    assert computation.output.hex() == "a7924385"  # ExecutorUnavailable()
    assert computation.get_gas_used() == 22  # 3 + 3 + 3 + 2 + 6 + 3 + 2, REVERT is free
