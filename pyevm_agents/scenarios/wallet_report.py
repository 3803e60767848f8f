"""The report of the wallet demo: a run beside the ideal, and a run that is undone as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.agents.trace import find_closest_step
from pyevm_agents.display import count_steps
from pyevm_agents.reports.document import (
    Chapter,
    Entry,
    EntryList,
    Headline,
    Tone,
    make_number_columns,
    make_text_columns,
)
from pyevm_agents.scenarios.report import ScenarioReport, serialize_margin, stringify_integers
from pyevm_agents.scenarios.report_parts import (
    build_balance_table,
    build_table,
    iter_difference_entries,
    iter_failure_entries,
    list_step_lists,
)
from pyevm_agents.scenarios.texts import format_tokens, replace_addresses
from pyevm_agents.scenarios.wallet import (
    DEFAULT_INSTRUCTION,
    IDEAL_SCRIPT,
    WalletDemo,
    run_atomic_demo,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.reports.document import ReportTable
    from pyevm_agents.scenarios.setting import ScenarioSetting
    from pyevm_agents.scenarios.wallet import Balances, DemoRun

SUMMARY = (
    "The owner of a wallet sends an instruction. The wallet's agent reads it, uses its tools and "
    "answers, in one transaction. If a tool reverts, all of the transaction is undone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WalletReview:
    """The simulation of an instruction before the wallet's run."""

    seconds: float
    differences: tuple[str, ...]
    """How the transfers differ from the instruction, a sentence each."""

    details: Mapping[str, object] = field(default_factory=dict)


def deploy_wallet(setting: ScenarioSetting) -> WalletDemo:
    """Deploy the wallet on the setting's chain."""
    setting.show_status("deploying tokens, pool, tools and the wallet agent")
    return WalletDemo(setting.open_chain())


def run_wallet(
    setting: ScenarioSetting,
    wallet: WalletDemo,
    instruction: str = DEFAULT_INSTRUCTION,
    review: WalletReview | None = None,
) -> ScenarioReport:
    """Run an instruction, then one whose second tool reverts; return the report.

    Raises: ConfigError: an invalid instruction. EngineFault: the model failed.
    """
    started = setting.read_seconds()
    with setting.follow_ideal(wallet.chain, IDEAL_SCRIPT):
        run = wallet.run(instruction)
    seconds = setting.read_seconds() - started + (0 if review is None else review.seconds)
    setting.keep(wallet.chain)
    differences = list_differences(run, wallet.unit, review)
    atomic_wallet, atomic = run_atomic_demo(setting.chain)
    return ScenarioReport(
        scenario="wallet",
        title="An instruction to a wallet's agent",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="status", value="succeeded" if run.is_success else "reverted"),
            Headline(title="gas", value=f"{run.gas_used:,}"),
            Headline(title="steps", value=f"{len(run.steps)}"),
        ),
        transactions=(run,),
        chapters=(
            Chapter(
                name="run",
                title=f"Instruction: {replace_addresses(run.instruction, wallet.names)}",
                parts=(
                    *list_step_lists(run.steps, wallet.names, wallet.unit),
                    EntryList(
                        title="Transaction",
                        entries=(
                            *_iter_end(run, wallet, seconds),
                            *iter_difference_entries(differences),
                        ),
                    ),
                    build_balance_table(run.before, run.after, wallet.unit),
                    build_gas_table(run),
                ),
            ),
            _build_atomic_chapter(atomic_wallet, atomic),
        ),
        ideal_count=int(not differences),
        differences=differences,
        is_not_done=run.is_not_done,
        seconds=seconds,
        details={
            **serialize_wallet_run(run, wallet),
            **({} if review is None else review.details),
            "undone": {
                "instruction": atomic.instruction,
                "status": int(atomic.is_success),
                "failure": atomic.failure,
                "balances": stringify_integers({"before": atomic.before, "after": atomic.after}),
            },
        },
    )


