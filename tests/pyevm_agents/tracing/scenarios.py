"""Transactions that cover all events of tracers, executed here and in anvil.

Each is the first of a separate chain, with the accounts that it needs.
"""

from __future__ import annotations

from eth._utils.address import generate_contract_address
from eth_abi import encode
from eth_account import Account
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.config import ChainConfig
from tests.chain_bench import OWNER, STRANGER, STRANGER_KEY
from tests.pyevm_agents.tracing.assembler import asm, calling, creating, returning, reverting
from tests.pyevm_agents.tracing.scenario import BLOCK_GAS_LIMIT, CONTRACT, OWNER_WEI, Scenario

CALLEE = Address(b"\xce" * 20)
INNERMOST = Address(b"\xcf" * 20)
NOBODY = Address(b"\xee" * 20)

STORE = asm("0x2a 0x01 SSTORE 0x01 SLOAD PUSH0 MSTORE 0x20 PUSH0 RETURN")
ERROR = bytes.fromhex("08c379a0") + encode(["string"], ["not today"])
PANIC = bytes.fromhex("4e487b71") + encode(["uint256"], [0x11])


def _contract(code: str, **fields: object) -> GenesisAccount:
    return GenesisAccount(code=asm(code), nonce=1, **fields)  # type: ignore[arg-type]


def _one(name: str, code: str, **fields: object) -> Scenario:
    balance_wei = fields.pop("balance_wei", 0)
    account = _contract(code, balance_wei=balance_wei)
    return Scenario(name=name, accounts={CONTRACT: account}, **fields)  # type: ignore[arg-type]


def _pair(name: str, caller: str, callee: str, **fields: object) -> Scenario:
    balance_wei = fields.pop("balance_wei", 0)
    accounts = {CONTRACT: _contract(caller, balance_wei=balance_wei), CALLEE: _contract(callee)}
    return Scenario(name=name, accounts=accounts, **fields)  # type: ignore[arg-type]


def _inside(name: str, callee: str, gas: str = "GAS") -> Scenario:
    """Return a scenario in which a call fails and the transaction continues."""
    return _pair(name, calling("CALL", CALLEE, gas=gas) + " POP STOP", callee)


def _in_static_call(name: str, callee: str) -> Scenario:
    return _pair(name, calling("STATICCALL", CALLEE) + " POP STOP", callee)


CREATED = generate_contract_address(OWNER, 0)
RUNTIME = asm("0x07 PUSH0 MSTORE 0x20 PUSH0 RETURN")

EVERYTHING = """
    0x03 0x04 ADD 0x05 MUL 0x02 DIV 0x02 SDIV 0x03 MOD 0x03 SMOD 0x07 0x02 0x05 ADDMOD 0x07 0x02
    0x05 MULMOD 0x0100 0x02 EXP 0x01 SIGNEXTEND LT 0x01 GT 0x01 SLT 0x01 SGT 0x01 EQ ISZERO 0x0f
    AND 0x10 OR 0x11 XOR NOT 0x1f BYTE 0x01 SHL 0x01 SHR 0x01 SAR POP 0x40 PUSH0 KECCAK256 POP
    ADDRESS BALANCE POP ORIGIN CALLER CALLVALUE 0x01 CALLDATALOAD CALLDATASIZE 0x04 PUSH0 0x20
    CALLDATACOPY CODESIZE 0x08 0x02 0x40 CODECOPY GASPRICE
    0xcecececececececececececececececececececece EXTCODESIZE 0x08 PUSH0 0x60
    0xcecececececececececececececececececececece EXTCODECOPY RETURNDATASIZE PUSH0 PUSH0 PUSH0
    RETURNDATACOPY 0xcecececececececececececececececececececece EXTCODEHASH POP COINBASE POP NUMBER
    GASLIMIT POP CHAINID SELFBALANCE BASEFEE PUSH0 BLOBHASH BLOBBASEFEE TIMESTAMP POP 0x99
    BLOCKHASH POP 0x0400 MLOAD POP 0x09 0x20 MSTORE 0x0a 0x41 MSTORE8 PC MSIZE GAS 0x0b 0x01 TSTORE
    0x01 TLOAD 0x20 0x10 0x80 MCOPY DUP1 DUP16 SWAP1 SWAP15 POP 0x05 PUSH0 SSTORE PUSH0 SLOAD POP
    STOP
"""

