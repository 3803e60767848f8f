"""The report of the callback demo: one instruction embedded, and by an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents import __version__
from pyevm_agents.models import CachingModel
from pyevm_agents.oracle.recomputation import HostedModels
from pyevm_agents.reports.document import (
    Chapter,
    Entry,
    EntryList,
    Headline,
    Tone,
    make_text_columns,
)
from pyevm_agents.scenarios.callback.wallet import open_callback_wallet
from pyevm_agents.scenarios.report import (
    ReportedTransaction,
    ScenarioReport,
    stringify_integers,
)
from pyevm_agents.scenarios.report_parts import (
    build_balance_table,
    build_table,
    iter_difference_entries,
    iter_failure_entries,
    list_step_lists,
)
from pyevm_agents.scenarios.texts import ETHER, replace_addresses
from pyevm_agents.scenarios.wallet import IDEAL_SCRIPT
from pyevm_agents.scenarios.wallet_report import list_differences, serialize_wallet_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.models import LlamaModel
    from pyevm_agents.reports.document import ReportTable
    from pyevm_agents.scenarios.callback.wallet import CallbackRun
    from pyevm_agents.scenarios.setting import ScenarioSetting
    from pyevm_agents.scenarios.wallet import DemoRun, WalletDemo
    from pyevm_agents.scenarios.wallet_report import WalletReview

GAS_PRICE_WEI = 10**9
"""Price of gas in the table, the same on both chains: 1 gwei."""

SUMMARY = (
    "One instruction runs twice: in one transaction of a chain with the executor, and by an oracle "
    "on a chain without. There, each step is a transaction of its own."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackNode:
    """A node without the executor."""

    url: str
    name: str
    """Program and version."""

    llama: LlamaModel
    """The model of the worker, which is that of the embedded run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """The two runs of one instruction."""

    embedded: DemoRun
    embedded_seconds: float
    callback: CallbackRun
    callback_seconds: float
    node: CallbackNode

    @property
    def has_same_steps(self) -> bool:
        """Whether steps and answer are the same."""
        used = [step for step in self.embedded.steps if step.action is not None]
        observations = tuple(step.observation for step in used)
        callback = self.callback
        return (observations, self.embedded.answer) == (callback.tool_results, callback.result)

    @property
    def has_same_balances(self) -> bool:
        """Whether both wallets have the same tokens."""
        return self.embedded.after == self.callback.after


def run_callback(
    setting: ScenarioSetting,
    wallet: WalletDemo,
    node: CallbackNode,
    instruction: str,
    review: WalletReview | None = None,
) -> ScenarioReport:
    """Run an instruction embedded and by callback; return the report.

    Input:
        wallet: of `deploy_wallet`.
        node: has the model of the wallet's chain, and the oracle's chain.

    Raises: ConfigError: an invalid instruction. EngineFault: the model failed. RemoteFault: the
            node failed.
    """
    setting.show_status(f"deploying the oracle and the wallet's contracts on {node.name}")
    with setting.follow_ideal(wallet.chain, IDEAL_SCRIPT):
        runs = _run_twice(setting, wallet, node, instruction)
    setting.keep(wallet.chain)
    return _build_report(setting, wallet, runs, review)


def _run_twice(
    setting: ScenarioSetting,
    wallet: WalletDemo,
    node: CallbackNode,
    instruction: str,
) -> ComparedRuns:
    chain, llama = wallet.chain, node.llama
    facts = llama.profile_facts
    caching = CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint)
    models = chain.models if setting.is_scripted else dict.fromkeys(chain.models, caching)
    hosted = HostedModels(config=chain.config, models=models)

    def forget() -> None:
        """Load the model, so that neither run waits for that."""
        if not setting.is_scripted:
            llama.forget()

    with open_callback_wallet(node.url, hosted) as other:
        forget()
        setting.show_status("running the agent embedded")
        started = setting.read_seconds()
        embedded = wallet.run(instruction)
        embedded_seconds = setting.read_seconds() - started
        forget()
        setting.show_status("running the agent by callback")
        started = setting.read_seconds()
        callback = other.run(instruction)
        return ComparedRuns(
            embedded=embedded,
            embedded_seconds=embedded_seconds,
            callback=callback,
            callback_seconds=setting.read_seconds() - started,
            node=node,
        )


