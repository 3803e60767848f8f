"""What the demo shows of what it is given."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.demo import (
    MAX_SHOWN_CHARACTERS,
    format_whole_tokens,
    truncate_text,
)


def test_a_text_that_fits_is_shown_whole() -> None:
    text = "x" * MAX_SHOWN_CHARACTERS
    assert truncate_text(text) == text


def test_a_long_text_is_its_beginning_and_its_size() -> None:
    shown = truncate_text("ü" * 25_000)
    assert shown == "ü" * MAX_SHOWN_CHARACTERS + " … (50,000 bytes)"


def test_amounts_of_a_named_token_are_whole_ones() -> None:
    unit = {"USDC": 10**6, "DAI": 10**18}
    reason = "InsufficientPoolBalance(asset=DAI, balance=500000000000000000000, needed=1)"
    assert format_whole_tokens(reason, unit) == (
        "InsufficientPoolBalance(asset=DAI, balance=500, needed=0.000000000000000001)"
    )
    assert format_whole_tokens("Failed(amount=5000000)", unit) == "Failed(amount=5000000)"


@pytest.mark.parametrize("prompt", ["", " \n", "\udcff"])
def test_no_model_is_loaded_for_no_instruction(prompt: str) -> None:
    result = CliRunner().invoke(main, ["demo", "--no-store", "--prompt", prompt])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: the instruction is ")
