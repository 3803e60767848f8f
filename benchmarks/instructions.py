"""How many instructions does the demo's wallet agent carry out right, on a real model?

    uv run python -m benchmarks.instructions [--model FILE] [--set NAME] [--json FILE]

Each instruction is a transaction of its own on the demo's chain, reverted afterwards. A right run
uses the needed tools with the right token and amount, does nothing else, then answers; a requested
balance is in the answer. The prompt was chosen on `seen`; `held-out` was run once, after that
choice; `two steps` tests a model that has seen only single steps.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models import LlamaModel
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from pyevm_agents.scenarios.wallet import DemoRun

Wanted = list[tuple[str, str, int | None]]

D, W, B = "DeployTool", "WithdrawTool", "ViewBalanceTool"

SETS: dict[str, list[tuple[str, Wanted]]] = {
    "seen": [
        ("Deposit 10 USDC into the pool", [(D, "USDC", 10)]),
        ("Deposit 25 DAI", [(D, "DAI", 25)]),
        ("Please deposit 120 USDC into the liquidity pool.", [(D, "USDC", 120)]),
        ("I want to deposit 55 DAI", [(D, "DAI", 55)]),
        ("Add 3 USDC to the pool", [(D, "USDC", 3)]),
        ("Deploy 75 DAI into the pool", [(D, "DAI", 75)]),
        ("Withdraw 20 DAI", [(W, "DAI", 20)]),
        ("Withdraw 15 USDC from the pool", [(W, "USDC", 15)]),
        ("Please withdraw 300 DAI.", [(W, "DAI", 300)]),
        ("I would like to withdraw 8 USDC from the pool", [(W, "USDC", 8)]),
        ("Remove 60 DAI from the pool", [(W, "DAI", 60)]),
        ("Can you withdraw 410 USDC for me?", [(W, "USDC", 410)]),
        ("What is my USDC balance?", [(B, "USDC", None)]),
        ("Show my DAI balance in the pool", [(B, "DAI", None)]),
        ("Check the balance of USDC", [(B, "USDC", None)]),
        ("Please tell me my DAI balance.", [(B, "DAI", None)]),
        ("Send 35 USDC to the pool", [(D, "USDC", 35)]),
        ("Hi! Please deposit 2 DAI", [(D, "DAI", 2)]),
        ("Store 31 USDC in the pool", [(D, "USDC", 31)]),
        ("Now deposit 480 USDC", [(D, "USDC", 480)]),
        ("Increase my deposit by 6 DAI", [(D, "DAI", 6)]),
        ("Deposit 19 {DAI} into the pool", [(D, "DAI", 19)]),
        ("Today I want you to deposit 88 DAI for me", [(D, "DAI", 88)]),
        ("Return 14 DAI to my wallet", [(W, "DAI", 14)]),
        ("Pull 90 USDC out of the pool", [(W, "USDC", 90)]),
        ("Withdraw 7 {USDC}", [(W, "USDC", 7)]),
        ("Now withdraw 111 DAI from the pool", [(W, "DAI", 111)]),
        ("Hello, I want to withdraw 44 USDC", [(W, "USDC", 44)]),
        ("Send 52 DAI from the pool back to me", [(W, "DAI", 52)]),
        ("Remove 3 USDC", [(W, "USDC", 3)]),
        ("View DAI balance", [(B, "DAI", None)]),
        ("Report the balance of USDC", [(B, "USDC", None)]),
        ("I'd like to see my DAI balance", [(B, "DAI", None)]),
        ("What's the USDC balance in the pool?", [(B, "USDC", None)]),
        ("Show {USDC}", [(B, "USDC", None)]),
        ("Hi, what is my balance of DAI today?", [(B, "DAI", None)]),
    ],
    "held-out": [
        ("Put 137 DAI into the pool", [(D, "DAI", 137)]),
        ("Could you please deposit 4 USDC for me? Thank you!", [(D, "USDC", 4)]),
        ("deposit 250 dai", [(D, "DAI", 250)]),
        ("Move 18 USDC into the liquidity pool", [(D, "USDC", 18)]),
        ("I was paid today, so deposit 90 DAI in the pool, please.", [(D, "DAI", 90)]),
        ("Deposit 33 {USDC}", [(D, "USDC", 33)]),
        ("Move 500 DAI from my wallet to the pool", [(D, "DAI", 500)]),
        ("I would like you to put 7 USDC in the pool.", [(D, "USDC", 7)]),
        ("USDC: deposit 61", [(D, "USDC", 61)]),
        ("Invest 45 DAI in the pool", [(D, "DAI", 45)]),
        ("Take 12 USDC out of the pool", [(W, "USDC", 12)]),
        ("Get back 137 DAI from the pool", [(W, "DAI", 137)]),
        ("Kindly withdraw 1 DAI", [(W, "DAI", 1)]),
        ("withdraw 499 usdc", [(W, "USDC", 499)]),
        ("I need some cash for the weekend. Withdraw 70 USDC, please.", [(W, "USDC", 70)]),
        ("Withdraw 26 {DAI} from the pool", [(W, "DAI", 26)]),
        ("Take out 5 DAI", [(W, "DAI", 5)]),
        ("Please get my 84 USDC back from the pool.", [(W, "USDC", 84)]),
        ("Move 40 DAI from the pool to my wallet", [(W, "DAI", 40)]),
        ("My rent is due and I must withdraw 230 USDC today", [(W, "USDC", 230)]),
        ("How much USDC do I have in the pool?", [(B, "USDC", None)]),
        ("How much DAI is in the pool?", [(B, "DAI", None)]),
        ("What do I have in DAI?", [(B, "DAI", None)]),
        ("USDC balance", [(B, "USDC", None)]),
        ("What is the balance of {USDC}?", [(B, "USDC", None)]),
        ("Could you show me how many DAI I have?", [(B, "DAI", None)]),
        ("I forgot what I put in last year. What is my USDC balance?", [(B, "USDC", None)]),
        ("balance of dai?", [(B, "DAI", None)]),
        ("Let me see my USDC in the pool", [(B, "USDC", None)]),
        ("Please check my DAI balance, thanks.", [(B, "DAI", None)]),
    ],
    "two steps": [
        ("Withdraw 5 DAI and then deposit 7 USDC", [(W, "DAI", 5), (D, "USDC", 7)]),
        ("Deposit 30 DAI, then tell me the balance", [(D, "DAI", 30), (B, "DAI", None)]),
        ("Deposit 12 USDC and withdraw 9 DAI", [(D, "USDC", 12), (W, "DAI", 9)]),
        ("Show my USDC balance, then withdraw 50 USDC", [(B, "USDC", None), (W, "USDC", 50)]),
        ("Withdraw 16 USDC, then deposit 16 DAI", [(W, "USDC", 16), (D, "DAI", 16)]),
        ("Tell me my USDC balance and my DAI balance", [(B, "USDC", None), (B, "DAI", None)]),
    ],
}

BALANCES = {"USDC": 510, "DAI": 485}
"""Whole tokens in the pool for a balance's request: unlike those of any example."""


