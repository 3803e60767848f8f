"""EVM assembler for contracts of a few opcodes."""

from __future__ import annotations

from pyevm_agents.tracing.opcodes import OPCODE_TABLE

_OPS = {form.name: op for op, form in OPCODE_TABLE.items()}


def asm(text: str) -> bytes:
    """Assemble code: opcodes by name, `0x…` as a push of exactly these bytes, `raw:…` unchanged."""
    code = b""
    for token in text.split():
        if token.startswith("0x"):
            value = bytes.fromhex(token[2:])
            code += bytes([_OPS[f"PUSH{len(value)}"]]) + value
        elif token.startswith("raw:"):
            code += bytes.fromhex(token[4:])
        else:
            code += bytes([_OPS[token]])
    return code


def returning(value: bytes) -> str:
    """Return initcode that copies `value` to memory and returns it."""
    return _with_memory(value) + f" 0x{len(value):04x} PUSH0 RETURN"


def reverting(value: bytes) -> str:
    """Return code that reverts with `value`."""
    return _with_memory(value) + f" 0x{len(value):04x} PUSH0 REVERT"


def _with_memory(value: bytes) -> str:
    padded = value.ljust((len(value) + 31) // 32 * 32, b"\0")
    words = [padded[start : start + 32] for start in range(0, len(padded), 32)]
    return " ".join(f"0x{word.hex()} 0x{32 * i:04x} MSTORE" for i, word in enumerate(words))


def creating(initcode: bytes, value_wei: int = 0, salt: int | None = None) -> str:
    """Return code that creates a contract and leaves its address on the stack."""
    end = f" 0x{len(initcode):04x} PUSH0 0x{value_wei:08x} "
    if salt is None:
        return _with_memory(initcode) + end + "CREATE"
    return _with_memory(initcode) + f" 0x{salt:02x}" + end + "CREATE2"


def calling(
    kind: str,
    to: bytes,
    *,
    gas: str = "GAS",
    value_wei: int = 0,
    data: bytes = b"",
    output_bytes: int = 0,
) -> str:
    """Return code that makes a call and leaves its success on the stack."""
    value = f"0x{value_wei:08x}" if kind in {"CALL", "CALLCODE"} else ""
    memory = _with_memory(data) if data else ""
    return (
        f"{memory} 0x{output_bytes:02x} PUSH0 0x{len(data):04x} PUSH0 {value} "
        f"0x{to.hex()} {gas} {kind}"
    )
