"""A wallet run of four steps with the default model, for timing inference.

The default model stops after one action with the demo's own examples. One worked example with three
actions makes it do three, and then answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import ComputationAPI

    from pyevm_agents.chain import CallResult, Chain

INSTRUCTION = "Deposit 10 USDC, withdraw 20 DAI and show the balance of USDC"

OTHER_INSTRUCTION = "Deposit 40 DAI, withdraw 30 USDC and show the balance of DAI"

STEPS = 4

EXAMPLES = """Examples:

Question: Deposit 5 WETH, withdraw 9 LINK and show the balance of WETH
Thought: First, use DeployTool.
Action: DeployTool
Action Input: {"asset": "WETH", "amount": 5}
Observation: Successfully deployed
Thought: Next, use WithdrawTool.
Action: WithdrawTool
Action Input: {"asset": "LINK", "amount": 9}
Observation: Successfully withdrawn
Thought: Last, use ViewBalanceTool.
Action: ViewBalanceTool
Action Input: {"asset": "WETH"}
Observation: The balance is: 72
Thought: All three are done.
Final Answer: Deposited 5 WETH, withdrew 9 LINK, the balance is 72 WETH."""

GBNF_TERMINALS = {
    "THOUGHT": r"[^ \n] [^\n]*",
    "ANSWER": r"[^ \n] [^\n]*",
    "STRING": r'"\"" ([^"\\\n] | "\\" ["\\nrt])* "\""',
    "BOOL": '"true" | "false"',
    "UINT": "[0-9]+",
    "INT": '"-"? [0-9]+',
}
"""A grammar as one would write it by hand: without our limits, which are slow in llama.cpp."""


def four_step_wallet(chain: Chain) -> WalletDemo:
    """Deploy the wallet whose agent has an example of three actions."""
    return WalletDemo(chain, examples=EXAMPLES)


def try_out(wallet: WalletDemo, instruction: str) -> CallResult:
    """Execute an instruction as its transaction would, and undo it.

    Raises: VMError: it reverts.
    """
    data = load_artifact("WalletAgent").encode_call("instruct", instruction)
    result = wallet.chain.call(Call(to=wallet.agent, sender=DEVELOPMENT_ADDRESS, data=data))
    if result.error is not None:
        raise result.error
    return result


def executor_calls(computation: ComputationAPI) -> Iterator[Call]:
    """Yield each call of the precompile in a computation, as a call of its own."""
    for child in computation.children:
        if child.msg.code_address == EXECUTOR_ADDRESS:
            data = bytes(child.msg.data)
            yield Call(to=EXECUTOR_ADDRESS, sender=child.msg.sender, data=data)
        yield from executor_calls(child)


def as_gbnf(grammar: str) -> str:
    """Return a step's grammar in llama.cpp's own notation."""
    rules = []
    for line in grammar.splitlines():
        name, _, body = line.partition(": ")
        if name in GBNF_TERMINALS:
            rules.append(f"{_gbnf_name(name)} ::= {GBNF_TERMINALS[name]}")
            continue
        words = re.split(r'("(?:[^"\\]|\\.)*")', body)
        words[::2] = [
            re.sub(r"[A-Za-z]\w*", lambda it: _gbnf_name(it[0]), word) for word in words[::2]
        ]
        rules.append(f"{_gbnf_name(name)} ::= {''.join(words)}")
    return "\n".join(rules) + "\n"


def _gbnf_name(name: str) -> str:
    """Return a rule's name in GBNF, which starts at `root` and has no terminals of its own."""
    if name in GBNF_TERMINALS:
        return f"{name.lower()}-text"
    return "root" if name == "start" else name
