"""Long counts that CI samples: kills, damaged requests, generations, tasks, mutants.

    python -m benchmarks.evidence [--only NAME] [--count N] [--seed S]

Each entry runs a test with a larger count, or another benchmark. Its report is written to
`benchmarks/reports/evidence/NAME.json`: command, seed, count, commit, figures and result. README.md
there is a table of the reports. Exit status 1 if an entry fails. A test that counts nothing has
failed, such as one that is skipped for a missing program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "benchmarks" / "reports" / "evidence"
VARIABLE = "PYEVM_AGENTS_EVIDENCE"
PROGRESS_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A long count, of a test or of another benchmark."""

    shows: str
    count: int
    seed: int
    test: str = ""
    """ID of a test with the mark `sample`; empty for a benchmark."""

    command: str = ""
    """A benchmark's module and arguments; `{json}` is the file of its figures."""


ENTRIES = {
    "agent-reasonings": Entry(
        shows="The prompt of the next step repeats exactly what the model wrote",
        count=100_000,
        seed=18,
        test="tests/precompiles/test_react_round_trip.py"
        "::test_the_next_prompt_repeats_what_the_model_wrote",
    ),
    "executor-calls": Entry(
        shows="Every call of the executor returns a result, a typed error or out of gas",
        count=200_000,
        seed=18,
        test="tests/precompiles/test_executor_fuzz.py::test_every_call_has_a_typed_outcome",
    ),
    "numeric-calls": Entry(
        shows="Every call of the numeric models, malformed or not, has a typed outcome and its gas",
        count=1_400_000,  # 1,000,000 of which are refused
        seed=24,
        test="tests/precompiles/test_numeric_fuzz.py::test_every_call_has_a_typed_outcome",
    ),
    "oracle-accounts": Entry(
        shows="The oracle of callback execution creates, loses and keeps no wei (EVM in Python)",
        count=2_000,
        seed=21,
        test="tests/contracts/callback/test_accounts.py::test_no_wei_is_created_lost_or_stuck",
    ),
    "oracle-invariants": Entry(
        shows="The oracle of callback execution creates, loses and keeps no wei (Foundry)",
        count=3_000,
        seed=21,
        test="tests/contracts/callback/test_invariants.py"
        "::test_no_sequence_of_calls_breaks_the_books",
    ),
    "treasury-invariants": Entry(
        shows="No run of a treasury passes its caps and budget, or makes a write twice (Foundry)",
        count=3_000,
        seed=26,
        test="tests/contracts/runs/test_treasury_invariants.py"
        "::test_no_sequence_of_calls_breaks_the_treasury",
    ),
    "council-accounts": Entry(
        shows="A council creates, loses and keeps no money, ten requests at once (EVM in Python)",
        count=1_000,
        seed=27,
        test="tests/contracts/council/test_accounts.py::test_no_money_is_created_lost_or_stuck",
    ),
    "council-gangs": Entry(
        shows="Accounts that work together take nothing from a council and its markets",
        count=2_000,
        seed=31,
        test="tests/contracts/council/test_gangs.py::test_a_gang_never_gains",
    ),
    "council-invariants": Entry(
        shows="A council creates, loses and keeps no money, ten requests at once (Foundry)",
        count=3_000,
        seed=27,
        test="tests/contracts/council/test_invariants.py"
        "::test_no_sequence_of_calls_breaks_the_books",
    ),
    "account-tools": Entry(
        shows="Attackers who run an account's tools take nothing out of it",
        count=2_000,
        seed=32,
        test="tests/contracts/test_account_attacks.py::test_tools_take_nothing_out_of_an_account",
    ),
    "account-agents": Entry(
        shows="Attackers who write for a versioned account's agents take nothing out of it",
        count=2_000,
        seed=32,
        test="tests/contracts/test_account_attacks.py::test_agents_take_nothing_out_of_an_account",
    ),
    "challenge-attacks": Entry(
        shows="Attackers of a challengeable oracle earn fees of right answers alone",
        count=2_000,
        seed=32,
        test="tests/contracts/challenge/test_challenge_attacks.py"
        "::test_attackers_earn_fees_of_right_answers_alone",
    ),
    "desk-attacks": Entry(
        shows="Attackers with flash loans take no more from a desk than slippage of its turnover",
        count=2_000,
        seed=32,
        test="tests/contracts/trading/test_desk_attacks.py"
        "::test_attackers_take_no_more_than_the_slippage",
    ),
    "loan-attacks": Entry(
        shows="Attackers with flash loans and votes earn no more than their shares of a pool",
        count=2_000,
        seed=32,
        test="tests/contracts/loan/test_loan_attacks.py"
        "::test_attackers_earn_no_more_than_their_shares",
    ),
    "numeric-files": Entry(
        shows="A malformed ONNX file is refused by its name, or computes within its proven ranges",
        count=100_000,
        seed=24,
        test="tests/pyevm_agents/models/numeric/test_fuzz.py::test_no_file_is_a_fault",
    ),
    "rpc-requests": Entry(
        shows="No request of any method, well-formed or not, is answered with an internal error",
        count=100_000,
        seed=100_000,
        test="tests/pyevm_agents/rpc/test_fuzz.py::test_no_answer_is_an_internal_error",
    ),
    "rpc-transactions": Entry(
        shows="No mutated transaction or block in RLP is answered with an internal error",
        count=10_000,
        seed=20261130,
        test="tests/pyevm_agents/rpc/test_raw_fuzz.py"
        "::test_no_transaction_or_block_is_an_internal_error",
    ),
    "http-bodies": Entry(
        shows="No body breaks the server or is answered with an internal error",
        count=100_000,
        seed=20261121,
        test="tests/pyevm_agents/server/test_fuzz.py::test_no_body_is_an_internal_error",
    ),
    "http-connections": Entry(
        shows="No bytes of a connection break the server: HTTP",
        count=10_000,
        seed=20261121,
        test="tests/pyevm_agents/server/test_fuzz.py::test_no_connection_breaks_the_server[http]",
    ),
    "websocket-connections": Entry(
        shows="No bytes of a connection break the server: frames of a WebSocket",
        count=10_000,
        seed=20261121,
        test="tests/pyevm_agents/server/test_fuzz.py::test_no_connection_breaks_the_server[frames]",
    ),
    "control-requests": Entry(
        shows="No request to REST or MCP is a fault, or stores what can't be answered",
        count=1_000_000,
        seed=20261201,
        test="tests/pyevm_agents/control/test_fuzz.py"
        "::test_no_request_is_a_fault_or_stores_what_cannot_be_answered",
    ),
    "control-connections": Entry(
        shows="No request to REST or MCP ends the process that serves them",
        count=20_000,
        seed=20261201,
        test="tests/pyevm_agents/control/test_fuzz.py::test_no_request_ends_the_process",
    ),
    "killed-nodes": Entry(
        shows="A node killed under load has all that it acknowledged",
        count=60,
        seed=1,
        test="tests/test_killed_node.py::test_all_that_was_acknowledged_outlives_every_kill",
    ),
    "killed-pools": Entry(
        shows="Every hash that a node returned is known after it is killed while agents think",
        count=100,
        seed=20,
        test="tests/test_killed_pool.py::test_every_hash_is_known_after_each_kill",
    ),
    "killed-workers": Entry(
        shows="Every request is answered once while workers are killed, and anvil reorganised",
        count=200,
        seed=21,
        test="tests/test_killed_workers.py::test_every_request_is_answered_once",
    ),
    "killed-workers-model": Entry(
        shows="Every request is answered once by the default model, through kills and a restart",
        count=20,
        seed=21,
        test="tests/test_killed_workers.py::test_every_request_is_answered_once_by_the_real_model",
    ),
    "killed-runs": Entry(
        shows="A run killed at any moment, in a treasury or not, ends as it would have",
        count=200,
        seed=26,
        test="tests/pyevm_agents/lifecycle/test_killed_runs.py"
        "::test_every_run_ends_as_it_would_have",
    ),
    "run-plans": Entry(
        shows="A run does all of its plan or nothing: random plans, budgets, failures and faults",
        count=2_000,
        seed=26,
        test="tests/pyevm_agents/lifecycle/test_run_properties.py"
        "::test_a_run_does_all_of_its_plan_or_nothing",
    ),
    "killed-participants": Entry(
        shows="A council's agents and judges killed at any moment hand in what they kept, and once",
        count=100,
        seed=27,
        test="tests/test_killed_participants.py::test_every_answer_is_the_one_that_was_kept",
    ),
    "killed-stores": Entry(
        shows="Killed writers leave a generation store without a damaged row",
        count=300,
        seed=7,
        test="tests/pyevm_agents/models/store/test_store_killed.py"
        "::test_killed_writers_leave_a_sound_store[evicting]",
    ),
    "challenge-accounts": Entry(
        shows="No wei is created, lost or stuck in stakes, bonds, challenges and rulings",
        count=2_000,
        seed=21,
        test="tests/contracts/challenge/test_accounting.py::test_no_wei_is_created_lost_or_stuck",
    ),
    "numeric-processors": Entry(
        shows="Shipped models give the same numbers with AVX2 and with NumPy's baseline alone",
        count=1_000_000,  # of each model
        seed=24,
        test="tests/pyevm_agents/models/numeric/test_numeric_file.py"
        "::test_the_baseline_processor_computes_the_same_of_shipped_models",
    ),
    "numeric-shipped-twins": Entry(
        shows="The Solidity of shipped numeric models gives the numbers of their files (Foundry)",
        count=1_000_000,  # of each model
        seed=24,
        test="tests/pyevm_agents/models/numeric/solidity/test_twins.py"
        "::test_forge_computes_the_numbers_of_shipped_models",
    ),
    "numeric-twins": Entry(
        shows="The Solidity of converted numeric models gives the numbers of their files (Foundry)",
        count=20_000,  # of each of 11 models
        seed=24,
        test="tests/pyevm_agents/models/numeric/solidity/test_twins.py"
        "::test_forge_computes_the_numbers_of_the_file",
    ),
    "numeric-twins-python": Entry(
        shows="The Solidity of converted numeric models gives the numbers of their files (py-evm)",
        count=22_000,
        seed=24,
        test="tests/pyevm_agents/models/numeric/solidity/test_twins.py"
        "::test_our_evm_computes_the_numbers_of_the_file",
    ),
    "trading-limits": Entry(
        shows="No words of the trading agent's model exceed the limits of its desk",
        count=400,
        seed=24,
        test="tests/pyevm_agents/scenarios/trading/test_demo.py"
        "::test_no_words_of_the_model_exceed_the_limits",
    ),
    "trading-invariants": Entry(
        shows="No sequence of calls exceeds the trading desk's limits or moves its money (Foundry)",
        count=2_000,
        seed=24,
        test="tests/contracts/trading/test_desk_invariants.py"
        "::test_no_sequence_of_calls_exceeds_the_limits",
    ),
    "loan-limits": Entry(
        shows="No words of the loan agents' model make the pool pay against its policy",
        count=200,
        seed=25,
        test="tests/pyevm_agents/scenarios/loan/test_demo.py"
        "::test_no_words_of_the_model_pay_against_the_policy",
    ),
    "retrieval-ranks": Entry(
        shows="BM25 in the EVM ranks as bm25s does, and scores as its twin of integers does",
        count=1_000,
        seed=25,
        test="tests/contracts/retrieval/test_ranks.py::test_ranks_are_those_of_the_oracle",
    ),
    "recorded-chains": Entry(
        shows="Every recorded chain is computed again byte for byte by the default model",
        count=10,
        seed=0,
        test="tests/pyevm_agents/scenarios/test_recorded.py"
        "::test_shipped_chains_are_computed_again_byte_for_byte",
    ),
    "contract-analysis": Entry(
        shows="The analysis of contracts finds who may call what, with one mistake",
        count=24,
        seed=0,
        test="tests/benchmarks/test_contract_access.py::test_the_analysis_finds_who_may_call_what",
    ),
    "processes": Entry(
        shows="Processes of one and two threads agree on a run's state, gas, steps and answer",
        count=10,
        seed=0,
        test="tests/test_determinism.py::test_processes_agree_whatever_their_threads",
    ),
    "artifacts": Entry(
        shows="The contracts compile to the committed artifacts",
        count=1,
        seed=0,
        test="tests/contracts/test_build.py::test_the_artifacts_are_those_of_the_sources",
    ),
    "interrupts": Entry(
        shows="Ctrl-C at any moment of the demo ends it with one line and status 130",
        count=57,
        seed=1,
        test="tests/pyevm_agents/cli/test_errors.py::test_ctrl_c_at_any_time",
    ),
    "callback-instructions": Entry(
        shows="An instruction by callback has the embedded run's prompts, answers and balances",
        count=20,
        seed=0,
        test="tests/pyevm_agents/scenarios/callback/test_wallet.py"
        "::test_instructions_by_callback_have_the_embedded_steps",
    ),
    "generations": Entry(
        shows="A generation is bit for bit that of a fresh context, whatever was computed before",
        count=10_000,
        seed=1,
        command="benchmarks.soak --generations {count} --seed {seed} --json {json}",
    ),
    "properties": Entry(
        shows="Every property of the tests holds for more examples",
        count=200,  # of each property
        seed=1,
        command="pytest -q -n 0 -m hypothesis --hypothesis-profile thorough"
        " --hypothesis-seed {seed}",
    ),
    "chooser-pairs": Entry(
        shows="A chooser's scores are those of integers, alone, in any batch, by each kernel",
        count=10_000,
        seed=30,
        command="benchmarks.chooser_pairs --count {count} --seed {seed} --json {json}",
    ),
    "tasks": Entry(
        shows="The default model's accuracy on generated tasks",
        count=1_000,
        seed=1,
        command="benchmarks.agent_accuracy --only tasks --count {count} --seed {seed}"
        " --json {json}",
    ),
    "mutants": Entry(
        shows="A test fails for each small mistake in consensus code",
        count=50,
        seed=1,
        command="benchmarks.mutations --count {count} --seed {seed} --json {json}",
    ),
}


