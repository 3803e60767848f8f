"""The report of the run demo: a task in nine phases, and three runs that are stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.display import pluralize
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.models import answer, use
from pyevm_agents.models.fakes.parsed_request import parse_prompt
from pyevm_agents.reports.document import Chapter, Entry, EntryList, Headline, Tone
from pyevm_agents.scenarios.report import ReportedTransaction, ScenarioReport
from pyevm_agents.scenarios.report_parts import iter_difference_entries
from pyevm_agents.scenarios.run.demo import MIN_SCORE
from pyevm_agents.scenarios.run.world import CAP_TOKENS, CURRENCY, UNIT
from pyevm_agents.scenarios.texts import format_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.chain import Chain
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.scenarios.run.demo import DemoOutcome
    from pyevm_agents.scenarios.run.world import ChainState, RunWorld
    from pyevm_agents.scenarios.setting import ScenarioSetting

SUMMARY = (
    "A bookkeeper plans; one deployed agent reads each bill, another pays what it says. The "
    "operator confirms the dry run, all of it is one block, and a validator executes that again. "
    "Runs that break a limit are stopped before anything is spent."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunForms:
    """A run of the demo with the forms in JSON."""

    outcome: DemoOutcome
    form: Mapping[str, Any]
    """As the control plane's."""

    log_entry: Mapping[str, Any] | None
    """Of the coordinator's agent_log.json."""

    phases: Mapping[Phase, Sequence[str]]
    """Lines about the results of the phases that were performed."""


def follow_ideal(request: GenerationRequest) -> Step:
    """Return the step of a model that reads a bill, or pays the question's amount."""
    prompt = parse_prompt(request)
    if prompt.step > 1:
        return answer("Done.")
    words = prompt.question.split()
    if words[0] == "Read":
        return use("read_bill", supplier=words[-1])
    return use("pay_bill", supplier=words[-1], amount=int(words[1]))


def list_run_entries(forms: RunForms, number: int, operator: bytes) -> EntryList:
    """Return the phases of a run, and the run's entries on the chain and in the log."""
    task = forms.outcome.task
    return EntryList(
        title=f"{number}  {task.title}: {task.goal}",
        entries=(
            *_iter_phases(forms, operator),
            *_iter_facts(forms),
            *iter_difference_entries(forms.outcome.differences),
        ),
    )


def build_run_report(
    setting: ScenarioSetting,
    world: RunWorld,
    runs: Sequence[RunForms],
    lists: Sequence[EntryList],
) -> ScenarioReport:
    """Return the report of the demo's runs. Input: lists: of `list_run_entries`, for each run."""
    stopped = [each for each in runs if each.form["status"] != "completed"]
    unspent = sum(each.outcome.before == each.outcome.after for each in stopped)
    return ScenarioReport(
        scenario="run",
        title="Runs of agents in nine phases",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="completed", value=f"{len(runs) - len(stopped)}"),
            Headline(title="stopped, nothing spent", value=f"{unspent} of {len(stopped)}"),
            Headline(
                title="receipts",
                value=f"{sum(len(each.form['receipts']) for each in runs)}",
                notes=("of what was executed",),
            ),
        ),
        facts=(
            ("operator", to_checksum_address(world.people["operator"])),
            ("cap of a task", f"{CAP_TOKENS} {CURRENCY}"),
            ("trust needed", f"{MIN_SCORE:.2f}"),
        ),
        warnings=("Suppliers and bills are made up.",),
        transactions=tuple(_iter_transactions(world.chain)),
        chapters=(Chapter(name="runs", title="Runs", parts=tuple(lists)),),
        count=len(runs),
        ideal_count=sum(not each.outcome.differences for each in runs),
        differences=tuple(
            f"{each.outcome.task.title}: {text}"
            for each in runs
            for text in each.outcome.differences
        ),
        seconds=setting.read_seconds(),
        details={"runs": [_serialize(each) for each in runs]},
    )


def _iter_transactions(chain: Chain) -> Iterator[ReportedTransaction]:
    for number in range(1, chain.head.block_number + 1):
        record = chain.block_with_receipts(chain.header(number))
        used = 0
        for index, transaction in enumerate(record.block.transactions):
            receipt, computation = chain.replay(record, index)
            yield ReportedTransaction(
                transaction_hash=transaction.hash,
                block_number=number,
                gas_used=receipt.gas_used - used,
                failure=explain_failure(computation) if computation.is_error else None,
                steps=extract_agent_steps(computation),
            )
            used = receipt.gas_used


