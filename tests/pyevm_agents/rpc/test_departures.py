"""No accepted transaction vanishes: each is pending, mined, or left with a reason."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth_utils import keccak, to_canonical_address
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.node.txpool import Leaving
from pyevm_agents.rpc.errors import SERVER_ERROR, RpcError
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.rpc.local_node import ETHER, FIRST, SECOND, STRANGER, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 2**256 - 1
FULL = SECOND
"""An account with the highest balance."""

RELAY, FORWARDER = "0x" + "11" * 20, "0x" + "12" * 20
CALL_FULL = "5f5f5f5f600173" + FULL[2:] + "61fffff1"
"""Code that sends 1 wei to the full account, and leaves whether that succeeded."""

WITHDRAWALS = "0x00000961ef480eb55e80d19ad83579a64c007002"
GAS = hex(200_000)


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        local.ask("anvil_setBalance", FULL, hex(MOST))
        yield local


def receipt_of(local: LocalNode, **form: str) -> Any:  # noqa: ANN401 - JSON
    sent = local.ask("eth_sendTransaction", {"from": FIRST, "gas": GAS, **form})
    return local.ask("eth_getTransactionReceipt", sent)


def put_code(local: LocalNode, address: str, code: str, balance_wei: int = 100) -> None:
    local.ask("anvil_setCode", address, "0x" + code)
    local.ask("anvil_setBalance", address, hex(balance_wei))


# -- balances that overflow -- #


@pytest.mark.parametrize("gas", [hex(21_000), GAS])
@pytest.mark.parametrize("value", ["0x1", hex(ETHER)])
def test_a_transfer_that_overflows_is_mined_and_fails(
    local: LocalNode, gas: str, value: str
) -> None:
    found = receipt_of(local, to=FULL, value=value, gas=gas)
    assert (found["status"], found["gasUsed"]) == ("0x0", gas)
    options = {"tracer": "callTracer"}
    traced = local.ask("debug_traceTransaction", found["transactionHash"], options)
    assert traced["error"] == "balance overflow"
    assert local.number("eth_getBalance", FULL) == MOST
    assert local.number("eth_getTransactionCount", FIRST, "latest") == 1


def test_a_transfer_without_a_gas_limit_fails_likewise(local: LocalNode) -> None:
    sent = local.ask("eth_sendTransaction", {"from": FIRST, "to": FULL, "value": "0x1"})
    assert local.ask("eth_getTransactionReceipt", sent)["status"] == "0x0"


def test_a_transfer_to_oneself_never_overflows(local: LocalNode) -> None:
    assert receipt_of(local, **{"from": FULL, "to": FULL, "value": "0x1"})["status"] == "0x1"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (CALL_FULL + "00", "0x1"),  # A contract that does not look goes on, as on other nodes.
        (CALL_FULL + "60205760015ffd5b00", "0x0"),  # A jump to nowhere where it succeeded.
        ("73" + FULL[2:] + "ff", "0x0"),
    ],
    ids=["call", "call and revert", "selfdestruct"],
)
def test_what_a_contract_sends_does_not_arrive(local: LocalNode, code: str, status: str) -> None:
    put_code(local, RELAY, code)
    assert receipt_of(local, to=RELAY)["status"] == status
    assert local.number("eth_getBalance", RELAY) == 100
    assert local.number("eth_getBalance", FULL) == MOST


def test_a_call_that_overflows_returns_0_to_its_caller(local: LocalNode) -> None:
    put_code(local, RELAY, CALL_FULL + "80" + "5f55" + "5f5260205ff3")
    assert int(local.ask("eth_call", {"to": RELAY}, "latest"), 16) == 0
    put_code(local, FORWARDER, "5f5f5f5f5f73" + RELAY[2:] + "62fffffff15f5260205ff3")
    assert int(local.ask("eth_call", {"to": FORWARDER}, "latest"), 16) == 1


@pytest.mark.parametrize("code", ["00", "73" + FULL[2:] + "ff"], ids=["stops", "selfdestruct"])
def test_a_creation_whose_value_overflows_fails(local: LocalNode, code: str) -> None:
    made = keccak(rlp.encode([to_canonical_address(FIRST), 0]))[12:].hex()
    local.ask("anvil_setBalance", "0x" + made, hex(MOST))
    found = receipt_of(local, data="0x" + code, value="0x1")
    assert (found["status"], found["gasUsed"]) == ("0x0", GAS)
    assert local.ask("eth_getCode", "0x" + made, "latest") == "0x"


def test_fees_and_refunds_fill_a_balance_up_to_the_end(local: LocalNode) -> None:
    local.ask("anvil_setCoinbase", FULL)
    assert receipt_of(local, to=STRANGER, value="0x1")["status"] == "0x1"
    assert local.number("eth_getBalance", FULL) == MOST
    put_code(local, RELAY, "5f5f5f5f47335af100", balance_wei=10**15)  # Sends all to its caller.
    assert receipt_of(local, **{"from": FULL, "to": RELAY})["status"] == "0x1"
    assert local.number("eth_getBalance", FULL) <= MOST


# -- reasons -- #


def reason_of(local: LocalNode, sent: str) -> str:
    """Return the error of a dropped transaction's receipt."""
    with pytest.raises(RpcError) as told:
        local.ask("eth_getTransactionReceipt", sent)
    assert told.value.code == SERVER_ERROR
    assert local.ask("eth_getTransactionByHash", sent) is None
    return str(told.value)


