"""A chain from Homestead to Osaka and its blob schedules, made by geth.

Source: ethereum/execution-apis, `tests/` at 033ca6e6 (CC0-1.0): `chain.rlp` and `genesis.json`.
"""

from __future__ import annotations

from pathlib import Path

from pyevm_agents.vm.forks import BPO1, BPO2, OSAKA
from tests.conformance.execution_apis import imported_chain

FOLDER = Path(__file__).parent / "osaka"
HEAD = "d226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"


def test_every_block_has_the_results_that_its_header_states() -> None:
    chain = imported_chain(FOLDER)
    assert chain.head.block_number == 54
    assert chain.head.hash.hex() == HEAD
    names = [chain.get_vm_class_at(number).fork for number in (47, 48, 51, 54)]
    assert names == ["prague", OSAKA.name, BPO1.name, BPO2.name]