def _iter_phases(forms: RunForms, operator: bytes) -> Iterator[Entry]:
    confirmation = forms.outcome.confirmation
    for number, phase in enumerate(Phase, start=1):
        if phase not in forms.phases:
            continue
        is_stop = forms.form["failedPhase"] == phase.value
        first, *others = forms.phases[phase] or [""]
        yield Entry(
            label=f"{number} {phase.value}",
            text=f"{'✗' if is_stop else '✓'} {first}".rstrip(),
            tone=Tone.BAD if is_stop else Tone.PLAIN,
        )
        for line in others:
            yield Entry(label="", text=line)
        if phase is Phase.DRY_RUN and confirmation is not None:
            signer = to_checksum_address(operator)
            trace = confirmation.trace.hex()
            text = f"confirmed by {signer}, EIP-712 signature of 0x{trace}"
            yield Entry(label="", text=text)


def _iter_facts(forms: RunForms) -> Iterator[Entry]:
    outcome = forms.outcome
    if (made := outcome.execution_digest) is not None:
        word = "the same" if made == outcome.dry_run_digest else "another"
        text = f"execution 0x{made.hex()}, {word} as the dry run's"
        yield Entry(label="Digest", text=text)
        for receipt in forms.form["receipts"]:
            yield Entry(label="Receipt", text=f"{receipt['type']}: {receipt['summary']}")
    if (found := outcome.validation) is not None:
        validator = to_checksum_address(found.validator)
        text = f"{found.response} of 100 for agent {found.agent_id} by {validator}, {found.tag}"
        yield Entry(label="Validation", text=text)
    yield Entry(label="Log", text=_describe_log(forms.log_entry))
    if outcome.before == outcome.after:
        text = f"nothing; before and after: {_describe_state(outcome.after)}"
        yield Entry(label="Spent", text=text, tone=Tone.GOOD)
    for change in _iter_changes(outcome):
        yield Entry(label="Changed", text=change)


def _describe_log(entry: Mapping[str, Any] | None) -> str:
    """Return a run's entry of agent_log.json, in short."""
    if entry is None:
        return "no entry"
    steps, receipts = pluralize(len(entry["steps"]), "step"), len(entry["receipts"])
    text = f"{entry['runId']}: {entry['status']}, {steps}, {pluralize(receipts, 'receipt')}"
    for failure in entry["failures"]:
        text += f", stopped in {failure['phase']}"
    return f"{text}, follows {entry['previousDigest'][:18]}…"


def _iter_changes(outcome: DemoOutcome) -> Iterator[str]:
    """Yield the changes between the two readings of the chain."""
    before, after = outcome.before, outcome.after
    for name, old in before.tokens.items():
        if (new := after.tokens[name]) != old:
            change = format_tokens(new - old, UNIT, sign=True)
            amounts = f"{format_tokens(old, UNIT)} → {format_tokens(new, UNIT)}"
            yield f"{name} {amounts} {CURRENCY} ({change})"
    for name, nonce in before.nonces.items():
        if after.nonces[name] != nonce:
            yield f"nonce of {name} {nonce} → {after.nonces[name]}"
    for name, wei in before.wei.items():
        if after.wei[name] != wei:
            yield f"{name} {wei - after.wei[name]:,} wei for gas"
    if after.block_number != before.block_number:
        yield f"block {before.block_number} → {after.block_number}"


def _describe_state(state: ChainState) -> str:
    """Return block number, the treasury's balance and nonces."""
    nonces = ", ".join(f"{name} {nonce}" for name, nonce in state.nonces.items())
    tokens = format_tokens(state.tokens["treasury"], UNIT)
    return f"block {state.block_number}; treasury {tokens} {CURRENCY}; nonces: {nonces}"


def _serialize(forms: RunForms) -> dict[str, object]:
    outcome, found = forms.outcome, forms.outcome.validation
    stopped_in, confirmed = outcome.task.stopped_in, outcome.confirmation
    return {
        "title": outcome.task.title,
        "goal": outcome.task.goal,
        "expectedStop": None if stopped_in is None else stopped_in.value,
        "run": forms.form,
        "confirmation": None
        if confirmed is None
        else {
            "trace": "0x" + confirmed.trace.hex(),
            "expiry": confirmed.expiry,
            "signature": "0x" + confirmed.signature.hex(),
        },
        "validation": None
        if found is None
        else {
            "agentId": found.agent_id,
            "validator": to_checksum_address(found.validator),
            "response": found.response,
            "tag": found.tag,
        },
        "logEntry": forms.log_entry,
        "before": _serialize_state(outcome.before),
        "after": _serialize_state(outcome.after),
        "isUnchanged": outcome.before == outcome.after,
    }


def _serialize_state(state: ChainState) -> dict[str, object]:
    form = asdict(state)
    return {
        "blockNumber": form["block_number"],
        "tokens": {name: str(amount) for name, amount in form["tokens"].items()},
        "wei": {name: str(amount) for name, amount in form["wei"].items()},
        "nonces": form["nonces"],
    }