def list_differences(
    run: DemoRun, unit: Mapping[str, int], review: WalletReview | None
) -> tuple[str, ...]:
    """Return how a run differs from the ideal, a sentence each; empty for the ideal.

    The ideal of `DEFAULT_INSTRUCTION` has certain balances. Of another instruction the ideal is a
    run that is done, and whose transfers agree with the instruction.
    """
    found: list[str] = []
    if run.is_not_done:
        found.append(f"not done: {run.answer}")
    elif run.failure is not None:
        found.append(f"reverted: {run.failure}")
    if run.instruction == DEFAULT_INSTRUCTION:
        found += _iter_other_balances(run, unit)
    elif review is not None:
        found += review.differences
    return tuple(found)


def _iter_other_balances(run: DemoRun, unit: Mapping[str, int]) -> Iterator[str]:
    symbol, moved = "USDC", 10 * unit["USDC"]
    expected: Balances = {place: dict(tokens) for place, tokens in run.before.items()}
    expected["wallet"][symbol] -= moved
    expected["pool"][symbol] += moved
    for place, tokens in expected.items():
        for name, amount in tokens.items():
            made = run.after[place][name]
            if made != amount:
                wanted, has = (format_tokens(each, unit[name]) for each in (amount, made))
                yield f"{place}: expected {wanted} {name}; it has {has}"


def _iter_end(run: DemoRun, wallet: WalletDemo, seconds: float) -> Iterator[Entry]:
    yield Entry(label="Hash", text=f"0x{run.transaction_hash.hex()}")
    steps = count_steps(len(run.steps), sum(step.inference.is_decided for step in run.steps))
    fate, tone = ("succeeded", Tone.GOOD) if run.is_success else ("reverted", Tone.BAD)
    yield Entry(label="Status", text=f"{fate} after {seconds:.1f} s, in {steps}", tone=tone)
    yield from iter_failure_entries(run.failure, wallet.names, wallet.unit)


def _build_atomic_chapter(wallet: WalletDemo, run: DemoRun) -> Chapter:
    fate = "succeeded" if run.is_success else "reverted"
    is_unchanged = run.before == run.after
    balances = "all balances unchanged" if is_unchanged else "balances changed"
    end = Entry(
        label="Status",
        text=f"{fate}; {balances}",
        tone=Tone.GOOD if is_unchanged and not run.is_success else Tone.BAD,
    )
    failure = iter_failure_entries(run.failure, wallet.names, wallet.unit)
    return Chapter(
        name="undone",
        title=f"All or nothing: {run.instruction}",
        words=(("A scripted model, under the same rules.",),),
        parts=(
            *list_step_lists(run.steps, wallet.names, wallet.unit),
            EntryList(title="Transaction", entries=(end, *failure)),
        ),
    )


def build_gas_table(run: DemoRun) -> ReportTable:
    """Return a table of the transaction's gas by kind."""
    tokens = run.count_tokens()
    output = f"{tokens['output']:,} tokens, {tokens['forced']:,} of them forced"
    rows = (
        ("EVM", run.evm_gas, "contracts, and reading the tools' metadata"),
        ("prompt", run.prompt_gas, f"{tokens['cold']:,} cold and {tokens['warm']:,} warm tokens"),
        ("output", run.output_gas, output),
        ("total", run.gas_used, ""),
    )
    return build_table(
        "Gas",
        (
            *make_text_columns("Paid for"),
            *make_number_columns("used", "share"),
            *make_text_columns(""),
        ),
        ((name, f"{gas:,}", f"{100 * gas / run.gas_used:.0f} %", note) for name, gas, note in rows),
    )


def serialize_wallet_run(run: DemoRun, wallet: WalletDemo) -> dict[str, object]:
    """Return a run's own JSON. Balances are decimal strings of base units."""
    return {
        "instruction": run.instruction,
        "stateRoot": "0x" + run.state_root.hex(),
        "gas": {"evm": run.evm_gas, "prompt": run.prompt_gas, "output": run.output_gas},
        "tokens": run.count_tokens(),
        "closestDecision": _serialize_closest(run),
        "answer": run.answer,
        "balances": stringify_integers({"before": run.before, "after": run.after}),
        "unit": stringify_integers(dict(wallet.unit)),
    }


def _serialize_closest(run: DemoRun) -> dict[str, object] | None:
    """Return the run's closest decision; `step` is the number of the step, from 1."""
    index = find_closest_step(run.steps)
    if index is None:
        return None
    return {"step": index + 1, **(serialize_margin(run.steps[index]) or {})}
