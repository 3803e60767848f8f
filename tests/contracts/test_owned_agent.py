"""OwnedAgent: only its owner runs it, and an answer that is not done undoes the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak

from tests.contracts.plain_evm import STRANGER, RevertedError, final_answer, reverts, text_input

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

EXECUTOR = "0x" + "00" * 19 + "19"


def test_an_answer_that_is_not_done_undoes_the_run(evm: Evm, executor: Contract) -> None:
    texts = ("m", "Trader", "Trades.", "what to do", "")
    agent = evm.deploy("OwnedAgent", STRANGER.address, executor.address, *texts, [], 4)
    executor("willReturn", final_answer("Done."))
    assert agent("instruct", "Swap", sender=STRANGER) == "Done."
    executor("willReturn", final_answer("UNSURE: which one?"))
    with reverts("NotDone", "UNSURE: which one?"):
        agent("instruct", "Swap", sender=STRANGER)
    for function, argument in (("instruct", ("Swap",)), ("run", (text_input("Swap"), EXECUTOR))):
        with pytest.raises(RevertedError) as caught:
            agent(function, *argument)
        assert caught.value.data[:4] == keccak(text="OwnableUnauthorizedAccount(address)")[:4]