def _build_report(
    setting: ScenarioSetting, wallet: WalletDemo, runs: ComparedRuns, review: WalletReview | None
) -> ScenarioReport:
    embedded, callback = runs.embedded, runs.callback
    differences = (
        *list_differences(embedded, wallet.unit, review),
        *([] if runs.has_same_steps else ["the steps by callback are others"]),
        *([] if runs.has_same_balances else ["the balances by callback are others"]),
    )
    return ScenarioReport(
        scenario="callback",
        title="An instruction embedded, and by an oracle",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="embedded", value=f"{embedded.gas_used:,}", notes=("gas",)),
            Headline(
                title="by callback",
                value=f"{sum(sent.gas_used for sent in callback.transactions):,}",
                notes=(f"gas, in {len(callback.transactions)} transactions",),
            ),
        ),
        transactions=(
            embedded,
            *(
                ReportedTransaction(
                    transaction_hash=sent.hash,
                    block_number=sent.block_number,
                    gas_used=sent.gas_used,
                )
                for sent in callback.transactions
            ),
        ),
        chapters=(
            Chapter(
                name="run",
                title=f"Instruction: {replace_addresses(embedded.instruction, wallet.names)}",
                parts=tuple(list_step_lists(embedded.steps, wallet.names, wallet.unit)),
            ),
            Chapter(
                name="comparison",
                title="By callback",
                parts=(
                    EntryList(
                        title="Beside the embedded run",
                        entries=(
                            *_iter_verdict(runs, wallet),
                            *iter_difference_entries(differences),
                        ),
                    ),
                    build_comparison_table(runs),
                    build_balance_table(callback.before, callback.after, wallet.unit),
                ),
            ),
        ),
        ideal_count=int(not differences),
        differences=differences,
        is_not_done=embedded.is_not_done,
        seconds=setting.read_seconds(),
        details={
            "embedded": {
                **serialize_wallet_run(embedded, wallet),
                "seconds": round(runs.embedded_seconds, 3),
            },
            "callback": _serialize_callback(runs),
            "hasSameSteps": runs.has_same_steps,
            "hasSameBalances": runs.has_same_balances,
        },
    )


def _iter_verdict(runs: ComparedRuns, wallet: WalletDemo) -> Iterator[Entry]:
    if runs.has_same_steps:
        yield Entry(label="Steps", text="the same steps and the same answer", tone=Tone.GOOD)
    else:
        yield from iter_failure_entries(runs.embedded.failure, wallet.names, wallet.unit)
        text = replace_addresses(runs.callback.result, wallet.names)
        yield Entry(label="Answer", text=text, tone=Tone.WARNING)
    if runs.has_same_balances:
        yield Entry(label="Balances", text="the same balances", tone=Tone.GOOD)
    else:
        text = "other balances: the steps before stand"
        yield Entry(label="Balances", text=text, tone=Tone.WARNING)


def build_comparison_table(runs: ComparedRuns) -> ReportTable:
    """Return the table of both runs."""
    embedded, callback = runs.embedded, runs.callback
    owner_gas = callback.asked.gas_used
    worker_gas = sum(step.transaction.gas_used for step in callback.steps)
    transactions = len(callback.transactions)
    paid = [embedded.gas_used * GAS_PRICE_WEI, owner_gas * GAS_PRICE_WEI + callback.fee_wei]
    return build_table(
        "Both runs",
        make_text_columns("", "embedded", "by callback"),
        (
            ("chain", f"pyevm-agents {__version__}", runs.node.name),
            ("model runs", "in the transaction, at 0x19", "at a worker, off the chain"),
            ("transactions", "1", f"{transactions}: 1 asks, {transactions - 1} answer"),
            ("blocks", "1", f"at least {transactions}"),
            ("gas", f"{embedded.gas_used:,}", f"{owner_gas + worker_gas:,}"),
            ("  of the owner", f"{embedded.gas_used:,}", f"{owner_gas:,}"),
            ("  of the worker", "0", f"{worker_gas:,}"),
            ("latency", f"{runs.embedded_seconds:.1f} s", f"{runs.callback_seconds:.1f} s"),
            ("oracle's fee", "0 ETH", f"{callback.fee_wei / ETHER:.6f} ETH"),
            ("owner pays", *(f"{wei / ETHER:.6f} ETH" for wei in paid)),
            ("atomic", "the instruction", "each step"),
            ("a tool that fails", "undoes all steps", "leaves earlier steps"),
            ("a run that is not done", "undoes all steps", "leaves earlier steps"),
        ),
    )


def _serialize_callback(runs: ComparedRuns) -> dict[str, object]:
    callback = runs.callback
    return {
        "chain": runs.node.name,
        "instruction": callback.instruction,
        "runId": callback.run_id,
        "status": callback.status,
        "steps": list(callback.tool_results),
        "result": callback.result,
        "feeWei": str(callback.fee_wei),
        "balances": stringify_integers({"before": callback.before, "after": callback.after}),
        "seconds": round(runs.callback_seconds, 3),
    }
