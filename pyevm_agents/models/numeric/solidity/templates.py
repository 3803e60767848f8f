"""Solidity of the operations: loops over operands that are read by strides.

An operand is one word: pointer (32 bits), right shift after `mload` (8 bits: 256 less the width),
stride of the inner loop (24 bits) and of the outer one (24 bits), in bytes. The shift is an
arithmetic one, so that constants of 1, 2, 4 or 8 bytes and values of 32 are read alike, with sign.
Results are words, one after the other.
"""

from __future__ import annotations

POINTER_BITS, SHIFT_BITS, STRIDE_BITS = 32, 8, 24
INNER_AT = POINTER_BITS + SHIFT_BITS
OUTER_AT = INNER_AT + STRIDE_BITS
COUNT_BITS = 24

UNARY = {
    "abs": "if slt(x, 0) { x := sub(0, x) }",
    "bool": "x := iszero(iszero(x))",
    "copy": "",
    "neg": "x := sub(0, x)",
    "not": "x := iszero(x)",
    "relu": "if slt(x, 0) { x := 0 }",
    "sign": "x := sub(sgt(x, 0), slt(x, 0))",
}

BINARY = {
    "add": "x := add(x, y)",
    "and": "x := and(x, y)",
    "div": "x := sdiv(x, y)",
    "equal": "x := eq(x, y)",
    "greater": "x := sgt(x, y)",
    "greaterOrEqual": "x := iszero(slt(x, y))",
    "less": "x := slt(x, y)",
    "lessOrEqual": "x := iszero(sgt(x, y))",
    "max": "if slt(x, y) { x := y }",
    "min": "if sgt(x, y) { x := y }",
    "modFloor": "x := smod(x, y) if mul(x, slt(xor(x, y), 0)) { x := add(x, y) }",
    "modTruncate": "x := smod(x, y)",
    "mul": "x := mul(x, y)",
    "or": "x := or(x, y)",
    "sub": "x := sub(x, y)",
}

REDUCTION = {
    "max": "if slt(x, y) { x := y }",
    "min": "if sgt(x, y) { x := y }",
    "sum": "x := add(x, y)",
}

UNARY_TEXT = """\
    function _{name}(uint256 a, uint256 out, uint256 nest) private pure {{
        assembly ("memory-safe") {{
            let shift := and(shr(32, a), 0xff)
            let inner := and(shr(40, a), 0xffffff)
            for {{ let finish := add(out, shl(5, shr(24, nest))) }}
            lt(out, finish) {{ a := add(a, shr(64, a)) }} {{
                let p := and(a, 0xffffffff)
                for {{ let end := add(out, shl(5, and(nest, 0xffffff))) }}
                lt(out, end) {{ out := add(out, 32) }} {{
                    let x := sar(shift, mload(p))
                    {body}
                    mstore(out, x)
                    p := add(p, inner)
                }}
            }}
        }}
    }}
"""

CLIP_TEXT = """\
    function _clip(uint256 a, uint256 out, uint256 nest, int256 least, int256 most) private pure {
        assembly ("memory-safe") {
            let shift := and(shr(32, a), 0xff)
            let inner := and(shr(40, a), 0xffffff)
            for { let finish := add(out, shl(5, shr(24, nest))) }
            lt(out, finish) { a := add(a, shr(64, a)) } {
                let p := and(a, 0xffffffff)
                for { let end := add(out, shl(5, and(nest, 0xffffff))) }
                lt(out, end) { out := add(out, 32) } {
                    let x := sar(shift, mload(p))
                    if slt(x, least) { x := least }
                    if sgt(x, most) { x := most }
                    mstore(out, x)
                    p := add(p, inner)
                }
            }
        }
    }
"""

BINARY_TEXT = """\
    function _{name}(uint256 a, uint256 b, uint256 out, uint256 nest) private pure {{
        assembly ("memory-safe") {{
            let shiftA := and(shr(32, a), 0xff)
            let innerA := and(shr(40, a), 0xffffff)
            let shiftB := and(shr(32, b), 0xff)
            let innerB := and(shr(40, b), 0xffffff)
            for {{ let finish := add(out, shl(5, shr(24, nest))) }} lt(out, finish) {{
                a := add(a, shr(64, a))
                b := add(b, shr(64, b))
            }} {{
                let p := and(a, 0xffffffff)
                let q := and(b, 0xffffffff)
                for {{ let end := add(out, shl(5, and(nest, 0xffffff))) }}
                lt(out, end) {{ out := add(out, 32) }} {{
                    let x := sar(shiftA, mload(p))
                    let y := sar(shiftB, mload(q))
                    {body}
                    mstore(out, x)
                    p := add(p, innerA)
                    q := add(q, innerB)
                }}
            }}
        }}
    }}
"""

