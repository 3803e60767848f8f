"""Differences between requests and runs: what agrees, and each way in which a run can differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from eth.constants import ZERO_ADDRESS
from eth_typing import Address
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.agents.asset_moves import TokenApproval, TokenScale, Transfer
from pyevm_agents.agents.request_check import (
    MAX_REQUEST_CHARACTERS,
    DifferenceKind,
    RunEffects,
    find_differences,
)
from pyevm_agents.agents.request_reading import AmountUnit

if TYPE_CHECKING:
    from collections.abc import Sequence

(AGENT, TOOL, ACCOUNT, OWNER, BOB, ALICE, STRANGER, USDC, GOLD, CATS, VAULT, PAIR) = (
    Address(bytes([number]) * 20) for number in range(1, 13)
)
NAMES = {
    "ACCOUNT": ACCOUNT,
    "Bob": BOB,
    "Alice": ALICE,
    "USDC": USDC,
    "GOLD": GOLD,
    "CAT": CATS,
    "Vault": VAULT,
}
UNITS = {
    "USDC": AmountUnit(token=USDC, base_units=10**6),
    "GOLD": AmountUnit(token=GOLD, base_units=10**18),
    "BNB": AmountUnit(token=None, base_units=10**18),
}
TOKENS = {
    USDC: TokenScale(symbol="USDC", decimals=6),
    GOLD: TokenScale(symbol="GOLD", decimals=18),
    CATS: TokenScale(symbol="CAT"),
    VAULT: TokenScale(symbol="vGOLD", decimals=18),
    None: TokenScale(symbol="BNB", decimals=18),
}
DECIMALS = {USDC: 6, GOLD: 18, VAULT: 18, None: 18}
BALANCES: dict[tuple[Address, Address | None], int] = {
    (ACCOUNT, USDC): 1_000_000_001,
    (ACCOUNT, GOLD): 7 * 10**18,
}


def pay(
    receiver: Address,
    amount: float,
    token: Address | None = USDC,
    sender: Address = ACCOUNT,
) -> Transfer:
    """Return a transfer of whole tokens."""
    return Transfer(
        standard="native" if token is None else "erc20",
        token=token,
        sender=sender,
        receiver=receiver,
        amount=round(amount * 10 ** DECIMALS[token]),
    )


def give(receiver: Address, token_id: int, amount: int = 1) -> Transfer:
    """Return the transfer of an item."""
    return Transfer(
        standard="erc721" if amount == 1 else "erc1155",
        token=CATS,
        sender=ACCOUNT,
        receiver=receiver,
        amount=amount,
        token_id=token_id,
    )


def get(amount: float, token: Address | None = USDC, sender: Address = VAULT) -> Transfer:
    return pay(ACCOUNT, amount, token, sender)


def allow(
    spender: Address, amount: int | None, token: Address = USDC, token_id: int | None = None
) -> TokenApproval:
    standard = "erc20" if amount is not None else "all" if token_id is None else "erc721"
    return TokenApproval(
        standard=standard,  # type: ignore[arg-type]
        token=token,
        owner=ACCOUNT,
        spender=spender,
        amount=amount,
        token_id=token_id,
    )


@dataclass(frozen=True)
class Run:
    """What a run does: transfers, and arguments of its tools."""

    moves: Sequence[Transfer] = ()
    arguments: Sequence[object] = ()
    approvals: Sequence[TokenApproval] = ()

    def find(self, request: str) -> list[DifferenceKind]:
        return [each.kind for each in find_differences(request, self.effects, NAMES, UNITS)]

    @property
    def effects(self) -> RunEffects:
        tokens = {each.token for each in self.moves if each.token is not None}
        calls = {(ACCOUNT, each) for each in tokens} | {(ACCOUNT, VAULT), (VAULT, PAIR)}
        return RunEffects(
            accounts=frozenset({AGENT, TOOL, ACCOUNT}),
            asker=OWNER,
            transfers=self.moves,
            approvals=self.approvals,
            arguments=self.arguments,
            calls=frozenset(calls),
            contacts=frozenset({callee for _, callee in calls}),
            balances=BALANCES,
            tokens=TOKENS,
        )


def to(address: Address, **more: object) -> list[object]:
    """Return arguments with a recipient."""
    return [{"to": str(to_checksum_address(address)), **more}]


UNSTATED, UNNAMED = DifferenceKind.UNSTATED_AMOUNT, DifferenceKind.UNNAMED_ACCOUNT
UNUSED, UNUSED_NAME = DifferenceKind.UNUSED_AMOUNT, DifferenceKind.UNUSED_ACCOUNT
OTHER_PAIR, APPROVAL = DifferenceKind.OTHER_PAIR, DifferenceKind.APPROVAL
NO_ORDER = DifferenceKind.NO_ORDER
TO_BOB = to(BOB, amount=5_000_000)

ALICE_AND_BOB = [str(to_checksum_address(each)) for each in (ALICE, BOB)]
PAYROLL = [pay(ALICE, 4, USDC, VAULT), pay(BOB, 6, USDC, VAULT)]
SELLER = [pay(STRANGER, 11.5, USDC, VAULT), pay(PAIR, 0.5, USDC, VAULT)]

AGREEING = [
    ("Send 5 USDC to Bob", Run([pay(BOB, 5)], TO_BOB)),
    ("Tip Bob 5", Run([pay(BOB, 5)], TO_BOB)),
    ("pay bob five usdc please", Run([pay(BOB, 5)], TO_BOB)),
    ("Send 5,000,000 base units of USDC to Bob", Run([pay(BOB, 5)], TO_BOB)),
    ("Pay 0x" + BOB.hex() + " 5 USDC", Run([pay(BOB, 5)], TO_BOB)),
    ("Send 100000000 gwei to Bob", Run([pay(BOB, 0.1, None)], to(BOB))),
    ("Send 5 USDC each to Alice and Bob", Run([pay(ALICE, 5), pay(BOB, 5)], TO_BOB)),
    ("5 USDC to Alice and 7 to Bob", Run([pay(ALICE, 5), pay(BOB, 7)])),
    ("Alice gets 1 USDC, Bob 2.5", Run([pay(BOB, 2.5), pay(ALICE, 1)])),
    ("Split 10 USDC between Alice and Bob", Run([pay(ALICE, 5), pay(BOB, 5)])),
    ("Send 5 USDC to Bob, then 5 USDC to Bob", Run([pay(BOB, 5), pay(BOB, 5)])),
    ("Deposit 10 GOLD", Run([pay(VAULT, 10, GOLD), get(9, VAULT, ZERO_ADDRESS)])),
    ("Deposit 10 GOLD into the vault", Run([pay(VAULT, 10, GOLD)])),
    ("Swap 0.01 BNB for USDC", Run([pay(VAULT, 0.01, None), get(5.98, USDC, PAIR)])),
    ("Swap 10 USDC for BNB", Run([pay(PAIR, 10), get(0.01, None)], [{"amountIn": 10_000_000}])),
    ("Swap 1 BNB for USDC", Run([pay(VAULT, 1.5, None), get(0.5, None), get(300)])),
    ("Withdraw 10 GOLD", Run([pay(ZERO_ADDRESS, 9.5, VAULT), get(10, GOLD)])),
    ("Burn 2 GOLD", Run([pay(ZERO_ADDRESS, 2, GOLD)])),
    ("Deposit all my USDC", Run([pay(VAULT, 1000.000001)])),
    ("Deposit half of my USDC", Run([pay(VAULT, 500)])),
    ("Deposit 10 % of my GOLD", Run([pay(VAULT, 0.7, GOLD)])),
    ("Swap 1 BNB and deposit what came out", Run([pay(PAIR, 1, None), get(3), pay(VAULT, 3)])),
    ("Send 5 USDC to me", Run([pay(OWNER, 5)], to(OWNER))),
    ("Send cat 7 to Bob", Run([give(BOB, 7)], to(BOB))),
    ("Send 3 of item 7 to Bob", Run([give(BOB, 7, 3)], to(BOB))),
    ("Approve 5 USDC for the vault", Run(approvals=[allow(VAULT, 5_000_000)])),
    ("Let Bob move cat 7", Run(approvals=[allow(BOB, None, CATS, 7)])),
    ("Let Bob move all my cats", Run(approvals=[allow(BOB, None, CATS)])),
    # A contract that passes on what it gets: to a payroll's people, a market's seller.
    ("Pay Alice 4 USDC and Bob 6", Run([pay(VAULT, 10), *PAYROLL], [{"to": ALICE_AND_BOB}])),
    ("Buy item 5 for 12 USDC", Run([pay(VAULT, 12), *SELLER], [{"item": 5}])),
    ("Lock 4 USDC for Alice and 6 for Bob", Run([pay(VAULT, 10)], [{"to": ALICE_AND_BOB}])),
    ("What is my USDC balance?", Run()),
    ("How much USDC for 0.01 BNB?", Run(arguments=[{"amountIn": 10**16}])),
    ("Add 7 to the counter", Run(arguments=[{"prompt": "Add 7 to the counter"}])),
    ("Give Bob the rank 9", Run(arguments=to(BOB, rank=9))),
    ("Note 3, 14 and 15", Run(arguments=[{"numbers": [3, 14, 15]}])),
    ("Lock it for 3 days", Run(arguments=[{"seconds": 259_200}])),
    ("Set the fee to 5 %", Run(arguments=[{"bps": 500}])),
    ("Place 2 GOLD", Run([pay(VAULT, 2, GOLD)], [{"order": "(true, 2000000000000000000)"}])),
    ("Do not send anything to Bob", Run(arguments=to(BOB))),
]  # fmt: skip

DIFFERING = [
    # Another recipient, amount or token.
    ("Send 5 USDC to Bob", Run([pay(STRANGER, 5)], to(STRANGER)), [UNNAMED, UNUSED_NAME]),
    ("Send 5 USDC to Bob", Run([pay(ALICE, 5)], to(ALICE)), [UNNAMED, UNUSED_NAME]),
    ("Send 5 USDC to Bob", Run([pay(VAULT, 5)]), [UNUSED_NAME]),
    ("Send 5 USDC to Bob", Run([pay(BOB, 6)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 5 USDC to Bob", Run([pay(BOB, 5, GOLD)], TO_BOB), [UNSTATED]),
    ("Send 5 wei to Bob", Run([pay(BOB, 5, None)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 5 cents to Bob", Run([pay(BOB, 5)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 5 LUSD to Bob", Run([pay(BOB, 5)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 0.000005 USDC to Bob", Run([pay(BOB, 5)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 2 GOLD to Carol", Run([pay(GOLD, 2, GOLD)], to(GOLD)), [UNNAMED, UNUSED_NAME]),
    ("Send 2 GOLD to my brother", Run([pay(GOLD, 2, GOLD)], to(GOLD)), [UNNAMED]),
    ("Send 2 GOLD to Carol", Run([pay(VAULT, 2, GOLD)]), [UNUSED_NAME]),
    ("Send 3 USDC to Bob's sister", Run([pay(BOB, 3)], to(BOB)), [UNNAMED, UNUSED_NAME]),
    ("Send 3 USDC to bob.eth", Run([pay(BOB, 3)], to(BOB)), [UNNAMED, UNUSED_NAME]),
    ("Lend 2 GOLD", Run([pay(STRANGER, 2, GOLD)]), [UNNAMED]),
    ("Lend 2 GOLD to Bob", Run([pay(BOB, 2, GOLD), pay(STRANGER, 2, GOLD)]), [UNSTATED, UNNAMED]),
    ("Lend 9000 USDC", Run([pay(VAULT, 900)]), [UNSTATED, UNUSED]),
    ("Pay the invoice", Run([pay(VAULT, 900)]), [UNSTATED]),
    # Of several.
    ("6 USDC to Alice and 7 to Bob", Run([pay(ALICE, 7), pay(BOB, 6)]), [OTHER_PAIR, OTHER_PAIR]),
    ("6 USDC to Alice and 7 to Carol", Run([pay(ALICE, 6), pay(ALICE, 7)]), [UNUSED_NAME]),
    ("6 USDC to Alice and 7 to Bob", Run([pay(ALICE, 6)]), [UNUSED, UNUSED_NAME]),
    ("Send 5 USDC to Bob", Run([pay(BOB, 5), pay(BOB, 5)], TO_BOB), [UNSTATED]),
    ("Note 3, 14 and 15", Run(arguments=[{"numbers": [3, 14]}]), [UNUSED]),
    (
        "Pay Alice 6 USDC and Bob 4",
        Run([pay(VAULT, 10), *PAYROLL], [{"to": ALICE_AND_BOB}]),
        [OTHER_PAIR, OTHER_PAIR],
    ),
    (
        "Pay Alice 10 USDC",
        Run([pay(VAULT, 10), *PAYROLL], [{"to": ALICE_AND_BOB}]),
        [UNNAMED],
    ),
    # Arguments without a transfer.
    ("Delegate my votes to Dave", Run(arguments=to(BOB)), [UNNAMED, UNUSED_NAME]),
    ("Delegate my votes to Bob", Run(arguments=to(ALICE)), [UNNAMED, UNUSED_NAME]),
    # Amounts of results, and parts.
    ("Check my GOLD and deposit all of it", Run([pay(VAULT, 7e-18, GOLD)]), [UNSTATED]),
    ("Deposit half of my USDC", Run([pay(VAULT, 501)]), [UNSTATED]),
    # To the asker, from the asker.
    ("Send 5 USDC to Bob", Run([pay(OWNER, 5)], to(OWNER)), [UNNAMED, UNUSED_NAME]),
    ("Deposit 5 USDC", Run([pay(VAULT, 5), pay(BOB, 50, USDC, OWNER)]), [UNSTATED, UNNAMED]),
    ("Swap 1 BNB for GOLD", Run([pay(PAIR, 1, None), get(300, USDC, PAIR)]), [UNUSED_NAME]),
    # Items.
    ("Send cat 7 to Bob", Run([give(BOB, 8)], to(BOB)), [UNSTATED, UNUSED]),
    ("Send 3 of item 7 to Bob", Run([give(BOB, 7, 4)], to(BOB)), [UNSTATED, UNUSED]),
    # Approvals that stay.
    ("Deposit 5 USDC", Run([pay(VAULT, 5)], approvals=[allow(VAULT, 2**256 - 1)]), [APPROVAL]),
    ("Deposit 5 USDC in the vault", Run([pay(VAULT, 5)], approvals=[allow(VAULT, 7)]), [APPROVAL]),
    ("Let Bob move cat 7", Run(approvals=[allow(BOB, None, CATS, 8)]), [APPROVAL, UNUSED]),
    ("Let Bob move cats", Run(approvals=[allow(ALICE, None, CATS)]), [APPROVAL, UNUSED_NAME]),
    # Nothing, and what is no order.
    ("Send 5 USDC to Bob", Run(), [UNUSED, UNUSED_NAME]),
    ("Do not send 5 USDC to Bob", Run([pay(BOB, 5)], TO_BOB), [NO_ORDER]),
    ("Did I send 5 USDC to Bob?", Run([pay(BOB, 5)], TO_BOB), [NO_ORDER]),
]  # fmt: skip


@pytest.mark.parametrize(("request_text", "run"), AGREEING)
def test_a_run_that_does_what_the_request_says_agrees(request_text: str, run: Run) -> None:
    assert run.find(request_text) == []


@pytest.mark.parametrize(("request_text", "run", "kinds"), DIFFERING)
def test_a_run_that_does_something_else_differs(
    request_text: str, run: Run, kinds: list[DifferenceKind]
) -> None:
    assert run.find(request_text) == kinds


def test_the_texts_name_amounts_and_accounts() -> None:
    run = Run([pay(STRANGER, 1250.5)], to(STRANGER), [allow(STRANGER, 2**256 - 1)])
    found = find_differences("Send 5 USDC to Bob", run.effects, NAMES, UNITS)
    stranger, account, bob = map(to_checksum_address, (STRANGER, ACCOUNT, BOB))
    reasons = "the request does not name this account and states no such amount"
    assert [each.text for each in found] == [
        f"moves 1,250.5 USDC to {stranger}: the request states no such amount",
        f"moves 1,250.5 USDC to {stranger}: the request does not name this account",
        f"leaves an approval: {stranger} may take any amount USDC of {account}: {reasons}",
        '"5 USDC" is in the request, and nothing uses it',
        f'"Bob" ({bob}) is in the request, and nothing uses this account',
    ]


def test_a_contract_is_called_by_others_than_the_tokens_hooks() -> None:
    """A wallet that a token calls when it gets something takes no part in the run."""
    run = Run([pay(STRANGER, 5)])
    for caller, kinds in ((USDC, [UNNAMED]), (VAULT, [])):
        effects = replace(run.effects, calls=run.effects.calls | {(caller, STRANGER)})
        found = find_differences("Lend 5 USDC", effects, NAMES, UNITS)
        assert [each.kind for each in found] == kinds


def test_a_long_request_is_not_compared() -> None:
    [found] = find_differences("x" * (MAX_REQUEST_CHARACTERS + 1), Run().effects, NAMES, UNITS)
    assert found.kind is DifferenceKind.NOT_COMPARED


ACCOUNTS = st.sampled_from([BOB, ALICE, STRANGER, GOLD, OWNER])
AMOUNTS = st.integers(1, 10**12)


@given(ACCOUNTS, AMOUNTS, st.sampled_from([USDC, GOLD, None]))
def test_only_the_stated_transfer_agrees(
    receiver: Address, amount: int, token: Address | None
) -> None:
    """Whatever a model writes: what differs in account, amount or token is found."""
    move = Transfer(
        standard="native" if token is None else "erc20",
        token=token,
        sender=ACCOUNT,
        receiver=receiver,
        amount=amount,
    )
    for stated, to_whom in ((amount, receiver), (5_000_000, BOB)):
        text = f"Send {stated} base units of USDC to 0x{to_whom.hex()}"
        agrees = (amount, receiver, token) == (stated, to_whom, USDC)
        run = Run([move], to(receiver, amount=amount))
        assert (run.find(text) == []) is agrees
