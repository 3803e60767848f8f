"""Small agents, their short format, and all that the rules leave open in their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_checksum_address

from benchmarks.requests.choices import list_texts
from precompiles.abi import IterationRequest, ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.react import parse_history
from precompiles.short_format.mentions import KnownWords
from precompiles.short_format.plan import Planner
from precompiles.short_format.roles import read_mode, read_tool
from precompiles.short_format.step import ShortFormat
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import attach_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from precompiles.abi import Value
    from precompiles.short_format.judge import OrderJudge

STRING, ADDRESS, BOOL, INT, UINT, STRINGS, ADDRESSES, BOOLS, INTS, UINTS = ParamType

PEOPLE = ("Bob", "Ann", "Carl")
CONTRACTS = ("USDC", "Vault", "Club")
NAMES = ("ACCOUNT", *CONTRACTS, *PEOPLE)
MAX_STEPS = 12


def address_of(name: str) -> str:
    """Return the checksummed address of a name."""
    return str(to_checksum_address(name.encode().hex().rjust(40, "7")))


BASE_PROMPT = "\n".join(
    ["ETH is the native currency.", *(f"{name} = {address_of(name)}" for name in NAMES)]
)
Call = tuple[str, tuple["Value", ...]]
"""A tool's name and its arguments."""


def make_tool(
    name: str, description: str, *parameters: tuple[ParamType, str, str], mode: str = ""
) -> Tool:
    """Return a tool with parameters `(type, name, description)`.

    Input:  `reads` or `writes` with contracts by name, which the tool says of itself; empty if it
            says nothing.
    """
    words = " ".join([*mode.split()[:1], *map(address_of, mode.split()[1:])])
    return Tool(
        address=Address(name.encode().rjust(20, b"\0")[-20:]),
        name=name,
        description=f"{description} [call:{words}]" if words else description,
        parameters=attach_types(
            [
                ParamDescription(param_type=kind, name=label, description=about)
                for kind, label, about in parameters
            ]
        ),
    )


TRANSFER = make_tool(
    "transfer", "Send tokens to an address (USDC).",
    (ADDRESS, "to", "who gets the tokens"),
    (UINT, "value", "amount of USDC (USD Coin), 6 decimals"), mode="writes USDC",
)  # fmt: skip
TRANSFER_FROM = make_tool(
    "transferFrom", "Move tokens of another account, which has approved it (USDC).",
    (ADDRESS, "from", "whose tokens they are"), (ADDRESS, "to", "who gets the tokens"),
    (UINT, "value", "amount of USDC (USD Coin), 6 decimals"), mode="writes USDC",
)  # fmt: skip
ALLOWANCE = make_tool(
    "allowance", "Read how much of an owner's tokens a spender may move (USDC).",
    (ADDRESS, "spender", ""), mode="reads USDC",
)  # fmt: skip
PAY = make_tool(
    "pay", "Sends ETH to an address.",
    (ADDRESS, "to", "who gets it"), (UINT, "value", "amount of ETH to send, 18 decimals"),
    mode="writes",
)  # fmt: skip
DEPOSIT = make_tool(
    "deposit", "Puts USDC into the vault (Vault). It approves USDC by itself.",
    (UINT, "amount", "how much, in USDC, 6 decimals"), mode="writes Vault USDC",
)  # fmt: skip
WITHDRAW = make_tool(
    "withdraw", "Takes USDC out of the vault (Vault).",
    (UINT, "amount", "how much, in USDC, 6 decimals"), mode="writes Vault",
)  # fmt: skip
NOTE = make_tool(
    "note", "Notes numbers on the board (Club).", (UINTS, "numbers", "the numbers"),
    mode="writes Club",
)  # fmt: skip
RENAME = make_tool(
    "rename", "Renames the club (Club).", (STRING, "name", "its new name"), mode="writes Club"
)  # fmt: skip
VOTE = make_tool(
    "vote", "Votes on a proposal (Club).",
    (UINT, "proposal", "the proposal's number"),
    (UINT, "support", "0 = against, 1 = for, 2 = abstain [abi:uint8]"), mode="writes Club",
)  # fmt: skip
WATER = make_tool(
    "water_need", "Computes the water need of a field.",
    (STRING, "moisture", "Soil moisture in percent (a decimal, 0.0 to 60.0)"),
    (STRING, "temperature", "Temperature in degrees (a decimal, -20.0 to 60.0)"),
    (UINT, "dry_days", "Days without rain from 0 to 60"), mode="reads",
)  # fmt: skip
BALANCE = make_tool("balanceOf", "Shows the USDC balance of ACCOUNT", mode="reads USDC")

