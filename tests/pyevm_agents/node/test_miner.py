"""Blocks around agents: rehearsals, what outdates them, and faults."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from eth.constants import SYSTEM_ADDRESS
from eth.vm.forks.prague.constants import (
    DEPOSIT_CONTRACT_ADDRESS,
    DEPOSIT_EVENT_SIGNATURE_HASH,
    WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
)
from eth_utils import to_canonical_address, to_hex

from pyevm_agents.errors import EngineFault
from pyevm_agents.node import MiningMode
from pyevm_agents.node.rehearsals import MAX_REHEARSALS
from pyevm_agents.node.txpool import Leaving
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.vm import InvalidBlockError
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import hashes, mined, transaction
from tests.pyevm_agents.tracing.assembler import asm
from tests.thinking_node import TEXTS, ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.language_model import Generation, GenerationRequest
    from tests.pyevm_agents.node.senders_of_tests import MakeNode


@pytest.fixture
def it() -> Iterator[ThinkingNode]:
    with closing(ThinkingNode(send_seconds=0.05)) as made:
        yield made


def find_prompt_slot(it: ThinkingNode) -> int:
    """Return the storage slot of the agent's base prompt, a short string."""
    text = TEXTS[-1].encode()
    stored = int.from_bytes(text.ljust(31, b"\0") + bytes([2 * len(text)]), "big")
    state, agent = it.node.chain.state(), to_canonical_address(it.agent)
    return next(slot for slot in range(50) if state.get_storage(agent, slot) == stored)


def change_prompt(it: ThinkingNode, slot: int, number: int) -> None:
    """Change what the agent reads, as another's transaction would."""
    text = b"You are agent %d." % number
    word = text.ljust(31, b"\0") + bytes([2 * len(text)])
    it.ask("anvil_setStorageAt", it.agent, hex(slot), to_hex(word))


def during_inference(
    it: ThinkingNode, monkeypatch: pytest.MonkeyPatch, work: Callable[[int], None]
) -> None:
    """Call a function with the number of each inference before it ends."""
    generate, numbers = it.model.generate, iter(range(1, 100))

    def generate_later(request: GenerationRequest) -> Generation:
        work(next(numbers))
        return generate(request)

    monkeypatch.setattr(it.model, "generate", generate_later)


def receipt(it: ThinkingNode, sent: str) -> Any:  # noqa: ANN401 - JSON
    assert it.node.wait_idle(HANG_SECONDS)
    return it.ask("eth_getTransactionReceipt", sent)


