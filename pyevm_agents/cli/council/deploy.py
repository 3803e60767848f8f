"""`pyevm-agents council deploy`: a new council with rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.council.reputation_options import (
    ReputationChoice,
    add_reputation_options,
)
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE, DURATION_TYPE
from pyevm_agents.cli.output import json_option, out
from pyevm_agents.council.commitments import CommitmentForm
from pyevm_agents.council.council_client import CONTRACT
from pyevm_agents.council.messages import NOBODY
from pyevm_agents.display import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

LOWEST_REPUTATION = -(2**31)
"""No reputation is required."""

MAX_CALLBACK_GAS = 10_000_000
"""Source: `CouncilRules.MAX_CALLBACK_GAS`."""

MAX_DISPUTE_BOND = 655
"""Percent: the contract has hundredths of them in 16 bits."""

MIN_DISPUTE_JUDGES, MAX_DISPUTE_JUDGES = 3, 15
"""Source: `CouncilRules`."""

WINDOW_SECONDS = 30 * 60
"""How long an answer can be disputed where somebody's reputation counts."""

FORMS = (CommitmentForm.BOUND, CommitmentForm.PLAIN)
"""The forms of commitments that the contract has."""

HUNDREDTHS = 100
"""Units of the contract in a percent."""

EXAMPLES = """\b
Examples:
  pyevm-agents council deploy --unlocked 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
  pyevm-agents council deploy --keystore owner.json --reveal-time 5m
  pyevm-agents council deploy --keystore owner.json --reputation new --client 0x7099…79C8 \\
      --dispute-window 1d
"""


def _add_time(name: str, default: str, text: str) -> Callable[[Any], Any]:
    return click.option(
        name, type=DURATION_TYPE, default=default, show_default=True, metavar="TIME", help=text
    )


def _add_percents(name: str, default: int, highest: int, text: str) -> Callable[[Any], Any]:
    return click.option(
        name, type=click.IntRange(0, highest), default=default, show_default=True,
        metavar="PERCENT", help=text,
    )  # fmt: skip


