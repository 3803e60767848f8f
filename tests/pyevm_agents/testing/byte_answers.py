"""A byte model that counts to five, for agents with a counter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.byte_model import ByteModel

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest

USE = ' I add.\nAction: CounterTool\nAction Input: {"amount": 5}'
ANSWER = " Done.\nFinal Answer: It is 5."


def counting(request: GenerationRequest) -> str:
    told = any("Observation: The counter" in one.text for one in request.segments)
    return ANSWER if told else USE


def five() -> ByteModel:
    return ByteModel(counting, is_free=True)