TOOLS = (TRANSFER, PAY, DEPOSIT, WITHDRAW, NOTE, RENAME, VOTE, BALANCE)
USDC = 10**6
ETHER = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run: the calls of its tools, and its answer."""

    calls: tuple[Call, ...]
    answer: str
    has_choice: bool
    """Whether a step was left to the model."""


def make_form(
    question: str,
    tools: Sequence[Tool] = TOOLS,
    *,
    base_prompt: str = BASE_PROMPT,
    steps: Sequence[tuple[str, str]] = (),
    judge: OrderJudge | None = None,
) -> ShortFormat:
    """Return the format of the step after some steps, each a reasoning and a result."""
    request = IterationRequest(
        model_id="",
        base_prompt=base_prompt,
        tools=(),
        agent_reasoning=tuple(reasoning for reasoning, _ in steps),
        tool_results=tuple(result for _, result in steps),
        prompt=question,
    )
    book = AddressBook(base_prompt, [question, *request.tool_results])
    history = parse_history(request)
    return ShortFormat(request, history, tools, book, judge=judge)


def list_step_texts(form: ShortFormat) -> list[str]:
    """Return the texts of a step: the decided one, or all among which the model chooses."""
    return [form.decided] if form.decided else list_texts(form.grammar)


def run_agent(
    question: str,
    tools: Sequence[Tool] = TOOLS,
    *,
    results: Callable[[str], str] = lambda _: "ok",
    choose: Callable[[int], int] = lambda _: 0,
    base_prompt: str = BASE_PROMPT,
) -> Run:
    """Run an agent to its answer.

    Input:  the result of a tool by its name; the number of the text that the model chooses, of so
            many. Refusals come last.
    """
    names = {tool.address: tool.name for tool in tools}
    steps: list[tuple[str, str]] = []
    calls: list[Call] = []
    has_choice = False
    while True:
        assert len(steps) <= MAX_STEPS
        form = make_form(question, tools, base_prompt=base_prompt, steps=steps)
        texts = list_step_texts(form)
        has_choice = has_choice or not form.decided
        found = form.parse(texts[choose(len(texts))])
        if not isinstance(found, ToolUse):
            return Run(calls=tuple(calls), answer=found.answer, has_choice=has_choice)
        calls.append((names[found.tool], found.values))
        steps.append((found.agent_reasoning, results(names[found.tool])))


def list_runs(question: str, tools: Sequence[Tool] = TOOLS) -> list[Run]:
    """Return a run for each choice that the rules leave to the model."""
    found: list[Run] = []
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        path = waiting.pop()
        counts: list[int] = []

        def choose(count: int, path: tuple[int, ...] = path, counts: list[int] = counts) -> int:
            counts.append(count)
            return path[len(counts) - 1] if len(counts) <= len(path) else 0

        found.append(run_agent(question, tools, choose=choose))
        for place in range(len(path), len(counts)):
            start = path + (0,) * (place - len(path))
            waiting += [(*start, number) for number in range(1, counts[place])]
    return found


def make_vocabulary(
    tools: Sequence[Tool] = TOOLS, *, base_prompt: str = BASE_PROMPT, native: str = "ETH"
) -> KnownWords:
    """Return what an agent knows."""
    book = AddressBook(base_prompt, [])
    roles = [read_tool(index, tool, book, native) for index, tool in enumerate(tools)]
    return KnownWords([handle for handle, _ in book.handles], roles, native, {})


def make_planner(question: str, tools: Sequence[Tool] = TOOLS) -> Planner:
    """Return the plan of a request."""
    book = AddressBook(BASE_PROMPT, [question])
    roles = [read_tool(index, tool, book, "ETH") for index, tool in enumerate(tools)]
    targets = {f"0x{target.hex()}" for tool in tools for target in read_mode(tool)[2]}
    called = frozenset(handle for handle, address in book.handles if address.lower() in targets)
    return Planner(book.intern(question), roles, make_vocabulary(tools), called)
