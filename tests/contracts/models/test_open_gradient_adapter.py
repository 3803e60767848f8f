"""OpenGradient's encoding of model calls, answered by models in integers."""

from __future__ import annotations

import pytest
from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector, to_canonical_address

from tests.contracts.plain_evm import Contract, Evm, reverts

PLACE = "0x" + "f4".rjust(40, "0")
CID = "QmbUqS93oc4JTLMHwpVxsE39mhNxy6hpf6Py3r9oANr8aZ"
DIGEST = b"\x01" * 32
VANILLA, ZK, TEE = 0, 1, 2
NUMBERS, STRINGS = "(string,(int128,int128)[],uint32[])[]", "(string,string[])[]"
REQUEST = f"(uint8,string,({NUMBERS},{STRINGS}))"
OUTPUT = f"({NUMBERS},{STRINGS},bool)"
SELECTOR = function_signature_to_4byte_selector(f"runModelInference({REQUEST})")

Tensor = tuple[str, list[tuple[int, int]], list[int]]


@pytest.fixture
def adapter(evm: Evm) -> Contract:
    """The adapter's code at 0xF4, over a model that gives the sum and the last of three."""
    models = evm.deploy("ScriptedNumericModels")
    weights = [1, 1, 1, 0, 0, 1]
    model = (DIGEST, [2, 2, 2], [2, 0], -(10**6), 10**6, weights, [0, 0], 1, 2**140)
    models("set", "sum", model)
    names = evm.deploy("ModelNames", [(CID.encode(), "sum")])
    made = evm.deploy("OpenGradientAdapter", models.address, names.address)
    code = evm.vm.state.get_code(to_canonical_address(made.address))
    evm.vm.state.set_code(to_canonical_address(PLACE), code)
    return evm.at("OpenGradientAdapter", PLACE)


def call(
    adapter: Contract, *tensors: Tensor, mode: int = VANILLA, cid: str = CID,
    strings: tuple[tuple[str, list[str]], ...] = (),
) -> tuple[object, ...]:  # fmt: skip
    data = SELECTOR + encode([REQUEST], [(mode, cid, (list(tensors), list(strings)))])
    (output,) = decode([OUTPUT], adapter.evm.send(PLACE, data))
    return tuple(output)


def vector(*numbers: tuple[int, int], shape: list[int] | None = None) -> Tensor:
    return ("x", list(numbers), [len(numbers)] if shape is None else shape)


def test_numbers_go_in_and_come_out(adapter: Contract) -> None:
    # 1.5, 0.25 and 3
    output = call(adapter, vector((15, 1), (25, 2)), vector((3, 0), shape=[1, 1]))
    assert output == ((("output", ((475, 2), (300, 0)), (2,)),), (), False)


@pytest.mark.parametrize(
    ("number", "cents"),
    [((1_005, 3), 100), ((1_015, 3), 102), ((-1_005, 3), -100), ((-1_016, 3), -102), ((9, 37), 0)],
)
def test_numbers_with_more_decimals_are_rounded_half_to_even(
    adapter: Contract, number: tuple[int, int], cents: int
) -> None:
    output = call(adapter, vector((0, 0), (0, 0), number))
    assert output[0] == (("output", ((cents, 2), (cents, 0)), (2,)),)


THREE = vector((1, 0), (1, 0), (1, 0))


@pytest.mark.parametrize(
    ("tensors", "changes", "error"),
    [
        ((THREE,), {"mode": ZK}, ("UnsupportedMode", ZK)),
        ((THREE,), {"mode": TEE}, ("UnsupportedMode", TEE)),
        ((THREE,), {"strings": (("text", ["hello"]),)}, ("UnsupportedStrings", 1)),
        ((THREE,), {"cid": "Qm"}, ("ModelNotServed", b"Qm")),
        ((vector((1, 0), shape=[2]),), {}, ("ShapeMismatch", "x", 2, 1)),
        ((vector((1, 0)),), {}, ("InputLengthMismatch", 1, 3)),
        ((vector((1, -1), (1, 0), (1, 0)),), {}, ("UnsupportedDecimals", -1)),
        ((vector((1, 38), (1, 0), (1, 0)),), {}, ("UnsupportedDecimals", 38)),
        ((vector((10_001, 0), (0, 0), (0, 0)),), {},
         ("InputOutOfRange", 0, 1_000_100, -(10**6), 10**6)),
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused_by_name(
    adapter: Contract,
    tensors: tuple[Tensor, ...],
    changes: dict[str, object],
    error: tuple[object, ...],
) -> None:
    with reverts(*error):
        call(adapter, *tensors, **changes)  # type: ignore[arg-type]
