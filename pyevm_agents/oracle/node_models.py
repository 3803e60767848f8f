"""The numeric models of a fork's remote chain, which its node tells.

A node of this program has code at 0x1a if its chain has numeric models, and gives their files. So
no command has to repeat the options that the node was started with.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS, NUMERIC_MODELS_CODE
from pyevm_agents.errors import RemoteFault
from pyevm_agents.forking.fork import RemoteFork

if TYPE_CHECKING:
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.vm import ForkBlock


def read_node_models(block: ForkBlock) -> dict[str, NumericModel]:
    """Return the numeric models of a remote chain by name; none of a chain of another program.

    A model that has no file, as in tests, is left out.

    Raises: RemoteFault: the node does not answer, or gives a file that is not the model's.
    """
    if not isinstance(block, RemoteFork):
        return {}
    account = block.state.get_account(Address(NUMERIC_MODELS_ADDRESS))
    if account is None or account.code != NUMERIC_MODELS_CODE:
        return {}
    models = {}
    for form in _request(block, "agent_numericModels"):
        file = block.request("agent_numericModelFile", [form["name"]])
        if file is not None:
            models[form["name"]] = _open(block, form, file)
    return models


def _request(block: RemoteFork, method: str) -> list[dict[str, str]]:
    listed = block.request(method, [])
    if not isinstance(listed, list) or not all(
        isinstance(each, dict) and all(isinstance(each.get(key), str) for key in ("name", "digest"))
        for each in listed
    ):
        raise RemoteFault(f"{block.host}: {method}: no list of models with names and digests")
    return listed


def _open(block: RemoteFork, form: dict[str, str], file: object) -> NumericModel:
    from pyevm_agents.models.numeric import (  # noqa: PLC0415 - imports onnx
        NumericFile,
        NumericModelError,
    )

    name = f"{block.host}: numeric model {form['name']!r:.80}"
    try:
        model = NumericFile(binascii.unhexlify(str(file)[2:]))
    except (NumericModelError, binascii.Error, ValueError) as error:
        raise RemoteFault(f"{name}: its file is no numeric model: {error}") from error
    if form["digest"] != "0x" + model.digest.hex():
        raise RemoteFault(f"{name}: its file has another SHA-256 than {form['digest']:.80}")
    return model