def send_two(local: LocalNode) -> tuple[str, str]:
    """Send all of an account's ether twice, and mine; return both hashes."""
    local.mine_by_hand()
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000), "gasPrice": hex(2 * 10**9)}
    value = local.number("eth_getBalance", FIRST) - 21_000 * 2 * 10**9
    hashes = [local.ask("eth_sendTransaction", {**form, "value": hex(value)}) for _ in range(2)]
    local.ask("evm_mine")
    return hashes[0], hashes[1]


def test_what_cannot_pay_any_more_is_dropped_with_a_reason(local: LocalNode) -> None:
    dropped: list[tuple[bytes, Leaving]] = []
    local.node.listeners.add(
        NodeListener(on_dropped=lambda one, why: dropped.append((one.hash, why.way)))
    )
    first, second = send_two(local)
    assert local.ask("eth_getTransactionReceipt", first)["status"] == "0x1"
    assert "insufficient funds" in reason_of(local, second)
    assert dropped == [(bytes.fromhex(second[2:]), Leaving.INVALID)]


def test_a_sync_send_ends_with_the_reason(local: LocalNode) -> None:
    local.ask("anvil_setCode", WITHDRAWALS, "0xfe")
    form = {"from": FIRST, "to": STRANGER, "value": "0x1", "gas": hex(21_000)}
    for method in ("eth_sendTransactionSync", "eth_sendTransaction"):
        with pytest.raises(RpcError, match="system contract"):
            local.ask(method, form)
    assert local.ask("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    with pytest.raises(RpcError, match="system contract"):
        local.ask("evm_mine")
    local.ask("anvil_setCode", WITHDRAWALS, "0x")
    assert local.ask("eth_sendTransactionSync", form)["status"] == "0x1"


@pytest.mark.parametrize(("nonce", "left"), [(0, 2), (1, 1), (2, 0), (9, 0)])
def test_a_nonce_that_is_set_beyond_drops_what_waits(
    local: LocalNode, nonce: int, left: int
) -> None:
    local.mine_by_hand()
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000)}
    sent = [local.ask("eth_sendTransaction", form) for _ in range(2)]
    local.ask("anvil_setNonce", FIRST, hex(nonce))
    assert local.ask("txpool_status") == {"pending": hex(left), "queued": "0x0"}
    for one in sent[: 2 - left]:
        assert "nonce too low" in reason_of(local, one)
    local.ask("evm_mine")
    for one in sent[2 - left :]:
        assert local.ask("eth_getTransactionReceipt", one)["status"] == "0x1"


def test_what_a_revert_puts_back_is_mined_and_its_reason_forgotten(local: LocalNode) -> None:
    local.mine_by_hand()
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000)}
    sent = local.ask("eth_sendTransaction", form)
    snapshot = local.ask("evm_snapshot")
    local.ask("anvil_setNonce", FIRST, "0x5")
    reason_of(local, sent)
    is_automatic = True
    local.ask("evm_setAutomine", is_automatic)
    assert local.ask("evm_revert", snapshot)
    assert local.node.wait_idle(HANG_SECONDS)
    assert local.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_a_nonce_that_closes_a_gap_lets_what_waits_be_mined(local: LocalNode) -> None:
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000)}
    sent = [local.ask("eth_sendTransaction", form | {"nonce": hex(nonce)}) for nonce in (2, 3)]
    assert local.ask("txpool_status") == {"pending": "0x0", "queued": "0x2"}
    local.ask("anvil_setNonce", FIRST, "0x2")
    assert local.node.wait_idle(HANG_SECONDS)
    for one in sent:
        assert local.ask("eth_getTransactionReceipt", one)["status"] == "0x1"


