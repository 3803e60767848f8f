"""Files of numeric models in the folder of a chain: later commands need no option for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.chain import read_chain_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain.database import Rows

PREFIX = b"agents:numeric-file:"
"""Of a file's row; the SHA-256 of the file follows."""


def keep_numeric_files(rows: Rows, models: Mapping[str, NumericModel]) -> None:
    """Store the files of a chain's numeric models in its database.

    A model without a file, as in tests, is not kept.
    """
    if not models:
        return
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx

    files = {
        PREFIX + model.digest: model.data
        for model in models.values()
        if isinstance(model, NumericFile)
    }
    missing = {key: data for key, data in files.items() if rows.get(key) is None}
    if missing:
        rows.write(missing)
        rows.sync()


def read_numeric_files(rows: Rows) -> dict[str, NumericModel] | None:
    """Return the numeric models of the stored chain by name.

    Output: None without a stored chain, or if a file is missing, as in a chain of an earlier
        version.
    Raises: ConfigError: a file is damaged.
    """
    config = read_chain_config(rows)
    if config is None:
        return None
    files = {each.name: rows.get(PREFIX + each.digest) for each in config.numeric_models}
    if not files:
        return {}
    if None in files.values():
        return None
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx

    return {name: NumericFile(data) for name, data in files.items() if data is not None}
