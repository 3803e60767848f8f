"""Opcodes: geth's names, and the numbers of popped and pushed stack items.

Source: the Osaka column of the execution specs; the names are those of geth's traces.
"""

from __future__ import annotations

from dataclasses import dataclass

STACK_LIMIT = 1024

STOP = 0x00
ISZERO = 0x15
KECCAK256 = 0x20
BALANCE = 0x31
EXTCODESIZE = 0x3B
EXTCODECOPY = 0x3C
EXTCODEHASH = 0x3F
SLOAD = 0x54
SSTORE = 0x55
GAS = 0x5A
TLOAD = 0x5C
TSTORE = 0x5D
CREATE = 0xF0
CALL = 0xF1
CALLCODE = 0xF2
RETURN = 0xF3
DELEGATECALL = 0xF4
CREATE2 = 0xF5
STATICCALL = 0xFA
REVERT = 0xFD
INVALID = 0xFE
SELFDESTRUCT = 0xFF

CALLS = frozenset({CALL, CALLCODE, DELEGATECALL, STATICCALL})
CREATES = frozenset({CREATE, CREATE2})
EXTCODE_READS = frozenset({EXTCODESIZE, EXTCODECOPY, EXTCODEHASH})
READS_OF_ACCOUNTS = EXTCODE_READS | {BALANCE}
"""Opcodes that read the account on top of the stack."""

STORAGE_ACCESSES = frozenset({SLOAD, SSTORE})
LOGS = frozenset(range(0xA0, 0xA5))


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """An opcode's name, and the numbers of popped and pushed stack items."""

    name: str
    pops: int
    pushes: int


def _build_opcode_table() -> dict[int, OpcodeInfo]:
    forms: dict[int, OpcodeInfo] = {}
    for line in _TABLE.split("\n"):
        first, *entries = line.split()
        for offset, entry in enumerate(entries):
            name, takes, leaves = entry.split(":")
            forms[int(first, 16) + offset] = OpcodeInfo(name, int(takes), int(leaves))
    for size in range(33):
        forms[0x5F + size] = OpcodeInfo(f"PUSH{size}", 0, 1)
    for depth in range(1, 17):
        forms[0x7F + depth] = OpcodeInfo(f"DUP{depth}", depth, depth + 1)
        forms[0x8F + depth] = OpcodeInfo(f"SWAP{depth}", depth + 1, depth + 1)
    for topics in range(5):
        forms[0xA0 + topics] = OpcodeInfo(f"LOG{topics}", 2 + topics, 0)
    return forms


# Each line: the first opcode of a run, then name:pops:pushes for it and its successors.
_TABLE = """\
00 STOP:0:0 ADD:2:1 MUL:2:1 SUB:2:1 DIV:2:1 SDIV:2:1 MOD:2:1 SMOD:2:1
08 ADDMOD:3:1 MULMOD:3:1 EXP:2:1 SIGNEXTEND:2:1
10 LT:2:1 GT:2:1 SLT:2:1 SGT:2:1 EQ:2:1 ISZERO:1:1 AND:2:1 OR:2:1
18 XOR:2:1 NOT:1:1 BYTE:2:1 SHL:2:1 SHR:2:1 SAR:2:1 CLZ:1:1
20 KECCAK256:2:1
30 ADDRESS:0:1 BALANCE:1:1 ORIGIN:0:1 CALLER:0:1 CALLVALUE:0:1 CALLDATALOAD:1:1
36 CALLDATASIZE:0:1 CALLDATACOPY:3:0 CODESIZE:0:1 CODECOPY:3:0 GASPRICE:0:1
3b EXTCODESIZE:1:1 EXTCODECOPY:4:0 RETURNDATASIZE:0:1 RETURNDATACOPY:3:0 EXTCODEHASH:1:1
40 BLOCKHASH:1:1 COINBASE:0:1 TIMESTAMP:0:1 NUMBER:0:1 DIFFICULTY:0:1 GASLIMIT:0:1
46 CHAINID:0:1 SELFBALANCE:0:1 BASEFEE:0:1 BLOBHASH:1:1 BLOBBASEFEE:0:1
50 POP:1:0 MLOAD:1:1 MSTORE:2:0 MSTORE8:2:0 SLOAD:1:1 SSTORE:2:0 JUMP:1:0 JUMPI:2:0
58 PC:0:1 MSIZE:0:1 GAS:0:1 JUMPDEST:0:0 TLOAD:1:1 TSTORE:2:0 MCOPY:3:0
f0 CREATE:3:1 CALL:7:1 CALLCODE:7:1 RETURN:2:0 DELEGATECALL:6:1 CREATE2:4:1
fa STATICCALL:6:1
fd REVERT:2:0 INVALID:0:0 SELFDESTRUCT:1:0"""

OPCODE_TABLE = _build_opcode_table()


def get_opcode(op: int) -> OpcodeInfo:
    """Return an opcode's info; an undefined opcode has geth's name."""
    return OPCODE_TABLE.get(op) or OpcodeInfo(f"opcode {op:#x} not defined", 0, 0)


def check_stack_height(op: int, height: int) -> str | None:
    """Return geth's message if the stack is too low or too high for an opcode; else None."""
    form = get_opcode(op)
    if height < form.pops:
        return f"stack underflow ({height} <=> {form.pops})"
    highest = STACK_LIMIT + form.pops - form.pushes
    return f"stack limit reached {height} ({highest})" if height > highest else None