def main() -> None:
    """Run the sets and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a GGUF file; the default model if none")
    parser.add_argument("--adapter", type=Path, help="a LoRA adapter; the model's own if none")
    parser.add_argument("--set", choices=[*SETS], help="one set alone")
    parser.add_argument("--threads", type=int, help="threads of the engine")
    parser.add_argument("--json", type=Path, help="write every run to this file")
    options = parser.parse_args()
    chosen = [options.set] if options.set else [*SETS]
    console = Console()
    table = Table("instructions", "kind", "first tool", "its arguments", "stopped", "all right")
    rows = []
    with (
        LlamaModel(options.model, adapter=options.adapter, threads=options.threads) as model,
        Heartbeat("benchmarks.instructions") as heartbeat,
    ):
        wallet = WalletDemo(create_development_chain(model, model.profile_facts))
        set_balances(wallet)
        for name in chosen:
            results = []
            for instruction, wanted in heartbeat.track(SETS[name], name):
                results.append((instruction, wanted, *attempt(wallet, instruction, wanted)))
            add_rows(table, name, results)
            for instruction, _, marks, told in results:
                rows.append({"set": name, "instruction": instruction, **marks, "told": told})
    console.print(table)
    for row in rows:
        if not row["right"]:
            console.print(f"{row['set']}: {row['instruction']!r} -> {row['told']}", markup=False)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


def set_balances(wallet: WalletDemo) -> None:
    """Move tokens until the pool holds `BALANCES`."""
    for symbol, whole in BALANCES.items():
        unit = wallet.unit[symbol]
        change = whole * unit - wallet.read_balances()["pool"][symbol]
        wallet.move(symbol, change)


def attempt(wallet: WalletDemo, instruction: str, wanted: Wanted) -> tuple[dict[str, bool], str]:
    """Run one instruction, undo it, and mark it."""
    chain = wallet.chain
    before = chain.snapshot()
    run = wallet.run(instruction)
    chain.revert(before)
    return marks(wallet, run, wanted), describe_run(wallet, run)


def marks(wallet: WalletDemo, run: DemoRun, wanted: Wanted) -> dict[str, bool]:
    """Compare a run with the wanted actions."""
    done = [
        parse_action(wallet, step.action or "", step.action_input or "{}")
        for step in run.steps
        if step.action
    ]
    tool, token, amount = wanted[0]
    first = done[0] if done else ("", "", None)
    answer = run.answer or ""
    for address, symbol in wallet.names.items():
        answer = answer.replace(address, symbol)
    names_balance = all(
        re.search(rf"(?<!\d){BALANCES[symbol]}(?!\d)", answer)
        for wanted_tool, symbol, _ in wanted
        if wanted_tool == B and len(wanted) == 1
    )
    is_honest = not re.search("WETH|LINK", answer)
    return {
        "tool": first[0] == tool,
        "arguments": first[1] == token and (first[0] != tool or first[2] == amount),
        "stopped": run.answer is not None and len(done) == len(wanted),
        "right": run.is_success and done == wanted and bool(names_balance) and is_honest,
    }


def parse_action(wallet: WalletDemo, tool: str, arguments: str) -> tuple[str, str, int | None]:
    """Return an action as (tool, token's symbol, amount)."""
    given = json.loads(arguments)
    return tool, wallet.names.get(given.get("asset", ""), ""), given.get("amount")


def describe_run(wallet: WalletDemo, run: DemoRun) -> str:
    """Describe a run in a line."""
    parts = [
        f"{step.action} {step.action_input}" if step.action else f"answer {step.answer!r}"
        for step in run.steps
    ]
    text = "; ".join(parts) + ("" if run.failure is None else f"; {run.failure}")
    for address, symbol in wallet.names.items():
        text = text.replace(address, symbol)
    return text


def add_rows(
    table: Table, name: str, results: list[tuple[str, Wanted, dict[str, bool], str]]
) -> None:
    """Add a row for each kind of instruction, and one for all."""
    kinds = {"deposit": D, "withdraw": W, "balance": B}
    groups = [
        (kind, [marks for _, wanted, marks, _ in results if wanted[0][0] == tool])
        for kind, tool in kinds.items()
    ]
    for kind, group in [*groups, ("all", [marks for _, _, marks, _ in results])]:
        counts = [
            f"{sum(m[key] for m in group)} of {len(group)}"
            for key in ("tool", "arguments", "stopped", "right")
        ]
        table.add_row(name, kind, *counts, end_section=kind == "all")


if __name__ == "__main__":
    main()