def build_command(entry: Entry, count: int, seed: int, figures: Path) -> list[str]:
    """Return an entry's command; it writes its figures to a file."""
    if entry.test:
        options = ["-q", "-m", "", "--timeout", "0", "-o", "faulthandler_timeout=0", "-n", "0"]
        return [sys.executable, "-m", "pytest", *options, entry.test]
    filled = [one.format(count=count, seed=seed, json=figures) for one in entry.command.split(" ")]
    return [sys.executable, "-m", *filled]


def run_entry(name: str, entry: Entry, count: int, seed: int) -> dict[str, Any]:
    """Run an entry; return its report."""
    with tempfile.TemporaryDirectory() as folder:
        figures, log = Path(folder) / "figures.json", Path(folder) / "log"
        request = json.dumps({"count": count, "seed": seed, "result": str(figures)})
        since = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                build_command(entry, count, seed, figures),
                cwd=ROOT,
                env={**os.environ, VARIABLE: request},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            status = wait(process, name, count, since)
        counted = json.loads(figures.read_text()) if figures.exists() else {}
        # pytest's status is 0 for a test that was skipped, such as for a missing program.
        has_failed = bool(status) or (bool(entry.test) and not counted)
        if has_failed:
            sys.stderr.write(log.read_text(errors="replace")[-5_000:])
    return {
        "name": name,
        "shows": entry.shows,
        "command": f"python -m benchmarks.evidence --only {name} --count {count} --seed {seed}",
        "count": count,
        "seed": seed,
        "commit": describe_commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.monotonic() - since),
        "result": "failed" if has_failed else "passed",
        "figures": {key: value for key, value in counted.items() if is_figure(value)},
    }


