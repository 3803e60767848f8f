"""The suite ethereum/tests: with the executor the same blocks are valid, with the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.cancun import CancunVM
from eth.vm.forks.prague import PragueVM

from pyevm_agents.vm import CANCUN, PRAGUE
from tests.conformance.ethereum_tests import (
    NAME,
    agents_vm,
    cases,
    files,
    imported,
    mined,
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

OF_PY_EVM = {
    "RevertInCreateInInit_Paris",
    "RevertInCreateInInitCreate2Paris",
    "create2collisionStorageParis",
}
"""Files whose results py-evm's own Cancun does not have either: a contract is created where there
is storage already (EIP-7610)."""

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
def test_blocks_are_what_the_suite_says_and_what_py_evm_says(file: Path) -> None:
    for case in cases(file):
        last, refusals = imported(case, agents_vm(CANCUN))
        wanted = ["expectException" in block for block in case.form["blocks"]]
        is_right = (
            last == case.form["lastblockhash"]
            and [refusal is not None for refusal in refusals] == wanted
        )
        # Where the suite is followed by both, they need not be held against each other.
        assert is_right or (last, refusals) == imported(case, CancunVM), (case.name, refusals)
        assert is_right == (file.stem not in OF_PY_EVM), (case.name, refusals)


@pytest.mark.parametrize("file", EACH)
def test_the_agents_fork_does_with_its_transactions_what_py_evms_prague_does(file: Path) -> None:
    for case in cases(file):
        assert mined(case, agents_vm(PRAGUE)) == mined(case, PragueVM), case.name