REDUCTION_TEXT = """\
    function _reduce{title}(uint256 a, uint256 out, uint256 nest) private pure {{
        assembly ("memory-safe") {{
            let shift := and(shr(32, a), 0xff)
            let inner := and(shr(40, a), 0xffffff)
            for {{ let finish := add(out, shl(5, shr(24, nest))) }}
            lt(out, finish) {{ out := add(out, 32) }} {{
                let p := and(a, 0xffffffff)
                let end := add(p, mul(inner, and(nest, 0xffffff)))
                let x := sar(shift, mload(p))
                for {{ p := add(p, inner) }} lt(p, end) {{ p := add(p, inner) }} {{
                    let y := sar(shift, mload(p))
                    {body}
                }}
                mstore(out, x)
                a := add(a, shr(64, a))
            }}
        }}
    }}
"""

PLACE_TEXT = """\
    function _arg{title}(uint256 a, uint256 out, uint256 nest) private pure {{
        assembly ("memory-safe") {{
            let shift := and(shr(32, a), 0xff)
            let inner := and(shr(40, a), 0xffffff)
            for {{ let finish := add(out, shl(5, shr(24, nest))) }}
            lt(out, finish) {{ out := add(out, 32) }} {{
                let p := and(a, 0xffffffff)
                let best := sar(shift, mload(p))
                let place := 0
                for {{ let i := 1 }} lt(i, and(nest, 0xffffff)) {{ i := add(i, 1) }} {{
                    p := add(p, inner)
                    let x := sar(shift, mload(p))
                    if {better} {{
                        best := x
                        place := i
                    }}
                }}
                mstore(out, place)
                a := add(a, shr(64, a))
            }}
        }}
    }}
"""

PLACES = {
    "Max": "sgt(x, best)",
    "MaxLast": "iszero(slt(x, best))",
    "Min": "slt(x, best)",
    "MinLast": "iszero(sgt(x, best))",
}

PICK_TEXT = """\
    function _pick(uint256 a, uint256 b, uint256 out, uint256 count) private pure {
        assembly ("memory-safe") {
            let shiftA := and(shr(32, a), 0xff)
            let stride := shr(64, a)
            let shiftB := and(shr(32, b), 0xff)
            let innerB := and(shr(40, b), 0xffffff)
            let p := and(a, 0xffffffff)
            let q := and(b, 0xffffffff)
            for { let end := add(out, shl(5, count)) } lt(out, end) { out := add(out, 32) } {
                mstore(out, sar(shiftA, mload(add(p, mul(stride, sar(shiftB, mload(q)))))))
                q := add(q, innerB)
            }
        }
    }
"""

GATHER_TEXT = """\
    function _gather(uint256 a, uint256 b, uint256 out, uint256 nest) private pure {
        assembly ("memory-safe") {
            let shiftA := and(shr(32, a), 0xff)
            let innerA := and(shr(40, a), 0xffffff)
            let q := and(b, 0xffffffff)
            for { let finish := add(out, shl(5, shr(24, nest))) } lt(out, finish) {
                q := add(q, and(shr(40, b), 0xffffff))
            } {
                let row := sar(and(shr(32, b), 0xff), mload(q))
                let p := add(and(a, 0xffffffff), mul(shr(64, a), row))
                for { let end := add(out, shl(5, and(nest, 0xffffff))) }
                lt(out, end) { out := add(out, 32) } {
                    mstore(out, sar(shiftA, mload(p)))
                    p := add(p, innerA)
                }
            }
        }
    }
"""

