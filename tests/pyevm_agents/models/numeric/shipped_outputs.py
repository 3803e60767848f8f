"""Hashes of the outputs of the shipped models, and the processor features that NumPy uses.

python -m tests.pyevm_agents.models.numeric.shipped_outputs COUNT SEED
"""

from __future__ import annotations

import json
import sys

from pyevm_agents.models.numeric import NumericFile
from tests.pyevm_agents.models.numeric.output_digest import list_dispatched
from tests.pyevm_agents.models.numeric.solidity.twins import SHIPPED, get_file, hash_outputs


def hash_shipped(count: int, seed: int) -> dict[str, str]:
    """Return the hash of each model's outputs of `count` drawn inputs, in hexadecimal."""
    return {name: hash_outputs(NumericFile(get_file(name)), count, seed).hex() for name in SHIPPED}


if __name__ == "__main__":
    hashes = hash_shipped(int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({"features": list_dispatched(), "hashes": hashes}))  # noqa: T201