SCENARIOS = [
    Scenario(name="transfer", to=NOBODY, value_wei=5, gas=30_000),
    Scenario(
        name="transfer to an account with a balance",
        to=STRANGER,
        value_wei=5,
        gas=21_000,
        accounts={STRANGER: GenesisAccount(balance_wei=7)},
    ),
    Scenario(name="transfer to itself", to=OWNER, value_wei=5, gas=30_000),
    Scenario(name="data costs its floor", to=NOBODY, data=b"\xff" * 500, gas=60_000),
    Scenario(
        name="data costs its floor, and a refund is capped",
        accounts={
            CONTRACT: _contract(
                " ".join(f"PUSH0 0x{slot:02x} SSTORE" for slot in range(1, 11)),
                storage=dict.fromkeys(range(1, 11), 1),
            )
        },
        data=b"\xff" * 2_000,
        gas=200_000,
    ),
    _one("all opcodes", EVERYTHING, data=b"\x01\x02\x03\x04\x05", value_wei=9),
    Scenario(name="creation", to=None, data=asm(returning(RUNTIME)), value_wei=3),
    Scenario(name="creation that reverts", to=None, data=asm(reverting(ERROR))),
    Scenario(name="creation of nothing", to=None, data=b"", gas=100_000),
    Scenario(name="creation out of gas", to=None, data=asm(returning(RUNTIME)), gas=53_500),
    Scenario(
        name="creation where the code is too dear",
        to=None,
        data=asm("0x1000 PUSH0 RETURN"),
        gas=100_000,
    ),
    Scenario(name="creation of too much code", to=None, data=asm("0x6001 PUSH0 RETURN"), gas=10**7),
    Scenario(name="creation of reserved code", to=None, data=asm(returning(b"\xef\x00"))),
    Scenario(
        name="creation at an address in use",
        to=None,
        data=asm(returning(RUNTIME)),
        accounts={CREATED: GenesisAccount(nonce=1, balance_wei=8)},
    ),
    Scenario(
        name="creation at an address with a balance",
        to=None,
        data=asm(returning(RUNTIME)),
        accounts={CREATED: GenesisAccount(balance_wei=8)},
    ),
    Scenario(
        name="creation that destroys itself",
        to=None,
        data=asm("CALLER SELFDESTRUCT"),
        value_wei=4,
    ),
    Scenario(
        name="creation of a funded account that destroys itself",
        to=None,
        data=asm("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee SELFDESTRUCT"),
        accounts={CREATED: GenesisAccount(balance_wei=8)},
    ),
    _one(
        "create and call",
        creating(asm(returning(RUNTIME)), 2)
        + " PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 DUP6 GAS CALL POP POP STOP",
        balance_wei=10,
    ),
    _one("create2", creating(asm(returning(RUNTIME)), 2, 5) + " STOP", balance_wei=10),
    _one(
        "create2 twice",
        creating(asm(returning(RUNTIME)), 0, 5)
        + " POP "
        + creating(asm(returning(RUNTIME)), 0, 5)
        + " STOP",
    ),
    _one("create that reverts", creating(asm(reverting(ERROR))) + " STOP"),
    _one("create of reserved code", creating(asm(returning(b"\xef"))) + " STOP"),
    _one("create of too much code", creating(asm("0x6001 PUSH0 RETURN")) + " STOP", gas=10**7),
    _one("create where the code is too dear", creating(asm("0x4000 PUSH0 RETURN")) + " STOP"),
    _one("create out of gas", creating(asm("JUMPDEST PUSH0 JUMP")) + " STOP", gas=55_000),
    _one("create without the balance", creating(asm("STOP"), 77) + " STOP"),
    _one("create2 without the balance", creating(asm("STOP"), 77, 1) + " STOP"),
    _one("create of nothing", "PUSH0 PUSH0 PUSH0 CREATE STOP"),
    _one("create of too much initcode", "0xc001 PUSH0 PUSH0 CREATE STOP", gas=10**7),
    _pair(
        "calls of all kinds",
        " POP ".join(
            [
                calling("CALL", CALLEE, value_wei=3, data=b"\x01\x02\x03\x04\x05", output_bytes=32),
                calling("STATICCALL", CALLEE, data=b"\x0a\x0b\x0c\x0d", output_bytes=4),
                calling("DELEGATECALL", CALLEE, data=b"\x0a\x0b\x0c\x0d\x0e"),
                calling("CALLCODE", CALLEE, value_wei=2, gas="0x2710"),
                calling("CALL", NOBODY, value_wei=1),
                calling("CALL", NOBODY, gas="PUSH0"),
            ]
        )
        + " STOP",
        "CALLVALUE PUSH0 MSTORE CALLER 0x20 MSTORE 0x40 PUSH0 RETURN",
        balance_wei=100,
        data=b"\xde\xad\xbe\xef\x01",
        value_wei=6,
    ),
    Scenario(
        name="delegatecall in delegatecall",
        accounts={
            CONTRACT: _contract(calling("DELEGATECALL", CALLEE) + " STOP"),
            CALLEE: _contract(calling("DELEGATECALL", INNERMOST) + " STOP"),
            INNERMOST: GenesisAccount(nonce=1, code=STORE),
        },
        value_wei=8,
    ),
    _one("call without the balance", calling("CALL", NOBODY, value_wei=5) + " STOP"),
    _one(
        "callcode without the balance",
        calling("CALLCODE", NOBODY, value_wei=5, gas="0x2710", data=b"\x01\x02\x03\x04") + " STOP",
    ),
    Scenario(
        name="revert with a reason at depth",
        accounts={
            CONTRACT: _contract(
                calling("CALL", CALLEE)
                + " POP RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY RETURNDATASIZE PUSH0 REVERT"
            ),
            CALLEE: _contract(
                calling("CALL", INNERMOST)
                + " POP RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY RETURNDATASIZE PUSH0 REVERT"
            ),
            INNERMOST: _contract("0x01 0x01 SSTORE " + reverting(ERROR)),
        },
    ),
    _inside("revert with a panic", reverting(PANIC)),
    _inside("revert with data of no error", reverting(b"\x01\x02\x03\x04\x05")),
    _inside("revert with two bytes", reverting(b"\x01\x02")),
    _inside("revert with nothing", "PUSH0 PUSH0 REVERT"),
    _inside("revert with a damaged reason", reverting(ERROR[:30])),
    _inside("out of gas in a call", "JUMPDEST PUSH0 JUMP", gas="0x03e8"),
    _inside("out of gas for memory", "0x01 0x05f5e100 MSTORE"),
    _inside("out of gas for storage", "0x01 0x01 SSTORE", gas="0x0bb8"),
    _inside("out of gas for a slot", "0x01 SLOAD", gas="0x64"),
    _inside("out of gas for a balance", "ADDRESS CALLER BALANCE", gas="0x32"),
    _inside("out of gas for a call", calling("CALL", NOBODY, value_wei=1), gas="0x1388"),
    _inside("out of gas for a log", "0x20 PUSH0 LOG0", gas="0x0100"),
    _inside("out of gas for a hash", "0x0400 PUSH0 KECCAK256", gas="0x40"),
    _one("out of gas", "JUMPDEST PUSH0 JUMP", gas=22_000),
    _inside("stack underflow", "0x01 ADD"),
    _inside("stack underflow of a call", "0x01 CALL"),
    _inside("stack underflow of a swap", "0x01 SWAP2"),
    _inside("stack overflow", "PUSH0 " * 1025),
    _inside("invalid opcode", "INVALID"),
    _inside("undefined opcode", "raw:0c"),
    _inside("jump into nowhere", "0x99 JUMP"),
    _inside("return data out of bounds", "0x01 PUSH0 PUSH0 RETURNDATACOPY"),
    _one("invalid opcode at the top", "INVALID", gas=50_000),
    _in_static_call("write protection of a slot", "0x01 0x01 SSTORE"),
    _in_static_call("write protection of a log", "PUSH0 PUSH0 LOG0"),
    _in_static_call("write protection of a create", "PUSH0 PUSH0 PUSH0 CREATE"),
    _in_static_call("write protection of a value", calling("CALL", NOBODY, value_wei=1)),
    _in_static_call("write protection of a selfdestruct", "CALLER SELFDESTRUCT"),
    _one(
        "precompiles",
        " POP ".join(
            [
                calling("STATICCALL", b"\x04", data=b"\x01\x02\x03\x04\x05", output_bytes=5),
                calling("CALL", b"\x02", data=b"\x01\x02\x03\x04", output_bytes=32),
                calling("DELEGATECALL", b"\x03", data=b"abc"),
                calling("CALL", b"\x04", value_wei=1),
                calling("CALL", b"\x06", data=b"\x01" * 128, gas="0xffff"),
                calling("CALL", b"\x02", gas="0x10"),
                calling("STATICCALL", b"\x09", data=b"\x01" * 7, gas="0xffff"),
            ]
        )
        + " STOP",
        balance_wei=10,
    ),
    Scenario(
        name="precompile as recipient", to=Address(b"\0" * 19 + b"\x04"), data=b"\x01\x02\x03\x04"
    ),
    Scenario(
        name="logs at depth",
        accounts={
            CONTRACT: _contract(
                "0x11 PUSH0 MSTORE 0x20 PUSH0 LOG0 "
                + calling("CALL", CALLEE)
                + " POP 0x01 0x20 PUSH0 LOG1 "
                + calling("CALL", INNERMOST)
                + " POP 0x03 0x02 0x01 0x03 0x1d LOG3 STOP"
            ),
            CALLEE: _contract(
                "0x0a 0x0b 0x0c 0x0d PUSH0 PUSH0 LOG4 " + calling("CALL", INNERMOST) + " STOP"
            ),
            INNERMOST: _contract("0x77 PUSH0 PUSH0 LOG1 PUSH0 PUSH0 REVERT"),
        },
    ),
    _one("logs undone", "PUSH0 PUSH0 LOG0 PUSH0 PUSH0 REVERT"),
    _one(
        "storage",
        "0x01 SLOAD 0x02 SLOAD PUSH0 0x01 SSTORE 0x05 0x03 SSTORE PUSH0 0x03 SSTORE"
        " 0x09 0x01 SSTORE 0x04 SLOAD STOP",
    ),
    Scenario(
        name="refunds at depth",
        accounts={
            CONTRACT: _contract(
                "PUSH0 0x01 SSTORE "
                + calling("CALL", CALLEE)
                + " POP "
                + calling("CALL", INNERMOST)
                + " POP 0x06 0x01 SSTORE STOP",
                storage={1: 5},
            ),
            CALLEE: _contract("PUSH0 0x01 SSTORE STOP", storage={1: 5}),
            INNERMOST: _contract("PUSH0 0x01 SSTORE PUSH0 PUSH0 REVERT", storage={1: 5}),
        },
    ),
    _one("selfdestruct", f"0x{NOBODY.hex()} SELFDESTRUCT", balance_wei=12),
    _one("selfdestruct to itself", "ADDRESS SELFDESTRUCT", balance_wei=12),
    _inside("selfdestruct in a call", f"0x{NOBODY.hex()} SELFDESTRUCT"),
    _one(
        "selfdestruct of what was created",
        creating(asm(f"0x{NOBODY.hex()} SELFDESTRUCT"), 3) + " STOP",
        balance_wei=12,
    ),
    _one(
        "accounts read", f"0x{NOBODY.hex()} BALANCE 0x{STRANGER.hex()} EXTCODEHASH COINBASE BALANCE"
    ),
    _pair(
        "access list",
        calling("CALL", CALLEE) + " 0x01 SLOAD STOP",
        "0x02 SLOAD 0x03 SLOAD STOP",
        more={
            "accessList": [
                {"address": "0x" + CALLEE.hex(), "storageKeys": ["0x" + "00" * 31 + "02"]},
            ],
        },
    ),
    _one(
        "dynamic fee",
        "CALLVALUE GASPRICE STOP",
        value_wei=2,
        more={"maxFeePerGas": 5_000_000_000, "maxPriorityFeePerGas": 1_000_000_000},
    ),
    _one(
        "calls too deep",
        "PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL STOP",
        gas=BLOCK_GAS_LIMIT // 2,
    ),
]