def _add_reputation(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(
        name, type=click.IntRange(LOWEST_REPUTATION, -LOWEST_REPUTATION - 1), metavar="SCORE",
        help=f"With --reputation: the lowest score of {text}.  [default: none]",
    )  # fmt: skip


@click.command(epilog=EXAMPLES)
@_add_time("--reveal-time", "10m", "How long agents can reveal, after all have committed.")
@_add_time("--draw-time", "50m", "How long a judge can be drawn.")
@_add_time("--judge-time", "15m", "How long a judge can decide.")
@click.option(
    "--dispute-window", type=DURATION_TYPE, metavar="TIME",
    help="How long an answer can be disputed; 0 for no disputes. Needs --reputation.  [default: "
    "30m with --reputation, else 0]",
)  # fmt: skip
@_add_time("--dispute-registration", "10m", "How long judges of a dispute can register.")
@_add_percents("--judge-fee", 10, 100, "The judge's part of a reward.")
@click.option(
    "--dispute-judges", type=click.IntRange(MIN_DISPUTE_JUDGES, MAX_DISPUTE_JUDGES), default=3,
    show_default=True, metavar="NUMBER",
    help="How many judges decide a dispute, an odd number; more than half of them overturn.",
)  # fmt: skip
@_add_percents(
    "--dispute-bond", 150, MAX_DISPUTE_BOND,
    "A dispute's bond, of an agent's bond; never less than what overturning moves.",
)  # fmt: skip
@_add_percents(
    "--disputer-part", 50, 100,
    "What the disputer gets of the first judge's fee, if the answer is overturned.",
)  # fmt: skip
@_add_percents(
    "--dispute-judge-part", 40, 100,
    "What the dispute's judges get of its bond, if the answer is upheld.",
)  # fmt: skip
@click.option(
    "--callback-gas", type=click.IntRange(1, MAX_CALLBACK_GAS), default=200_000, show_default=True,
    metavar="GAS", help="Gas of the callback to the requester, which may fail.",
)  # fmt: skip
@click.option(
    "--seed-delay", type=click.IntRange(1, 255), default=2, show_default=True, metavar="BLOCKS",
    help="Blocks until the one whose PREVRANDAO draws the judge.",
)  # fmt: skip
@click.option(
    "--min-bond", type=AMOUNT_TYPE, default="1wei", show_default=True, metavar="AMOUNT",
    help="The lowest bond that a request may ask.",
)  # fmt: skip
@click.option(
    "--commitment", "form", type=click.Choice([each.option for each in FORMS]),
    default=CommitmentForm.BOUND.option, show_default=True,
    help="What a commitment hashes: bound to the agent, so that nobody can copy it; or answer and "
    "nonce alone, as ERC-8033 recommends, for agents that know the ERC alone.",
)  # fmt: skip
@click.option("--deterministic", is_flag=True, help="For tests: nonces alone draw the judge.")
@click.option("--weighted-votes", is_flag=True, help="Votes count by reputation.")
@click.option("--proportional-rewards", is_flag=True, help="Winners share by their weights.")
@add_reputation_options
@_add_reputation("--min-agent-reputation", "an info agent")
@_add_reputation("--min-judge-reputation", "a judge")
@click.option(
    "--min-dispute-judge-reputation",
    type=click.IntRange(1, -LOWEST_REPUTATION - 1), metavar="SCORE",
    help="With --reputation: the lowest score of a dispute's judge.  [default: 1]",
)  # fmt: skip
@click.option(
    "--participant", "participants", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
    help="Send this account the amount of --fund, for bonds and gas. Repeatable.",
)  # fmt: skip
@click.option(
    "--fund", type=AMOUNT_TYPE, default="1ether", show_default=True, metavar="AMOUNT",
    help="With --participant: what each one gets.",
)  # fmt: skip
@add_sender_options
@json_option
def deploy(  # noqa: PLR0913 - one for each option
    sender: Sender,
    *,
    reveal_time: int,
    draw_time: int,
    judge_time: int,
    dispute_window: int | None,
    dispute_registration: int,
    dispute_judges: int,
    judge_fee: int,
    dispute_bond: int,
    disputer_part: int,
    dispute_judge_part: int,
    callback_gas: int,
    seed_delay: int,
    min_bond: int,
    form: str,
    deterministic: bool,
    weighted_votes: bool,
    proportional_rewards: bool,
    reputation: ReputationChoice,
    min_agent_reputation: int | None,
    min_judge_reputation: int | None,
    min_dispute_judge_reputation: int | None,
    participants: Sequence[bytes],
    fund: int,
    as_json: bool,
) -> None:
    """Deploy an AgentCouncilOracle, an oracle of councils after ERC-8033.

    The rules hold for all requests, and can't be changed. Without --reputation all results are
    final: judges of a dispute must have been right before.
    """
    scores = (min_agent_reputation, min_judge_reputation, min_dispute_judge_reputation)
    has_scores = any(each is not None for each in scores) or weighted_votes
    window = _choose_window(dispute_window, dispute_judges, reputation, has_scores=has_scores)
    if min_dispute_judge_reputation is None and window:
        min_dispute_judge_reputation = 1
    terms = {
        "revealTime": reveal_time,
        "drawTime": draw_time,
        "judgeTime": judge_time,
        "disputeWindow": window,
        "disputeRegistrationTime": dispute_registration,
        "callbackGas": callback_gas,
        "judgeFee": judge_fee * HUNDREDTHS,
        "disputeBond": dispute_bond * HUNDREDTHS,
        "disputerReimbursement": disputer_part * HUNDREDTHS,
        "judgeReimbursement": dispute_judge_part * HUNDREDTHS,
        "seedDelay": seed_delay,
        "deterministic": deterministic,
        "weightedVotes": weighted_votes,
        "proportionalRewards": proportional_rewards,
        "minBond": min_bond,
        "minAgentReputation": _read_score(min_agent_reputation),
        "minJudgeReputation": _read_score(min_judge_reputation),
        "minDisputeJudgeReputation": _read_score(min_dispute_judge_reputation),
        "disputeJudges": dispute_judges,
        "plainCommitments": form == CommitmentForm.PLAIN.option,
    }
    artifact, values = load_artifact(CONTRACT), tuple(terms.values())
    oracle, source = reputation.deploy_council(
        sender, lambda place: artifact.encode_creation(values, place), CONTRACT
    )
    sent, address = sender.account, to_checksum_address(oracle)
    people = [to_checksum_address(each) for each in dict.fromkeys(participants)]
    for each in people:
        purpose = f"Sent {format_amount(fund)} to {each}"
        sent.transact(to_canonical_address(each), b"", value_wei=fund, purpose=purpose)
    if as_json:
        forms: dict[str, object] = dict(terms)
        forms["minBond"] = str(min_bond)
        sent.print_json(
            oracle=address,
            reputation=None if source == NOBODY else to_checksum_address(source),
            commitment=form,
            isFinal=not window,
            terms=forms,
            participants=people,
        )
        return
    sent.print_total()
    out.print(f"Commitments: {form}, {CommitmentForm[form.upper()].value}", soft_wrap=True)
    if not window:
        out.print("Results are final: this council has no disputes", soft_wrap=True)
    out.print(f"Ask it:  pyevm-agents council ask --oracle {address} QUESTION", soft_wrap=True)


def _choose_window(
    given: int | None, judges: int, reputation: ReputationChoice, *, has_scores: bool
) -> int:
    """Return the seconds in which an answer can be disputed; 0 for none.

    Input:  given: the option's value, if any; has_scores: whether options need scores.
    Raises: click.UsageError: disputes or scores without reputation, or an even number of judges.
    """
    if not reputation.is_given and given:
        raise click.UsageError(
            "--dispute-window: needs --reputation, since judges of a dispute must have been right "
            "before: pass `--reputation new --client ADDRESS`, or --dispute-window 0"
        )
    if not reputation.is_given and has_scores:
        raise click.UsageError(
            "--min-…-reputation and --weighted-votes need --reputation, which says who has which"
        )
    if judges % 2 == 0:
        raise click.UsageError(f"--dispute-judges {judges}: must be odd, for a majority")
    if given is None:
        return WINDOW_SECONDS if reputation.is_given else 0
    return given


def _read_score(score: int | None) -> int:
    return LOWEST_REPUTATION if score is None else score