@pytest.mark.parametrize("changes", [0, 1, MAX_REHEARSALS - 1])
def test_an_agent_thinks_again_only_about_what_has_changed(
    it: ThinkingNode, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    slot = find_prompt_slot(it)

    def change(number: int) -> None:
        if number <= changes:
            change_prompt(it, slot, number)

    during_inference(it, monkeypatch, change)
    sent = it.ask("eth_sendTransaction", it.run)
    assert receipt(it, sent)["status"] == "0x1"
    assert len(it.model.requests) == 1 + changes
    prompts = it.model.prompts
    assert f"You are agent {changes}." in prompts[-1] or not changes
    assert len(it.ask("agent_traceTransaction", sent)["steps"]) == 1


def test_after_its_last_rehearsal_an_agent_thinks_while_others_wait(
    it: ThinkingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = find_prompt_slot(it)
    waiting = []

    def change(number: int) -> None:
        if number <= MAX_REHEARSALS:
            change_prompt(it, slot, number)
        else:
            waiting.append(it.node.submit_change(int))
            assert not waiting[0].done()

    during_inference(it, monkeypatch, change)
    sent = it.ask("eth_sendTransaction", it.run)
    assert receipt(it, sent)["status"] == "0x1"
    assert len(it.model.requests) == MAX_REHEARSALS + 1
    assert waiting[0].result(HANG_SECONDS) == 0


def test_a_fault_drops_the_transaction_that_it_is_in_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(ThinkingNode(mining=MiningMode(is_automatic=False))) as it:

        def fail(_: int) -> None:
            raise EngineFault("the model's process was ended by SIGKILL")

        plain = it.ask("eth_sendTransaction", it.transfer(**{"from": it.second}))
        run = it.ask("eth_sendTransaction", it.run)
        with monkeypatch.context() as patch:
            during_inference(it, patch, fail)
            with pytest.raises(RpcError, match="SIGKILL"):
                it.ask("evm_mine")
        assert it.ask("eth_getTransactionByHash", run) is None
        assert it.ask("eth_getTransactionByHash", plain)["blockHash"] is None
        it.ask("evm_mine")
        assert it.ask("eth_getTransactionReceipt", plain)["status"] == "0x1"


def test_a_stopping_node_leaves_an_aborted_transaction_in_the_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(ThinkingNode()) as it:

        def abort(_: int) -> None:
            it.node.begin_stop()
            raise EngineFault("the engine is closed")

        during_inference(it, monkeypatch, abort)
        with pytest.raises(RpcError, match="the engine is closed"):
            it.ask("eth_sendTransaction", it.run)
        assert it.ask("txpool_status") == {"pending": "0x1", "queued": "0x0"}


def test_agents_of_one_sender_and_what_is_between_keep_their_nonces(it: ThinkingNode) -> None:
    it.model.pause()
    sent = [it.ask("eth_sendTransaction", one) for one in (it.run, it.transfer(), it.run, it.run)]
    it.model.go_on.set()
    receipts = [receipt(it, one) for one in sent]
    assert [one["status"] for one in receipts] == ["0x1"] * 4
    places = [(int(one["blockNumber"], 16), int(one["transactionIndex"], 16)) for one in receipts]
    assert places == sorted(places)


def test_agents_of_two_senders_are_both_mined(it: ThinkingNode) -> None:
    it.model.pause()
    sent = [it.ask("eth_sendTransaction", it.run | {"from": one}) for one in (it.first, it.second)]
    it.model.go_on.set()
    assert [receipt(it, one)["status"] for one in sent] == ["0x1"] * 2


def test_a_dropped_agent_is_not_mined_when_it_has_thought(it: ThinkingNode) -> None:
    it.model.pause()
    sent = it.ask("eth_sendTransaction", it.run)
    assert it.ask("anvil_dropTransaction", sent) == sent
    it.model.go_on.set()
    assert receipt(it, sent) is None
    assert it.ask("eth_getTransactionCount", it.first, "pending") == "0x0"


def test_switching_automine_on_mines_what_waits_and_rehearses_agents() -> None:
    with closing(ThinkingNode(mining=MiningMode(is_automatic=False))) as it:
        sent = [it.ask("eth_sendTransaction", one) for one in (it.run, it.transfer())]
        it.ask("evm_setAutomine", True)  # noqa: FBT003 - JSON-RPC has places
        assert [receipt(it, one)["status"] for one in sent] == ["0x1"] * 2
        assert len(it.model.requests) == 1


@pytest.mark.parametrize("rehearses", [True, False])
def test_runs_share_a_block_by_the_gas_that_they_use_not_by_their_limits(
    *, rehearses: bool
) -> None:
    with closing(ThinkingNode(mining=MiningMode(is_automatic=False), rehearses=rehearses)) as it:
        limit = hex(it.node.max_transaction_gas * 2 // 3)
        other = {**it.run, "from": it.second}
        forms: list[dict[str, Any]] = [it.run, other, it.transfer(), it.run]
        sent = [it.ask("eth_sendTransaction", {**form, "gas": limit}) for form in forms]
        assert len(it.ask("eth_getBlockByNumber", "pending", False)["transactions"]) == 4  # noqa: FBT003 - JSON-RPC has places
        it.ask("evm_mine")
        receipts = [receipt(it, one) for one in sent]
        assert len({one["blockNumber"] for one in receipts}) == 1
        assert [one["status"] for one in receipts] == ["0x1"] * 4


# -- blocks that cannot end -- #

LOGS_DEPOSIT = b"\x7f" + DEPOSIT_EVENT_SIGNATURE_HASH + b"\x5f\x5f\xa1\x00"
"""Emits a deposit event without data: no block may hold that (EIP-6110)."""

FAILS_ONCE_CALLED = asm(
    f"CALLER 0x{SYSTEM_ADDRESS.hex()} EQ 0x1f JUMPI 0x01 PUSH0 SSTORE STOP "
    "JUMPDEST PUSH0 SLOAD 0x26 JUMPI STOP JUMPDEST INVALID"
)
"""Stores 1 for anyone but the system; for the system, fails if 1 is stored (EIP-7002)."""


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("contract", "code"),
    [
        (DEPOSIT_CONTRACT_ADDRESS, LOGS_DEPOSIT),
        (WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, FAILS_ONCE_CALLED),
    ],
    ids=["deposit", "system call"],
)
def test_a_transaction_after_which_no_block_can_end_is_dropped_with_a_reason(
    make: MakeNode, contract: bytes, code: bytes, place: int
) -> None:
    node = make(is_automatic=False, codes={contract: code})
    sent = [transaction(sender) for sender in range(4)]
    spoiler = sent[place] = transaction(place, to=contract, value_wei=0, gas=100_000)
    for one in sent:
        assert mined(node, one) is None
    block = node.submit_change(node.mine).result()
    assert {*hashes(block)} == {one.hash for one in sent if one is not spoiler}
    departure = node.find_departure(spoiler.hash)
    assert departure is not None
    assert departure.way is Leaving.INVALID
    assert departure.reason
    assert len(node.pool) == 0
    assert hashes(node.submit_change(node.mine).result()) == []


def test_a_chain_that_can_not_end_any_block_drops_nothing(make: MakeNode) -> None:
    node = make(is_automatic=False, codes={WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: b"\xfe"})
    assert mined(node, transaction()) is None
    for _ in range(2):
        with pytest.raises(InvalidBlockError):
            node.submit_change(node.mine).result()
    assert len(node.pool) == 1
