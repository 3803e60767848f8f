"""Comments of sources as descriptions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.contract_intelligence.natspec_text import (
    clean_comment,
    find_choices,
    format_choices,
)
from pyevm_agents.contract_intelligence.untrusted_text import MAX_DESCRIPTION_CHARACTERS

VAULT = (
    "Deposit `assets` underlying tokens and send the corresponding number of vault shares "
    "(`shares`) to `receiver`. - MUST emit the Deposit event. - MAY support an additional flow in "
    "which the underlying tokens are owned by the Vault contract."
)
ROLE = (
    "Grants `role` to `account`. If `account` had not been already granted `role`, emits a "
    "{RoleGranted} event. Requirements: - the caller must have ``role``'s admin role. May emit a "
    "{RoleGranted} event."
)


@pytest.mark.parametrize(
    ("comment", "name", "text"),
    [
        ("See {IERC20-transfer}. Requirements: - `to` cannot be the zero address.", "transfer", ""),
        ("module:core", "state", ""),
        ("@inheritdoc IVault", "deposit", ""),
        ("Emits a {Transfer} event.", "move", ""),
        ("Cast a vote Emits a {VoteCast} event.", "castVote", "Cast a vote"),
        ("Burns all, and emits {Burnt}. Ends.", "burn", "Burns all. Ends."),
        (ROLE, "grantRole", "Grants role to account."),
        ("Moves to an account (`to`). For all.", "move", "Moves to an account. For all."),
        ("Burns `value` tokens, see {ERC20-_burn} and {Burnt}.", "burn", "Burns value tokens."),
        ("As {IPool-stake} does.", "stake", "As stake does."),
        ("Function to stake tokens. NOTE: it is slow.", "stake", "Stake tokens."),
        ("This function allows users to claim.", "claim", "Claim."),
        ("Allows the caller to withdraw e.g. Ether.", "withdraw", "Withdraw e.g. Ether."),
        ("Allows an operator to move tokens.", "allow", "Allows an operator to move tokens."),
        ("Only for members. Stakes tokens.", "stake", "Stakes tokens. Only for members."),
        ("The buyer pays. Releases the money.", "release", "Releases the money. The buyer pays."),
        ("https://eips.ethereum.org/EIPS/eip-165[EIP-165] says how.", "f", "EIP-165 says how."),
        ("who gets the money", "", "who gets the money"),
        ("state. 0=Closed, 1 is open or 2 - Full", "", "state. 0 = closed, 1 = open, 2 = full"),
        (5, "f", ""),
        ("--- {} ()", "f", ""),
    ],
)  # fmt: skip
def test_a_comment_says_what_something_is_or_does(comment: object, name: str, text: str) -> None:
    assert clean_comment(comment, name) == text


def test_a_description_ends_with_a_sentence() -> None:
    first, second = "Pays the seller. ", "Waits " + "long " * 60
    assert clean_comment(first + second) == "Pays the seller."
    assert clean_comment(VAULT) == (
        "Deposit assets underlying tokens and send the corresponding number of vault shares to "
        "receiver."
    )


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("0=against, 1=for, 2=abstain", "0 = against, 1 = for, 2 = abstain"),
        ("0 is against, 1 is for, 2 is to abstain", "0 = against, 1 = for, 2 = abstain"),
        ("mode (0: None; 1: Day and night)", "mode (0 = none, 1 = day and night)"),
        ("1 => USDC, 2 => DAI.", "1 = USDC, 2 = DAI."),
        # A scale, a week, one word, and numbers that do not follow each other are no lists.
        ("0 is open, 100 is closed", ""),
        ("of the week: 1 is Monday, 7 is Sunday", ""),
        ("of its full brightness; 0 turns it off", ""),
        ("5 = five, 6 = six", ""),
        ("1 (best) to 3", ""),
        ("0 is no, and later on 1 is yes", ""),
    ],
)
def test_lists_of_small_integers_have_one_form(text: str, formatted: str) -> None:
    assert format_choices(text) == (formatted or text)
    assert (find_choices(text) in formatted) if formatted else (find_choices(text) == "")
    assert format_choices(formatted) == formatted


@given(st.text(st.sampled_from("aB 01-=:;,.(){}`@\n") | st.characters(codec=None)))
def test_every_text_is_a_short_line(text: str) -> None:
    cleaned = clean_comment(text, "f")
    assert len(cleaned) <= MAX_DESCRIPTION_CHARACTERS
    assert cleaned.isascii()
    assert cleaned.isprintable()
    assert "`" not in cleaned
