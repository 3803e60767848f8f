"""The file with the rules of a treasury, and rules that are passed for a treasury that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.control.treasury_policy import (
    TokenCap,
    TreasuryPolicy,
    read_policy,
    require_same_rules,
    write_policy,
)
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = b"\x11" * 20, b"\x22" * 20
POLICY = TreasuryPolicy(
    cap_wei=2**255,
    deposit_wei=5,
    targets=(ONE, TWO),
    functions=((ONE, b"\xab\xcd\xef\x01"),),
    token_caps=(TokenCap(token=TWO, amount=2**255),),
)


def test_rules_are_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    assert read_policy(path) is None
    write_policy(path, POLICY)
    assert read_policy(path) == POLICY
    assert POLICY.destinations == [ONE, TWO]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"capWei": "1"}', '{"capWei": 1, "more": 2}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"{path}: must be a treasury's rules; restore it"):
        read_policy(path)


def test_the_order_of_rules_does_not_count_and_what_is_not_passed_does_not() -> None:
    wanted = TreasuryPolicy(cap_wei=1, deposit_wei=9, targets=(TWO, ONE))
    require_same_rules(POLICY, wanted, {"targets": "--treasury-allow"}, "treasury")
    require_same_rules(POLICY, wanted, {}, "treasury")
    require_same_rules(None, wanted, {}, "treasury")
    with pytest.raises(ConfigError, match=r"--treasury-deposit 9: .* was deployed with 5; omit"):
        require_same_rules(POLICY, wanted, {"deposit_wei": "--treasury-deposit"}, "treasury")
    narrow = TreasuryPolicy(cap_wei=1, deposit_wei=9, targets=(ONE,))
    with pytest.raises(ConfigError, match="is for a new treasury, and treasury was deployed with"):
        require_same_rules(POLICY, narrow, {"targets": "--treasury-allow"}, "treasury")
