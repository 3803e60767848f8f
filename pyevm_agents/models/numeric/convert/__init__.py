"""Converter of float models in ONNX to numeric models: files that compute in integers."""

from pyevm_agents.models.numeric.convert.converter import Conversion, convert, convert_model
from pyevm_agents.models.numeric.convert.options import (
    ConversionError,
    ConversionOptions,
    InputColumns,
)

__all__ = [
    "Conversion",
    "ConversionError",
    "ConversionOptions",
    "InputColumns",
    "convert",
    "convert_model",
]