def test_automine_is_switched_on_whatever_waits(local: LocalNode) -> None:
    local.mine_by_hand()
    value = hex(local.number("eth_getBalance", FIRST) - ETHER)
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000)}
    sent = [local.ask("eth_sendTransaction", form | {"value": value}) for _ in range(2)]
    is_automatic = True
    assert local.ask("evm_setAutomine", is_automatic) is True
    assert local.ask("eth_getTransactionReceipt", sent[0])["status"] == "0x1"
    assert "insufficient funds" in reason_of(local, sent[1])


def test_a_replacement_and_a_drop_on_request_are_missing_without_an_error(
    local: LocalNode,
) -> None:
    local.mine_by_hand()
    form = {"from": FIRST, "to": STRANGER, "gas": hex(21_000), "nonce": "0x0"}
    cheap, dear = (
        local.ask("eth_sendTransaction", form | {"gasPrice": hex(gwei * 10**9)}) for gwei in (3, 6)
    )
    local.ask("anvil_dropTransaction", dear)
    for one, way in ((cheap, Leaving.REPLACED), (dear, Leaving.REMOVED)):
        assert local.ask("eth_getTransactionReceipt", one) is None
        departure = local.node.find_departure(bytes.fromhex(one[2:]))
        assert departure is not None
        assert departure.way is way


ACTIONS = st.one_of(
    st.tuples(
        st.just("send"),
        st.sampled_from([FIRST, SECOND]),
        st.sampled_from([0, 1, 3 * ETHER, MOST]),
        st.sampled_from([21_000, 53_000, 30_000_000]),
    ),
    st.tuples(st.just("nonce"), st.sampled_from([FIRST, SECOND]), st.integers(0, 6)),
    st.tuples(st.just("balance"), st.sampled_from([FIRST, SECOND, STRANGER]), st.booleans()),
    st.sampled_from([("mine",), ("snapshot",), ("revert",), ("drop",), ("reorg",)]),
    st.tuples(st.just("automine"), st.booleans()),
)


@settings(max_examples=15, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12))
def test_each_hash_is_pending_or_mined_or_has_a_reason(actions: list[tuple[Any, ...]]) -> None:
    with local_node() as local:
        client = Client(local)
        for action, *rest in actions:
            with suppress(RpcError):  # Every error but a bug.
                getattr(client, action)(*rest)
            assert local.node.wait_idle(HANG_SECONDS)
            for one in client.sent:
                _require_a_fate(local, one, client.reverted)


class Client:
    """A client that sends transactions, and changes what they meet."""

    def __init__(self, local: LocalNode) -> None:
        self._ask = local.ask
        self._snapshots: list[str] = []
        self.sent: list[str] = []
        self.reverted: set[str] = set()
        """Those whose block may have been removed."""

    def send(self, sender: str, value: int, gas: int) -> None:
        form = {"from": sender, "to": STRANGER, "value": hex(value), "gas": hex(gas)}
        self.sent.append(self._ask("eth_sendTransaction", form))

    def nonce(self, account: str, nonce: int) -> None:
        self._ask("anvil_setNonce", account, hex(nonce))

    def balance(self, account: str, is_full: bool) -> None:
        self._ask("anvil_setBalance", account, hex(MOST if is_full else ETHER))

    def automine(self, is_on: bool) -> None:
        self._ask("evm_setAutomine", is_on)

    def mine(self) -> None:
        self._ask("evm_mine")

    def snapshot(self) -> None:
        self._snapshots.append(self._ask("evm_snapshot"))

    def revert(self) -> None:
        self.reverted.update(self.sent)
        self._ask("evm_revert", self._snapshots.pop() if self._snapshots else "0x99")

    def reorg(self) -> None:
        self.reverted.update(self.sent)
        self._ask("anvil_reorg", "0x1", [])

    def drop(self) -> None:
        self._ask("anvil_dropTransaction", self.sent[-1] if self.sent else "0x" + "99" * 32)


def _require_a_fate(local: LocalNode, sent: str, reverted: set[str]) -> None:
    """Require that a transaction is pending, mined, or has a reason.

    One whose block a client has removed has none of these.
    """
    key = bytes.fromhex(sent[2:])
    is_mined = local.node.chain.find_transaction(key) is not None
    departure = local.node.find_departure(key)
    assert is_mined or key in local.node.pool or departure is not None or sent in reverted
    if departure is not None and departure.is_failure and not is_mined:
        reason_of(local, sent)
