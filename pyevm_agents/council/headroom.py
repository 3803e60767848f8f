"""Gas beyond an estimate, for calls that cost more if others of the same block come before.

The one that is last does what ends the phase: the last reveal counts the votes and keeps the
winning option, the last judge of a dispute shares the bonds. Who estimates before is not the last
yet. Gas that is not used is not paid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.council.decisions import Act

if TYPE_CHECKING:
    from pyevm_agents.council.messages import RequestView

CLOSE_GAS, COUNT_GAS = 35_000, 50_000
"""What ends the reveals, and what counts votes beside what follows."""

VOTER_GAS, OPTION_BYTE_GAS = 1_500, 450
"""Of each agent, and of each byte of the line of options."""

END_GAS, JUDGE_GAS, ANSWER_BYTE_GAS = 20_000, 35_000, 220
"""What ends a dispute, of each judge, and of each byte of an answer that is kept.

All are measured on contracts/council/, and rounded up: tests/pyevm_agents/council/test_headroom.py.
"""


def compute_headroom(act: Act, view: RequestView, data: bytes) -> int:
    """Return the gas by which a call's work can grow until it is mined.

    Input:  data: the calldata, which has the answer.
    """
    if act is Act.REVEAL:
        options = "|".join(view.request.options).encode()
        voting = VOTER_GAS * view.request.agent_count + OPTION_BYTE_GAS * len(options)
        return CLOSE_GAS + (COUNT_GAS + voting if options else 0)
    if act is Act.RULE:
        judges = len(view.dispute_panel.judges)
        return END_GAS + JUDGE_GAS * judges + ANSWER_BYTE_GAS * len(data)
    return 0
