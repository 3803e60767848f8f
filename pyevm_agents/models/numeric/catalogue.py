"""Numeric models by name: those that this package contains, and files that a user names.

    open_shipped("sentiment")
    open_named_models({"forecast": "forecast.onnx", "tone": "sentiment"})
    open_named_models(["sentiment", "forecast=forecast.onnx"])

A text that is the name of a shipped model is that model; `./sentiment` is a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric.numeric_file import NumericFile, read_model_file

if TYPE_CHECKING:
    from typing import TypeAlias

    from precompiles.numeric_model import NumericModel

    NamedModels: TypeAlias = Mapping[str, NumericModel | Path | str] | Sequence[str]
    """Models or their files by name; or texts, each NAME=FILE or the name of a shipped model."""

FOLDER = Path(__file__).parent / "files"

SHIPPED = ("forecast", "risk", "sentiment")
"""Names of the shipped models. Their cards: training/numeric/CARDS.md."""

KEPT_FILES = 32
"""Opened files that are kept: a suite of tests opens the same ones again and again."""


def find_shipped(name: str) -> Path:
    """Return the file of a shipped model.

    Raises: ConfigError: no shipped model has this name.
    """
    if name not in SHIPPED:
        raise ConfigError(f"numeric model {name!r}: must be one of {', '.join(SHIPPED)}, or a file")
    return FOLDER / f"{name}.onnx"


def find_named(file: Path | str) -> Path:
    """Return the file of a shipped model with this name, or else the file itself."""
    return find_shipped(str(file)) if str(file) in SHIPPED else Path(file)


def open_shipped(name: str) -> NumericFile:
    """Open a shipped model.

    Raises: ConfigError: no shipped model has this name.
    """
    return _open_content(read_model_file(find_shipped(name)))


def parse_named_files(texts: Sequence[str]) -> dict[str, str]:
    """Return files by name, of texts NAME=FILE or names of shipped models.

    Raises: ConfigError: neither, or a name is there twice.
    """
    files: dict[str, str] = {}
    for text in texts:
        name, separator, file = text.partition("=")
        if not separator and name in SHIPPED:
            file = name
        elif not (name and file):
            file = text.strip("=")
            example = f"{Path(file).stem}={file}" if Path(file).suffix else "trend=trend.onnx"
            raise ConfigError(
                f"{text!r}: must be NAME=FILE, such as {example}, or the name of a shipped model: "
                f"{', '.join(SHIPPED)}"
            )
        if name in files:
            raise ConfigError(f"{name!r} is there twice; give each model its own name")
        files[name] = file
    return files


def open_named_models(
    models: NamedModels, *, folder: Path | None = None, source: str = "numeric model"
) -> dict[str, NumericModel]:
    """Open models by name. Content that was opened before is not parsed again.

    Input:
        models: models or files by name, or texts.
        folder: where relative paths begin; None for the working folder.
        source: where the models come from, the first words of an error.

    Raises: ConfigError: a name or a value is invalid, a file can't be read, or is no numeric model.
    """
    if isinstance(models, str):
        models = [models]
    if not isinstance(models, Mapping):
        if not isinstance(models, Sequence) or not all(isinstance(each, str) for each in models):
            raise ConfigError(
                f"{source}s: must be files by name, such as {{'forecast': 'forecast.onnx'}}, or a "
                "list of names of shipped models and of NAME=FILE"
            )
        models = parse_named_files(models)
    return {
        name: _open_value(name, value, folder or Path(), source) for name, value in models.items()
    }


def _open_value(name: str, value: object, folder: Path, source: str) -> NumericModel:
    """Open a model that is given as a model, as a path or as the name of a shipped model."""
    if not isinstance(value, str | Path):
        if not hasattr(value, "digest") or not hasattr(value, "run"):
            raise ConfigError(f"{source} {name}: must be the path of a file, or a `NumericFile`")
        model: NumericModel = value  # type: ignore[assignment]  # has the port's members
        return model
    path = folder / find_named(value)
    try:
        return _open_content(read_model_file(path))
    except ConfigError as error:
        raise ConfigError(f"{source} {name}={value}: {error}") from error


@lru_cache(maxsize=KEPT_FILES)
def _open_content(data: bytes) -> NumericFile:
    return NumericFile(data)