def _authorization(address: bytes, nonce: int = 0, key: PrivateKey = STRANGER_KEY) -> object:
    fields = {"chainId": ChainConfig().chain_id, "address": address, "nonce": nonce}
    return Account.sign_authorization(fields, key.to_bytes())


NEW_KEY = PrivateKey(b"\x03" * 32)
DELEGATED = b"\xef\x01\x00"
FEES = {"maxFeePerGas": 5_000_000_000, "maxPriorityFeePerGas": 1_000_000_000}
STORING = GenesisAccount(nonce=1, code=STORE)

SCENARIOS += [
    Scenario(
        name="delegation set and used",
        to=STRANGER,
        accounts={CALLEE: STORING, STRANGER: GenesisAccount(balance_wei=1)},
        more={**FEES, "authorizationList": [_authorization(CALLEE)]},
    ),
    Scenario(
        name="delegation of a new account",
        to=Address(NEW_KEY.public_key.to_canonical_address()),
        accounts={CALLEE: STORING},
        more={**FEES, "authorizationList": [_authorization(CALLEE, key=NEW_KEY)]},
    ),
    Scenario(
        name="delegation that is not valid",
        to=NOBODY,
        accounts={CALLEE: STORING},
        more={**FEES, "authorizationList": [_authorization(CALLEE, nonce=7)]},
    ),
    Scenario(
        name="transaction to a delegated account",
        to=STRANGER,
        accounts={
            CALLEE: STORING,
            STRANGER: GenesisAccount(code=DELEGATED + CALLEE, balance_wei=1, nonce=1),
        },
    ),
    Scenario(
        name="calls of a delegated account",
        accounts={
            CONTRACT: _contract(
                " POP ".join(
                    calling(kind, STRANGER) for kind in ("CALL", "DELEGATECALL", "CALLCODE")
                )
                + " POP "
                + calling("STATICCALL", STRANGER, gas="0xffff")
                + " STOP"
            ),
            CALLEE: STORING,
            STRANGER: GenesisAccount(code=DELEGATED + CALLEE, balance_wei=1, nonce=1),
        },
    ),
    Scenario(
        name="transaction to the sender's own delegated account, which creates",
        to=OWNER,
        accounts={
            CALLEE: _contract(
                creating(asm(returning(RUNTIME))) + " POP " + calling("CALL", OWNER) + " STOP"
            ),
            OWNER: GenesisAccount(code=DELEGATED + CALLEE, balance_wei=OWNER_WEI),
        },
        gas=200_000,
    ),
    Scenario(
        name="call of an account delegated to a precompile",
        accounts={
            CONTRACT: _contract(calling("CALL", STRANGER, data=b"\x01\x02\x03\x04") + " STOP"),
            STRANGER: GenesisAccount(code=DELEGATED + b"\0" * 19 + b"\x04", nonce=1),
        },
    ),
]

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
