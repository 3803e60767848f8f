"""Data of real inputs: CSV with or without a line of names, or NumPy's .npy."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.models.numeric.convert.options import ConversionError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Rows of inputs, one a column."""

    rows: np.ndarray
    names: tuple[str, ...]
    """Names of the columns; empty if the file has none."""


def read_table(path: Path) -> DataTable:
    """Read a file of inputs.

    Raises: ConversionError: the file is missing, or not numbers in rows of one length.
    """
    if not path.is_file():
        raise ConversionError(f"data file {path} does not exist; check the path")
    try:
        return _read_array(path) if path.suffix == ".npy" else _read_csv(path)
    except OSError as error:
        raise ConversionError(f"data file {path}: can't be read: {error.strerror}") from error


def _read_array(path: Path) -> DataTable:
    try:
        rows = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ConversionError(f"data file {path}: not an array of numbers in .npy") from error
    if not isinstance(rows, np.ndarray):
        raise ConversionError(f"data file {path}: not an array of numbers in .npy")
    return DataTable(rows=rows, names=())


def _read_csv(path: Path) -> DataTable:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConversionError(f"data file {path}: not a CSV file in UTF-8") from error
    if not lines:
        raise ConversionError(f"data file {path}: must have rows")
    has_names = any(_parse(cell) is None for cell in lines[0])
    names = tuple(cell.strip() for cell in lines[0]) if has_names else ()
    body = lines[1:] if has_names else lines
    if not body:
        raise ConversionError(f"data file {path}: must have rows below the line of names")
    rows = np.empty((len(body), len(lines[0])))
    for number, line in enumerate(body):
        where = f"data file {path}, line {number + 1 + has_names}"
        if len(line) != len(lines[0]):
            raise ConversionError(f"{where}: {len(line)} columns: must be {len(lines[0])}")
        for column, cell in enumerate(line):
            value = _parse(cell)
            if value is None or not math.isfinite(value):
                label = names[column] if names else f"column {column + 1}"
                raise ConversionError(
                    f"{where}, {label}: {cell.strip()[:40] or 'empty'}: must be a finite number; "
                    "drop or fill it"
                )
            rows[number, column] = value
    return DataTable(rows=rows, names=names)


def _parse(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