PRODUCT_TEXT = """\
    function _matMul(uint256 a, uint256 b, uint256 out, uint256 sizes) private pure {
        assembly ("memory-safe") {
            let shiftA := and(shr(32, a), 0xff)
            let innerA := and(shr(40, a), 0xffffff)
            let shiftB := and(shr(32, b), 0xff)
            let outerB := shr(64, b)
            for { let finish := add(out, shl(5, shr(48, sizes))) }
            lt(out, finish) { a := add(a, shr(64, a)) } {
                let column := and(b, 0xffffffff)
                for { let end := add(out, shl(5, and(sizes, 0xffffff))) }
                lt(out, end) { out := add(out, 32) } {
                    let sum := 0
                    let p := and(a, 0xffffffff)
                    let q := column
                    for { let last := add(p, mul(innerA, and(shr(24, sizes), 0xffffff))) }
                    lt(p, last) {
                        p := add(p, innerA)
                        q := add(q, outerB)
                    } {
                        sum := add(sum, mul(sar(shiftA, mload(p)), sar(shiftB, mload(q))))
                    }
                    mstore(out, sum)
                    column := add(column, and(shr(40, b), 0xffffff))
                }
            }
        }
    }
"""

FIXED = {"clip": CLIP_TEXT, "pick": PICK_TEXT, "gather": GATHER_TEXT, "matMul": PRODUCT_TEXT}


def build_function(name: str) -> str:
    """Return the Solidity of an operation by name without the underscore."""
    if name in FIXED:
        return FIXED[name]
    if name in UNARY:
        return UNARY_TEXT.format(name=name, body=UNARY[name])
    if name in BINARY:
        return BINARY_TEXT.format(name=name, body=BINARY[name])
    if name.startswith("reduce"):
        title = name.removeprefix("reduce")
        return REDUCTION_TEXT.format(title=title, body=REDUCTION[title.lower()])
    title = name.removeprefix("arg")
    return PLACE_TEXT.format(title=title, better=PLACES[title])


FILE_TEXT = """\
// SPDX-License-Identifier: {licence}
pragma solidity ^0.8.24;

/// @title {name}: a numeric model in integers, generated by `pyevm-agents model solidity`.
/// @notice {signature}
/// @dev The same results as the precompile's for the file of SHA-256 0x{digest}.
/// Arithmetic wraps and is unchecked: interval analysis of the file proved that, for inputs within
/// their ranges, each value and each partial sum fits 64 bits. Other inputs are refused.
library {name} {{
    /// @notice Number of inputs differs.
    error InputLengthMismatch(uint256 given, uint256 wanted);

    /// @notice An input is outside its range.
    error InputOutOfRange(uint256 index, int256 value, int256 least, int256 most);

    /// @notice SHA-256 of the model's file.
    bytes32 internal constant DIGEST = 0x{digest};

    /// @dev Weights, tables and ranges, {data_bytes} bytes: {widths}.
    bytes private constant DATA =
{data};

    /// @notice Run the model.
    /// @param input {input_text}
    /// @return output {output_text}
    function run(int256[] memory input) internal pure returns (int256[] memory output) {{
        if (input.length != {inputs}) revert InputLengthMismatch(input.length, {inputs});
        bytes memory data = DATA;
        output = new int256[]({outputs});
        uint256 d;
        uint256 i;
        uint256 m;
        uint256 o;
        assembly ("memory-safe") {{
            d := add(data, 32)
            i := add(input, 32)
            o := add(output, 32)
            m := mload(0x40)
            mstore(0x40, add(m, {memory_bytes}))
        }}
        _check(input, d + {ranges_at});
        // d: constants, i: inputs, m: memory for values, o: outputs.
{lines}
    }}

    function _check(int256[] memory input, uint256 ranges) private pure {{
        for (uint256 index = 0; index < input.length; ++index) {{
            int256 value = input[index];
            int256 least;
            int256 most;
            assembly ("memory-safe") {{
                least := sar(192, mload(ranges))
                most := sar(192, mload(add(ranges, 8)))
                ranges := add(ranges, 16)
            }}
            if (value < least || value > most) revert InputOutOfRange(index, value, least, most);
        }}
    }}

{functions}}}

/// @title {name}Model: the model as a contract.
contract {name}Model {{
    /// @notice Run the model.
    /// @param input {input_text}
    /// @return {output_text}
    function runModel(int256[] calldata input) external pure returns (int256[] memory) {{
        return {name}.run(input);
    }}

    /// @notice SHA-256 of the model's file.
    function digest() external pure returns (bytes32) {{
        return {name}.DIGEST;
    }}
}}
"""
