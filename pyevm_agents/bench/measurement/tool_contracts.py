"""Minimal tool contracts, with their metadata as data behind their code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import encode

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from pyevm_agents.bench.measurement.assembly import assemble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.abi import ParamDescription


def build_tool_code(
    name: str, description: str, parameters: Sequence[ParamDescription] = ()
) -> bytes:
    """Return the runtime code of a tool that has this metadata and no function."""
    listed = [(int(param.param_type), param.name, param.description) for param in parameters]
    return build_answering_code(
        {
            NAME_SELECTOR: encode(["string"], [name]),
            DESCRIPTION_SELECTOR: encode(["string"], [description]),
            INPUT_DESCRIPTION_SELECTOR: encode(["((uint8,string,string)[])"], [(listed,)]),
        }
    )


def build_answering_code(answers: Mapping[bytes, bytes]) -> bytes:
    """Return code that answers each selector with fixed bytes, any other call with empty output."""

    def assemble_parts(places: Sequence[int], data_at: int) -> list[bytes]:
        """Return the dispatch branches, then the parts that copy each answer from the data."""
        branches = assemble("PUSH0 CALLDATALOAD 0xe0 SHR")
        parts = []
        for (selector, answer), place in zip(answers.items(), places, strict=True):
            branches += assemble(f"DUP1 0x{selector.hex()} EQ 0x{place:04x} JUMPI")
            size = f"0x{len(answer):04x}"
            parts.append(
                assemble(f"JUMPDEST {size} 0x{data_at:04x} PUSH0 CODECOPY {size} PUSH0 RETURN")
            )
            data_at += len(answer)
        return [branches + assemble("STOP"), *parts]

    blocks = assemble_parts([0] * len(answers), 0)
    places = [sum(map(len, blocks[: 1 + index])) for index in range(len(blocks))]
    code = b"".join(assemble_parts(places[:-1], places[-1]))
    return code + b"".join(answers.values())
