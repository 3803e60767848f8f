"""What an agent knows of real contracts, and whether its calls are the right ones.

(a) encoding: random values of every parameter of every function of 34 contracts;
(b) access: who may call functions, against a hand-written table, beside evmole and whatsabi;
(c) approvals: allowances that calls need, against the same table;
(d) scenarios: five requests of ten wordings each, by the default model, a random choice, and the
    ideal.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import CONTENDERS, Settings, contender
from benchmarks.contract_access import (
    guess_with_evmole,
    guess_with_whatsabi,
    score_access,
    score_approvals,
    score_interfaces,
)
from benchmarks.contract_adapters import (
    analyse_contracts,
    deploy_text_encoder,
    open_chain,
)
from benchmarks.contract_agent import deploy_stage
from benchmarks.contract_encoding import (
    count_functions,
    count_text_encodings,
    list_functions,
)
from benchmarks.contract_scenarios import run_scenarios
from benchmarks.contract_truth import read_truth
from benchmarks.contract_wordings import read_wordings
from benchmarks.contract_world import ContractWorld
from benchmarks.evidence import describe_commit
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import AgentsError
from pyevm_agents.model_registry.registry import ModelChoice, open_registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.contract_access import InterfaceScore
    from benchmarks.contract_encoding import EncodingCount, FunctionCount
    from benchmarks.contract_scenarios import RequestRun
    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence

PARTS = ("encoding", "access", "approvals", "scenarios")
COUNT, CHAIN_COUNT = 10_000, 20
"""Values of each parameter here, and of each type in Solidity."""

NATIVE_SYMBOL = "BNB"
ACCOUNT = Address(b"\xac" * 20)
"""The account of access and approvals: nobody has its key."""

SCENARIO_CONTENDERS = ("model", "random", "right")
"""Of `CONTENDERS`."""


def measure_encoding(
    options: argparse.Namespace, heartbeat: Heartbeat, console: Console
) -> dict[str, Any]:
    """Count the values that are encoded right: of parameters, and of types in Solidity."""
    functions = list_functions()
    heartbeat.begin_part("functions", len(functions))
    counts: list[FunctionCount] = []
    for one in count_functions(functions, options.count, options.seed, jobs=options.jobs):
        counts.append(one)
        heartbeat.finish_step(f"{one.contract}.{one.signature}")
    encode_texts = deploy_text_encoder(LocalAccount(open_chain()))
    texts = [*count_text_encodings(encode_texts, options.chain_count, options.seed)]
    table = Table("", "parameters", "values", "equal", title="encoding")
    for name, attributes in (
        (f"parameters of {len(counts)} functions", ("parameters", "values", "equal")),
        ("whole calldata", ("parameters", "calls", "calls_equal")),
    ):
        table.add_row(name, *(f"{_sum(counts, each):,}" for each in attributes))
    totals = (f"{_sum(texts, each):,}" for each in ("parameters", "values", "equal"))
    table.add_row(f"{len(texts)} types in Solidity", *totals)
    console.print(table)
    failures = [
        f"{one.contract}.{one.signature}: {text}" for one in counts for text in one.failures
    ]
    failures += [f"{one.abi_type} in Solidity: {text}" for one in texts for text in one.failures]
    _print_list(console, "failures", failures)
    return _serialize_encoding(options, counts, texts)


def _sum(counts: Sequence[FunctionCount | EncodingCount], attribute: str) -> int:
    return sum(getattr(one, attribute) for one in counts)


def _serialize_encoding(
    options: argparse.Namespace, counts: Sequence[FunctionCount], texts: Sequence[EncodingCount]
) -> dict[str, Any]:
    contracts: dict[str, dict[str, Any]] = {}
    for one in counts:
        row: dict[str, Any] = {
            "parameters": one.parameters,
            "values": one.values,
            "equal": one.equal,
            "calls": one.calls,
            "callsEqual": one.calls_equal,
        }
        if one.failures:
            row["failures"] = [*one.failures]
        contracts.setdefault(one.contract, {})[one.signature] = row
    return {
        "valuesOfEachParameter": options.count,
        "seed": options.seed,
        "contracts": len(contracts),
        "functions": len(counts),
        **{name: _sum(counts, name) for name in ("parameters", "values", "equal", "calls")},
        "callsEqual": _sum(counts, "calls_equal"),
        "byFunction": contracts,
        "solidity": [asdict(one) for one in texts],
    }


def analyse_world(
    options: argparse.Namespace, heartbeat: Heartbeat
) -> tuple[Chain, ContractWorld, dict[str, ContractIntelligence]]:
    """Build the world of the truth table, and analyse its contracts."""
    chain = open_chain()
    world = ContractWorld(LocalAccount(chain), ACCOUNT, native_symbol=NATIVE_SYMBOL)
    names = options.contracts or [*read_truth()]
    heartbeat.begin_part("contracts", len(names))
    found = {}
    for name, contract in analyse_contracts(chain, world, names):
        found[name] = contract
        heartbeat.finish_step(name)
    return chain, world, found


def measure_access(
    chain: Chain,
    world: ContractWorld,
    found: Mapping[str, ContractIntelligence],
    whatsabi: Path | None,
    console: Console,
) -> dict[str, Any]:
    """Compare access with the truth, and what tools read in the code."""
    truth = {name: read_truth()[name] for name in found}
    score = score_access(truth, found, world)
    table = Table("access", "", title="access: ours, by execution")
    for name, value in (
        ("functions", score.functions),
        ("closed", score.closed),
        ("precision", f"{score.precision:.2%}"),
        ("recall", f"{score.recall:.2%}"),
        ("unknown", score.unknown),
        ("stopped, noticed", f"{score.stopped}, {score.noticed}"),
        ("callers named, of closed", f"{score.named} of {score.callers}"),
        ("callers misnamed", len(score.misnamed)),
    ):
        table.add_row(name, str(value))
    console.print(table)
    _print_list(console, "mistakes", score.mistakes)
    _print_list(console, "callers misnamed", score.misnamed)
    codes = {name: chain.code(world.address(name)) for name in found}
    interfaces = {"evmole": score_interfaces(truth, guess_with_evmole(codes))}
    if whatsabi is not None:
        interfaces["whatsabi"] = score_interfaces(truth, guess_with_whatsabi(codes, whatsabi))
    console.print(_list_interfaces(interfaces))
    return {
        "ours": {**asdict(score), "precision": score.precision, "recall": score.recall},
        **{name: asdict(one) for name, one in interfaces.items()},
    }


def _list_interfaces(interfaces: Mapping[str, InterfaceScore]) -> Table:
    table = Table(
        "from the code alone", "functions found", "read or write right", "payable right", "access",
        title="tools that do not execute",
    )  # fmt: skip
    for name, one in interfaces.items():
        table.add_row(
            name,
            f"{one.found} of {one.functions}",
            f"{one.reads_right} of {one.found}",
            f"{one.payable_right} of {one.found}",
            "no answer",
        )
    return table


def measure_approvals(
    world: ContractWorld, found: Mapping[str, ContractIntelligence], console: Console
) -> dict[str, Any]:
    """Compare approvals with the truth."""
    score = score_approvals({name: read_truth()[name] for name in found}, found, world)
    console.print(f"approvals: {score.found} of {score.true} found")
    _print_list(console, "approvals not found", score.missing)
    _print_list(console, "approvals that the table does not have", score.further)
    return asdict(score)


def measure_scenarios(
    options: argparse.Namespace, heartbeat: Heartbeat, console: Console
) -> dict[str, Any]:
    """Run the fifty wordings by each contender."""
    settings = Settings(
        model=options.model, adapter=None, threads=options.threads, seed=options.seed
    )
    wordings = {
        name: texts[: options.wordings] for name, texts in read_wordings(NATIVE_SYMBOL).items()
    }
    total = sum(map(len, wordings.values()))
    report: dict[str, list[RequestRun]] = {}
    for name in options.contenders:
        with contender(name, settings) as it:
            stage = deploy_stage(it.chain, NATIVE_SYMBOL)
            heartbeat.begin_part(name, total)
            done = report.setdefault(name, [])
            for run in run_scenarios(it, stage, wordings):
                done.append(run)
                heartbeat.finish_step()
    console.print(_list_scenarios(report, wordings))
    for name, done in report.items():
        failed = [f"{run.question}: {_describe(run)}" for run in done if not run.is_right]
        _print_list(console, f"failures, {name}", failed)
    return {
        name: [
            {
                "scenario": run.scenario,
                "question": run.question,
                "isRight": run.is_right,
                "answer": run.answer,
                "failure": run.failure,
                "uses": run.uses,
                "encoded": run.encoded,
                "calls": [_serialize_call(call) for call in run.calls],
                "expected": [_serialize_call(call) for call in run.expected],
            }
            for run in done
        ]
        for name, done in report.items()
    }


def _list_scenarios(
    report: Mapping[str, Sequence[RequestRun]], wordings: Mapping[str, Sequence[str]]
) -> Table:
    table = Table("scenario", *report, title="wordings whose run is right")
    for scenario, texts in wordings.items():
        right = [
            sum(run.is_right for run in runs if run.scenario == scenario)
            for runs in report.values()
        ]
        table.add_row(scenario, *(f"{count} of {len(texts)}" for count in right))
    every = [(sum(run.is_right for run in runs), len(runs)) for runs in report.values()]
    table.add_row("all", *(f"{right} of {total}" for right, total in every))
    firsts = {texts[0] for texts in wordings.values()}
    table.add_row(
        "the design's own",
        *(
            str(sum(run.is_right for run in runs if run.question in firsts))
            for runs in report.values()
        ),
    )
    encoded = [Counter(uses=0, encoded=0) for _ in report]
    for count, runs in zip(encoded, report.values(), strict=True):
        for run in runs:
            count.update(uses=run.uses, encoded=run.encoded)
    table.add_row("calls encoded", *(f"{one['encoded']} of {one['uses']}" for one in encoded))
    return table


def _describe(run: RequestRun) -> str:
    if run.failure:
        return run.failure
    calls = ", ".join(f"{call.contract} {call.data[:4].hex()}" for call in run.calls)
    return f"calls {calls or 'nothing'}; {run.answer}"


def _serialize_call(call: Any) -> dict[str, Any]:  # noqa: ANN401 - an ExpectedCall
    return {
        "contract": call.contract,
        "data": "0x" + call.data.hex(),
        "valueWei": str(call.value_wei),
    }


def _print_list(console: Console, title: str, lines: Iterable[str]) -> None:
    for index, line in enumerate(lines):
        if index == 0:
            console.print(f"{title}:")
        console.print(f"  {line}", highlight=False, markup=False)


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="parts to measure")
    parser.add_argument("--count", type=int, default=COUNT, help="values of each parameter")
    parser.add_argument(
        "--chain-count", type=int, default=CHAIN_COUNT, help="values of each type in Solidity"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that encode")
    parser.add_argument("--contracts", nargs="+", choices=[*read_truth()], help="of the table")
    parser.add_argument(
        "--whatsabi", type=Path, metavar="NODE_MODULES", help="has @shazow/whatsabi; else left out"
    )
    parser.add_argument(
        "--contenders", nargs="+", choices=[*CONTENDERS], default=SCENARIO_CONTENDERS
    )
    parser.add_argument("--wordings", type=int, default=10, help="of each scenario")
    parser.add_argument(
        "--model", type=open_registry().resolve, default=ModelChoice(), help="a name or a file"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the parts as JSON; others that it has stay"
    )
    return parser.parse_args(arguments)


def format_command(options: argparse.Namespace, arguments: Sequence[str]) -> str:
    """Return the command line, without paths of the machine."""
    names = {str(options.whatsabi): "NODE_MODULES", str(options.json): "FILE"}
    return " ".join(names.get(word, word) for word in arguments)


def write_report(file: Path, report: Mapping[str, Any], run: Mapping[str, str]) -> None:
    """Write the parts that were measured, with their run. Other parts of the file stay."""
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    runs = {**earlier.pop("runs", {}), **dict.fromkeys(report, run)}
    form = {"runs": runs, **earlier, **report}
    file.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Measure the parts and print their tables."""
    options = read_options()
    console = Console()
    run = {"command": format_command(options, sys.argv[1:]), "commit": describe_commit()}
    report: dict[str, Any] = {}
    try:
        with Heartbeat("benchmarks.contract_intelligence") as heartbeat:
            if "encoding" in options.only:
                report["encoding"] = measure_encoding(options, heartbeat, console)
            if {"access", "approvals"} & {*options.only}:
                chain, world, found = analyse_world(options, heartbeat)
                if "access" in options.only:
                    report["access"] = measure_access(
                        chain, world, found, options.whatsabi, console
                    )
                if "approvals" in options.only:
                    report["approvals"] = measure_approvals(world, found, console)
            if "scenarios" in options.only:
                report["scenarios"] = measure_scenarios(options, heartbeat, console)
    except AgentsError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json is not None:
        write_report(options.json, report, run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
