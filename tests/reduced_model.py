"""The default model with its first two layers alone: its vocabulary and kernels, little to compute.

Its generations make no sense, but are computed, saved and restored as those of thirty layers
are, for a tenth of the time. Tests of the engine's process and memory use it. Tests of the
generated text use the whole model.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import gguf

from pyevm_agents.models.gguf.files import find_default_model

if TYPE_CHECKING:
    from pathlib import Path

LAYERS = 2


def write_reduced_model(path: Path) -> None:
    """Write the model's file; another process may write the same one at the same time."""
    reader = gguf.GGUFReader(find_default_model())
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    writer = gguf.GGUFWriter(draft, "llama")
    for field in reader.fields.values():
        copy_field(writer, field)
    for tensor in reader.tensors:
        _, _, rest = tensor.name.partition("blk.")
        if not rest or int(rest.partition(".")[0]) < LAYERS:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(path)


def copy_field(writer: gguf.GGUFWriter, field: Any) -> None:  # noqa: ANN401 - gguf has no types
    """Copy an entry of the file's header, except for entries that the writer adds by itself."""
    if field.name.startswith("GGUF.") or field.name == "general.architecture":
        return
    value = LAYERS if field.name == "llama.block_count" else field.contents()
    inner = field.types[-1] if len(field.types) > 1 else None
    writer.add_key_value(field.name, value, field.types[0], sub_type=inner)
