"""The report of the swap demo: five requests beside the expected calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from precompiles.address_handles import ACCOUNT_HANDLE
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.models import answer, use
from pyevm_agents.reports.document import (
    Chapter,
    Entry,
    EntryList,
    Headline,
    Tone,
    make_text_columns,
)
from pyevm_agents.scenarios.report import ScenarioReport, stringify_integers
from pyevm_agents.scenarios.report_parts import (
    build_table,
    iter_action_entries,
    iter_difference_entries,
    iter_transaction_entries,
    make_answer_entry,
)
from pyevm_agents.scenarios.swap.agent import find_refusal
from pyevm_agents.scenarios.swap.market import NATIVE_GIVEN, TOKENS_GIVEN
from pyevm_agents.scenarios.swap.requests import REQUESTS, describe_call
from pyevm_agents.scenarios.texts import format_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.reports.document import ReportTable
    from pyevm_agents.scenarios.setting import ScenarioSetting
    from pyevm_agents.scenarios.swap.demo import SwapDemo, SwapRun
    from pyevm_agents.scenarios.swap.requests import ExpectedCall

SUMMARY = (
    "The tools of an agent are made from an analysis of Uniswap V2's contracts. Five requests ask "
    "for a balance, a quote, a swap, a function that the agent's account cannot call, and a swap "
    "back with the approval that it needs."
)

DONE = answer("Done.")


def run_swap(setting: ScenarioSetting, demo: SwapDemo) -> ScenarioReport:
    """Send the requests to a deployed agent; return the report.

    Raises: EngineFault: the model failed.
    """
    market, tools = _list_market(demo), _build_tool_table(demo)
    setting.show(market)
    setting.show(tools)
    runs, lists = [], []
    for number, name in enumerate(REQUESTS, start=1):
        with setting.follow_ideal(demo.chain, list_ideal_steps(demo, name)):
            run = demo.run(name)
        runs.append(run)
        entries = tuple(_iter_entries(run, demo))
        lists.append(EntryList(title=f"{number}  {run.instruction}", entries=entries))
        setting.show(lists[-1])
    setting.keep(demo.chain)
    ideal = sum(run.is_ideal for run in runs)
    return ScenarioReport(
        scenario="swap",
        title="Requests to an agent for Uniswap V2",
        summary=SUMMARY,
        model=setting.model,
        is_scripted=setting.is_scripted,
        headlines=(
            Headline(title="tools", value=f"{len(demo.tools)}", notes=("made by the analysis",)),
            Headline(title="gas of all requests", value=f"{sum(run.gas_used for run in runs):,}"),
        ),
        transactions=tuple(runs),
        chapters=(
            Chapter(name="market", title="Market", parts=(market, tools)),
            Chapter(name="requests", title="Requests", parts=tuple(lists)),
        ),
        count=len(runs),
        ideal_count=ideal,
        differences=tuple(f"{run.instruction} {text}" for run in runs for text in run.differences),
        seconds=setting.read_seconds(),
        details={
            "chainId": demo.chain.config.chain_id,
            "nativeSymbol": demo.market.native_symbol,
            "tokenSymbol": demo.market.token_symbol,
            "unit": stringify_integers(dict(demo.unit)),
            "agent": to_checksum_address(demo.agent.address),
            "account": to_checksum_address(demo.agent.account),
            "tools": _serialize_tools(demo),
            "requests": [_serialize_run(run, demo) for run in runs],
        },
    )


def list_ideal_steps(demo: SwapDemo, name: str) -> list[Step]:
    """Return the steps of a model that makes the calls of a request of `REQUESTS`."""
    match name:
        case "balance":
            return [use(find_tool(demo, "balanceOf")), DONE]
        case "quote":
            return [use(find_tool(demo, "getAmountsOut"), amountIn=NATIVE_GIVEN), DONE]
        case "swap":
            return [use(find_tool(demo, "swapExactETHForTokens"), value=NATIVE_GIVEN), DONE]
        case "swap-back":
            given = TOKENS_GIVEN * demo.market.token_unit
            tool = find_tool(demo, "swapExactTokensForETH", sells=True)
            return [use(tool, amountIn=given), DONE]
        case _:
            return [answer(find_refusal(demo.agent))]


def find_tool(demo: SwapDemo, function: str, *, sells: bool = False) -> str:
    """Return the name of a function's tool, of two routes the one that sells the token.

    Raises: LookupError: no tool calls the function.
    """
    path = demo.market.selling_path if sells else demo.market.buying_path
    wanted = tuple(to_checksum_address(place) for place in path)
    for _, tool in demo.tools:
        paths = [each.value for each in tool.spec.arguments if each.name == "path"]
        if tool.function.name == function and (not paths or paths == [wanted]):
            return tool.spec.name
    raise LookupError(f"function {function}: must be of a tool; there is none")


def _list_market(demo: SwapDemo) -> EntryList:
    metadata = get_chain_metadata(demo.chain.config.chain_id)
    name = f", {metadata.name}" if metadata.is_known else ""
    chain = f"{metadata.chain_id}{name}, native currency {demo.market.native_symbol}"
    return EntryList(title="Market", entries=(Entry(label="Chain", text=chain),))


def _build_tool_table(demo: SwapDemo) -> ReportTable:
    return build_table(
        "Tools",
        make_text_columns("Tool", "Contract", "Asks for"),
        (
            (
                tool.spec.name,
                tool.contract,
                ", ".join(name for _, name, _ in tool.spec.model_parameters) or "nothing",
            )
            for _, tool in demo.tools
        ),
    )


def _iter_entries(run: SwapRun, demo: SwapDemo) -> Iterator[Entry]:
    for step in run.steps:
        yield from iter_action_entries(step, demo.names, demo.unit)
    if run.answer is not None:
        yield make_answer_entry(run.answer, demo.names)
    elif run.failure is not None:
        yield Entry(label="Reverted", text=run.failure, tone=Tone.BAD)
    yield from iter_transaction_entries(run)
    yield Entry(label="Balances", text=_format_changes(run, demo.unit))
    if run.is_ideal:
        calls = [_describe(demo, call) for call in run.calls]
        for index, text in enumerate(calls or ["no call, and the reason"]):
            yield Entry(label="" if index else "As asked", text=text, tone=Tone.GOOD)
    yield from iter_difference_entries(run.differences)


def _describe(demo: SwapDemo, call: ExpectedCall) -> str:
    names = {**demo.market.names, demo.agent.account: ACCOUNT_HANDLE}
    return describe_call(demo.market, names, call)


def _format_changes(run: SwapRun, unit: Mapping[str, int]) -> str:
    parts = []
    for symbol, old in run.before[ACCOUNT_HANDLE].items():
        new = run.after[ACCOUNT_HANDLE][symbol]
        change = f" ({format_tokens(new - old, unit[symbol], sign=True)})" if new != old else ""
        parts.append(f"{format_tokens(new, unit[symbol])} {symbol}{change}")
    return ", ".join(parts)


def _serialize_tools(demo: SwapDemo) -> list[dict[str, object]]:
    return [
        {
            "address": to_checksum_address(address),
            "name": tool.spec.name,
            "description": tool.spec.description,
            "contract": tool.contract,
            "target": tool.spec.target,
            "signature": tool.function.signature,
            "parameters": [name for _, name, _ in tool.spec.model_parameters],
        }
        for address, tool in demo.tools
    ]


def _serialize_run(run: SwapRun, demo: SwapDemo) -> dict[str, object]:
    return {
        "hash": "0x" + run.transaction_hash.hex(),
        "instruction": run.instruction,
        "answer": run.answer,
        "calls": [_serialize_call(demo, call) for call in run.calls],
        "expectedCalls": [_serialize_call(demo, call) for call in run.expected],
        "endedAsIdeal": run.is_ideal,
        "balances": stringify_integers({"before": run.before, "after": run.after}),
    }


def _serialize_call(demo: SwapDemo, call: ExpectedCall) -> dict[str, object]:
    return {
        "contract": call.contract,
        "text": _describe(demo, call),
        "data": "0x" + call.data.hex(),
        "valueWei": str(call.value_wei),
    }
