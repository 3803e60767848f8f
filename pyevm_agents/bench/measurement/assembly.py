"""Assemble the bytecode of the EVM yardsticks, and loops."""

from __future__ import annotations

from pyevm_agents.tracing.opcodes import OPCODE_TABLE

OPCODES = {form.name: opcode for opcode, form in OPCODE_TABLE.items()}

NEXT_TURN = "0x01 SWAP1 SUB DUP1"
"""Decrement the number of remaining iterations on top of the stack."""


def assemble(text: str) -> bytes:
    """Return the code of opcode names; `0x…` is a push of exactly these bytes.

    Raises: KeyError: there is no opcode of that name.
    """
    code = b""
    for word in text.split():
        if word.startswith("0x"):
            value = bytes.fromhex(word[2:])
            code += bytes([OPCODES[f"PUSH{len(value)}"]]) + value
        else:
            code += bytes([OPCODES[word]])
    return code


def format_push(value: int) -> str:
    """Return the shortest push of a number."""
    size_bytes = max(1, (value.bit_length() + 7) // 8)
    return f"0x{value:0{2 * size_bytes}x}"


def build_loop(
    body: str, *, copies: int = 1, data: bytes = b"", before: str = "", after: str = "STOP"
) -> bytes:
    """Return a contract that repeats a body.

    Input:
        body: code that finds the remaining iterations on top of the stack, and keeps that item.
        copies: repetitions of the body in an iteration, which make the loop's own cost small.
        data: the initial memory, present when `before` begins.
        before: code that runs once; the remaining stack items are below the iterations.
        after: code that ends the contract.

    Calldata: the number of iterations in a word, at least 1.
    """

    def assemble_with_data_at(place: int) -> bytes:
        copy = f"0x{len(data):06x} 0x{place:06x} PUSH0 CODECOPY" if data else ""
        start = assemble(f"{copy} {before} PUSH0 CALLDATALOAD")
        turn = (
            assemble("JUMPDEST")
            + assemble(body) * copies
            + assemble(f"{NEXT_TURN} {format_push(len(start))} JUMPI")
        )
        return start + turn + assemble(after)

    return assemble_with_data_at(len(assemble_with_data_at(0))) + data


def build_precompile_loop(
    precompile: int, data: bytes, output_bytes: int, *, copies: int = 1
) -> bytes:
    """Return a contract that repeatedly calls a precompile with the same data.

    Output of the contract: the output of the last call.
    """
    place = (len(data) + 31) // 32 * 32
    body = (
        f"{format_push(output_bytes)} {format_push(place)} {format_push(len(data))} PUSH0 "
        f"{format_push(precompile)} "
        "GAS STATICCALL POP"
    )
    after = f"{format_push(output_bytes)} {format_push(place)} RETURN"
    return build_loop(body, copies=copies, data=data, after=after)


def build_precompile_call(
    precompile: int, items: bytes, item_bytes: int, output_bytes: int
) -> bytes:
    """Return a contract that calls a precompile once, with a number of items from the calldata.

    Input: all available items, each of `item_bytes` bytes.
    Calldata: the number of items in a word.
    Output of the contract: the output of the call.
    """
    place = format_push((len(items) + 31) // 32 * 32)

    def assemble_with_items_at(at: int) -> bytes:
        return assemble(
            f"0x{len(items):06x} 0x{at:06x} PUSH0 CODECOPY "
            f"{format_push(output_bytes)} {place} PUSH0 CALLDATALOAD "
            f"{format_push(item_bytes)} MUL PUSH0 "
            f"{format_push(precompile)} GAS STATICCALL POP "
            f"{format_push(output_bytes)} {place} RETURN"
        )

    return assemble_with_items_at(len(assemble_with_items_at(0))) + items
