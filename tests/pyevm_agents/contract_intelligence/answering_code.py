"""Code of contracts that answer some functions with constants, and chains that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.contract_intelligence.contract_reader import ContractReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REVERT = bytes.fromhex("5f5ffd")
ENTRY_BYTES, BODY_BYTES = 11, 14
"""Bytes of a function in the dispatcher, and of its answer's code."""

LOOP = bytes.fromhex("5b5f56")
"""Jumps to the start of the code for ever: put it first."""


def select(signature: str) -> bytes:
    """Return the selector of a signature."""
    return keccak(text=signature)[:4]


def build_answers(answers: Mapping[str, tuple[Sequence[str], Sequence[object]]]) -> bytes:
    """Return code that answers functions with constants and reverts for others.

    Input: by signature the types and the values of the answer.
    """
    return build_code({select(key): encode(*answer) for key, answer in answers.items()})


def build_code(
    answers: Mapping[bytes, bytes], fallback: bytes = REVERT, prologue: bytes = b""
) -> bytes:
    """Return code that answers selectors with data.

    Input: the answers; code that is executed for other selectors; code that is executed first, and
           leaves nothing on the stack.
    """
    start_of_bodies = len(prologue) + 5 + ENTRY_BYTES * len(answers) + len(fallback)
    start_of_data = start_of_bodies + BODY_BYTES * len(answers)
    jumps = bytearray.fromhex("5f3560e01c")  # The selector stays on the stack.
    bodies, data = bytearray(), bytearray()
    for selector, output in answers.items():
        place = (start_of_bodies + len(bodies)).to_bytes(2, "big")
        jumps += b"\x80\x63" + selector + b"\x14\x61" + place + b"\x57"
        size = len(output).to_bytes(2, "big")
        offset = (start_of_data + len(data)).to_bytes(2, "big")
        bodies += b"\x5b\x61" + size + b"\x61" + offset + b"\x5f\x39\x61" + size + b"\x5f\xf3"
        data += output
    return bytes(prologue + jumps + fallback + bodies + data)


def build_reverting_creation(data: bytes) -> bytes:
    """Return the creation code of a contract that reverts with an error of one argument."""
    selector, argument = data[:4].hex(), data[4:].hex()
    code = bytes.fromhex(f"63{selector}5f527f{argument}6020526024601cfd")
    return bytes.fromhex(f"60{len(code):02x}80600a5f395ff3").ljust(10, b"\0") + code


def build_setter(selector: bytes, slot: int, place: int) -> bytes:
    """Return a fallback that writes an argument of one function into a slot, and else reverts.

    Input: the selector; the slot; the number of the bytes before the fallback.
    """
    target = (place + ENTRY_BYTES + len(REVERT)).to_bytes(2, "big")
    dispatch = b"\x80\x63" + selector + b"\x14\x61" + target + b"\x57"
    return dispatch + REVERT + b"\x5b\x60\x04\x35\x60" + bytes([slot]) + b"\x55\x00"


def build_delegation(target: str) -> bytes:
    """Return code that delegates the whole call to an address."""
    return bytes.fromhex(f"365f5f375f5f365f73{target[2:]}5af43d5f5f3e6029573d5ffd5b3d5ff3")


def build_slot_delegation(slot: int) -> bytes:
    """Return code that delegates the whole call to the address in a slot."""
    place = slot.to_bytes(32, "big").hex()
    return bytes.fromhex(f"365f5f375f5f365f7f{place}545af43d5f5f3e6036573d5ffd5b3d5ff3")


FIRST_ADDRESS = 2**32


def address_of(number: int) -> str:
    """Return a checksummed address by a number; it is that of no precompile."""
    return str(to_checksum_address((FIRST_ADDRESS + number).to_bytes(20, "big")))


def build_chain(
    codes: Mapping[str, bytes],
    storage: Mapping[str, Mapping[int, int]] | None = None,
    balances: Mapping[str, int] | None = None,
) -> Chain:
    """Return a chain that has contracts from the start."""
    slots, amounts = storage or {}, balances or {}
    accounts = {
        Address(bytes.fromhex(address[2:])): GenesisAccount(
            code=code,
            storage=dict(slots.get(address, {})),
            balance_wei=amounts.get(address, 0),
        )
        for address, code in codes.items()
    }
    return Chain(ChainConfig(), accounts=accounts)


def read_chain(
    codes: Mapping[str, bytes], storage: Mapping[str, Mapping[int, int]] | None = None
) -> ContractReader:
    """Return a reader of a chain that has contracts from the start."""
    return ContractReader(build_chain(codes, storage))