def is_figure(value: object) -> bool:
    """Return whether a value is a number or a text; the report leaves out lists and objects."""
    return isinstance(value, (int, float, str))


def wait(process: subprocess.Popen[bytes], name: str, count: int, since: float) -> int:
    """Print a line of progress every half minute until a process ends; return its status."""
    while True:
        try:
            return process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            minutes = (time.monotonic() - since) / 60
            print(f"{name}: {count:,} running for {minutes:.1f} minutes", file=sys.stderr)
        except KeyboardInterrupt:
            process.wait()
            raise


def describe_commit() -> str:
    """Return the checkout's commit, with `-dirty` if files other than reports differ from it."""
    commit = read_git("rev-parse", "--short=12", "HEAD")
    changed = read_git("status", "--porcelain", "--", ".", ":!benchmarks/reports/evidence")
    return f"{commit}-dirty" if changed else commit or "unknown"


def read_git(*arguments: str) -> str:
    """Return the output of a Git command."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def build_table(reports: list[dict[str, Any]]) -> str:
    """Return the Markdown table of all reports."""
    lines = [
        "# Evidence",
        "",
        "Long counts, run with `make evidence` or one by one with the command in each file. CI",
        "runs a small fixed sample of the same code.",
        "",
        "| shows | count | seed | result | minutes | commit | date |",
        "|---|---:|---:|---|---:|---|---|",
    ]
    for one in reports:
        counts = {key: value for key, value in one["figures"].items() if type(value) is int}
        figures = ", ".join(f"{value:,} {key}" for key, value in counts.items())
        lines.append(
            f"| [{one['shows']}]({one['name']}.json) | {one['count']:,} | {one['seed']} "
            f"| {one['result']}{f': {figures}' if figures else ''} | {one['seconds'] / 60:.1f} "
            f"| {one['commit']} | {one['date']} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the requested entries, by default all; write their reports and the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=ENTRIES, action="append", help="one entry (default: all)")
    parser.add_argument("--count", type=int, help="how many (default: each entry's own)")
    parser.add_argument("--seed", type=int, help="default: each entry's own")
    parser.add_argument("--folder", type=Path, default=REPORTS, help="where reports are written")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in arguments.only or ENTRIES:
        entry = ENTRIES[name]
        count = entry.count if arguments.count is None else arguments.count
        seed = entry.seed if arguments.seed is None else arguments.seed
        print(f"{name}: {count:,} with seed {seed}", file=sys.stderr)
        report = run_entry(name, entry, count, seed)
        print(f"{name}: {report['result']} in {report['seconds']:,} s", file=sys.stderr)
        (arguments.folder / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
        failed += [name] if report["result"] == "failed" else []
    reports = [json.loads(file.read_text()) for file in sorted(arguments.folder.glob("*.json"))]
    (arguments.folder / "README.md").write_text(build_table(reports))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
