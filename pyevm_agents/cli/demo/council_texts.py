"""What the council demo's terminal and page say of steps, shares and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.scenarios.council.demo import PRESENT
from pyevm_agents.scenarios.council.world import ETHER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.scenarios.council.cases import CouncilCase, CouncilStep, Share

SHARE_COLUMNS = ("Who", "Answer", "Became", "Bond", "Reward", "Others' bonds", "Forfeited", "Net")
"""Amounts in ether."""


def format_ether(wei: int) -> str:
    """Return an amount of ether with four decimals, rounded to the nearest."""
    shown = 10_000
    whole, rest = divmod((abs(wei) * shown + ETHER // 2) // ETHER, shown)
    return f"{'-' if wei < 0 else ''}{whole}.{rest:04}"


def format_score(hundredths: int) -> str:
    """Return a score with two decimals."""
    return f"{hundredths / 100:.2f}"


def describe_step(step: CouncilStep) -> str:
    """Return who did what."""
    return step.text if step.who == PRESENT else f"{step.who} {step.text}"


def list_share_cells(case: CouncilCase, share: Share) -> Iterator[str]:
    """Yield the cells of a share, in the order of `SHARE_COLUMNS`."""
    reward = case.rewards.get(share.name, 0)
    others = max(0, share.got - share.put_in - reward) if share.got else 0
    answer = case.answers.get(share.name) or case.verdicts.get(share.name, ("", b""))[1]
    yield share.name
    yield answer.decode(errors="replace") or "none"
    yield share.outcome if share.outcome != "none" else "disputer"
    yield format_ether(share.put_in)
    yield format_ether(reward)
    yield format_ether(others)
    yield format_ether(share.loss)
    yield format_ether(share.net)


def list_verdicts(case: CouncilCase) -> list[str]:
    """Return what judges' models said, a sentence each."""
    lines = [
        f"{name}'s model said “{said}”: the answer is {answer.decode(errors='replace')}"
        for name, (said, answer) in case.verdicts.items()
    ]
    return lines or ["No judge: more than half of the votes are for it"]
