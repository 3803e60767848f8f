"""The suite ethereum/tests: with the executor the same blocks are valid, with the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague import PragueVM

from pyevm_agents.vm import CANCUN, PRAGUE
from tests.conformance.ethereum_tests import (
    NAME,
    agents_vm,
    cases,
    files,
    imported,
    is_refused_rightly,
    mined,
    wanted_reasons,
)
from tests.conformance.suites import suite

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = suite(NAME)
if FOLDER is None:
    pytest.skip("no shared/conformance/ethereum-tests beside the checkout", allow_module_level=True)

FILES = files(FOLDER)
SAMPLE = 25
"""One file of so many is tried by default."""

STORAGE_COLLISIONS = {
    "RevertInCreateInInit_Paris",
    "RevertInCreateInInitCreate2Paris",
    "create2collisionStorageParis",
}
"""Files in which a contract is to be created where there is storage (EIP-7610); py-evm does so."""

TOO_LONG = {"Create2Recursive"}
"""Files that take py-evm more than ten minutes on a loaded machine, pytest's limit for a test."""

EACH = [
    pytest.param(
        file,
        id=f"{file.parent.name}/{file.stem}",
        marks=[] if index % SAMPLE == 0 else [pytest.mark.slow],
    )
    for index, file in enumerate(FILES)
    if file.stem not in TOO_LONG
]

# py-evm warns of SELFDESTRUCT, which the suite uses.
pytestmark = pytest.mark.filterwarnings(
    "ignore:SELFDESTRUCT opcode present:DeprecationWarning",
    "ignore:CALLCODE:DeprecationWarning",
)


def test_the_suite_is_whole() -> None:
    assert len(FILES) == 529


@pytest.mark.parametrize("file", EACH)
def test_blocks_are_those_of_the_suite(file: Path) -> None:
    for case in cases(file):
        last, refusals = imported(case, agents_vm(CANCUN))
        assert last == case.form["lastblockhash"], (case.name, refusals)
        for refusal, block in zip(refusals, case.form["blocks"], strict=True):
            wanted = wanted_reasons(block)
            assert is_refused_rightly(refusal, wanted), (case.name, refusal, wanted)


@pytest.mark.parametrize("file", EACH)
def test_the_agents_fork_does_with_its_transactions_what_py_evms_prague_does(file: Path) -> None:
    for case in cases(file):
        if any(wanted_reasons(block) for block in case.form["blocks"]):
            continue  # py-evm makes some of the blocks that are refused above.
        ours, theirs = mined(case, agents_vm(PRAGUE)), mined(case, PragueVM)
        assert (ours == theirs) == (file.stem not in STORAGE_COLLISIONS), case.name
