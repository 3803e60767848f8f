"""`pyevm-agents tools deploy`: an agent whose tools are functions of any contracts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from eth._utils.address import generate_contract_address
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address
from rich.markup import escape
from rich.table import Table

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.cli.known_abis import learn_abis
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE, DURATION_TYPE
from pyevm_agents.cli.oracle.agent_options import (
    add_oracle_settings,
    build_model_option,
    iterations_option,
)
from pyevm_agents.cli.oracle.ask import warn_without_workers
from pyevm_agents.cli.output import err, json_option, out, print_json, print_table
from pyevm_agents.cli.tools.handle_options import add_handle_options
from pyevm_agents.cli.tools.inspect import ContractOptions, add_contract_options, open_inspection
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.contract_intelligence.agent_deployment import (
    CALLBACK_GAS,
    AgentSettings,
    deploy_account,
    deploy_agent,
    deploy_factory,
    deploy_tools,
)
from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.serialization import serialize_value
from pyevm_agents.contract_intelligence.tool_limits import MAX_BASIS_POINTS, MAX_SECONDS
from pyevm_agents.contract_intelligence.tool_plan import LeftOutReason, PlanOptions, plan_agent
from pyevm_agents.contract_intelligence.tool_spec import MAX_WORD
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from pyevm_agents.display import format_amount, pluralize
from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.oracle.contracts import open_oracle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.cli.options.sent_transactions import Announced
    from pyevm_agents.cli.tools.handle_options import HandleChoices
    from pyevm_agents.contract_intelligence.agent_deployment import OracleSettings
    from pyevm_agents.contract_intelligence.tool_plan import AgentPlan, PlannedTool
    from pyevm_agents.contract_intelligence.tool_spec import Argument

CHARACTERS_PER_TOKEN = 3
"""Characters of a token of a prompt with names and addresses, at the least."""

FULL_PERCENT = 75
"""A prompt above this part of the context leaves little room for steps."""

BASIS_POINTS_PERCENT = 100

MAX_LEFT_OUT = 24
"""Functions that are no tools, of which a line is printed."""

EXAMPLES = """\b
Examples:
  pyevm-agents tools deploy --address ROUTER --address TOKEN --abi Router.json --keystore me.json
  pyevm-agents tools deploy --address TOKEN --function balanceOf --function transfer --unlocked ME
  pyevm-agents tools deploy --address TOKEN --handle Bob=0x… --handle carol.eth --keystore me.json
  pyevm-agents tools deploy --address TOKEN --oracle ORACLE --keystore me.json
  pyevm-agents tools deploy --address TOKEN --unlocked ME --dry-run
"""


@click.command(epilog=EXAMPLES)
@add_contract_options(
    "An AgentAccount of the sender that the agent acts through.  [default: a new one]"
)
@click.option(
    "--function", "functions", multiple=True, metavar="NAME",
    help="A function that becomes a tool: NAME or CONTRACT.NAME. Repeatable.  [default: all that "
    "the account can call]",
)  # fmt: skip
@click.option(
    "--approvals", type=click.Choice(["derived", "model"]), default="derived", show_default=True,
    help="Whether tools approve what a call needs by themselves, or the model approves first.",
)  # fmt: skip
@click.option(
    "--slippage", "slippage_percent", type=click.FloatRange(0, 100), metavar="PERCENT",
    help="How much less than a trial a call may pay out.  [default: 0.5]",
)  # fmt: skip
@click.option(
    "--deadline", "deadline_seconds", type=DURATION_TYPE, metavar="TIME",
    help="How long after the block's time a call is valid.  [default: 20m]",
)  # fmt: skip
@click.option(
    "--max-value", "most_wei", type=AMOUNT_TYPE, metavar="AMOUNT",
    help="The most of the native token that goes with one call, such as 0.1ether.  [default: what "
    "the account has]",
)  # fmt: skip
@click.option(
    "--allow-recipient", "allowed_recipients", multiple=True, metavar="FUNCTION.PARAMETER",
    help="A recipient that may also be the token, the contract or address zero. Repeatable.",
)  # fmt: skip
@click.option(
    "--factory", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="An AbiToolFactory of an earlier deployment.  [default: a new one]",
)  # fmt: skip
@add_handle_options
@click.option("--name", default="Agent", show_default=True, metavar="NAME", help="Its name.")
@build_model_option("the chain has, or the oracle's workers")
@iterations_option
@add_oracle_settings(callback_gas=CALLBACK_GAS, is_optional=True)
@click.option("--dry-run", is_flag=True, help="Show the tools and the base prompt; send nothing.")
@add_sender_options
@json_option
def deploy(  # noqa: PLR0913 - one for each option
    sender: Sender,
    *,
    chosen: ContractOptions,
    account: bytes | None,
    functions: Sequence[str],
    approvals: str,
    slippage_percent: float | None,
    deadline_seconds: int | None,
    most_wei: int | None,
    allowed_recipients: Sequence[str],
    factory: bytes | None,
    handle_choices: HandleChoices,
    name: str,
    model: str,
    iterations: int,
    oracle_settings: OracleSettings | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Deploy an agent whose tools are functions of contracts, and the account to act through.

    The contracts are inspected first, as `tools inspect` does. The sender owns the agent and the
    account. The account is empty: send the assets that the agent may spend.

    On a chain with the executor the agent is an OwnedAgent, whose runs are one transaction each.
    With --oracle the agent is an OwnedCallbackAgent, which workers of the oracle answer: on any
    chain.
    """
    options = PlanOptions(
        functions=tuple(functions),
        derives_approvals=approvals == "derived",
        slippage_bps=_parse_slippage(slippage_percent),
        deadline_seconds=_parse_deadline(deadline_seconds),
        most_wei=MAX_WORD if most_wei is None else most_wei,
        allowed_recipients=tuple(allowed_recipients),
    )
    named = handle_choices.read()
    learn_abis(sender, chosen.abi_files)
    if oracle_settings is not None:
        warn_without_workers(open_oracle(sender.client, oracle_settings.oracle))
    profile = None if oracle_settings is not None else _find_model(sender, model)
    sent = sender.account
    _require_own(sender, account, factory)
    # The tools name the account's address: with another nonce nothing is deployed, or paid.
    nonce = sent.read_nonces().pending
    place = generate_contract_address(sent.address, nonce) if account is None else Address(account)
    with ExitStack() as stack:
        chain, found = stack.enter_context(open_inspection(sender.url, chosen, place))
        options = replace(options, people=handle_choices.resolve(named, chain))
        plan = plan_agent(found, get_chain_metadata(chain.config.chain_id), options)
    for warning in plan.warnings:
        err.print(f"Warning: {warning}", soft_wrap=True, markup=False)
    if profile is not None:
        _warn_of_size(plan, profile)
    if not as_json:
        _print_plan(plan)
    if dry_run:
        _print_dry_run(plan, as_json=as_json)
        return
    if account is None:
        _require_same(deploy_account(sent, nonce=nonce), place)
    factory_address = Address(factory) if factory is not None else deploy_factory(sent)
    tools = deploy_tools(sent, factory_address, place, [tool.spec for tool in plan.tools])
    settings = AgentSettings(model=model, name=name, iterations=iterations, oracle=oracle_settings)
    agent = deploy_agent(sent, plan, tools, settings)
    cost = None if oracle_settings is None else _read_cost(sender, agent)
    if not as_json:
        _print_deployment(sent, agent, place, model, cost)
        return
    sent.print_json(
        agent=to_checksum_address(agent),
        factory=to_checksum_address(factory_address),
        oracle=None if oracle_settings is None else to_checksum_address(oracle_settings.oracle),
        costOfRunWei=None if cost is None else str(cost),
        **_serialize_plan(plan, tools),
    )


# -- options -- #


def _parse_slippage(percent: float | None) -> int | None:
    return None if percent is None else min(MAX_BASIS_POINTS, round(percent * BASIS_POINTS_PERCENT))


def _parse_deadline(seconds: int | None) -> int | None:
    if seconds is not None and seconds > MAX_SECONDS:
        raise click.UsageError(f"--deadline: must be at most {MAX_SECONDS:,} s")
    return seconds


def _find_model(sender: Sender, name: str) -> Mapping[str, Any]:
    """Return the facts of a model of the chain.

    Raises: ConfigError: the chain has no executor, or no such model.
    """
    try:
        models: Any = sender.client.request("agent_models", [])
    except RemoteError:
        models = []
    if not models:
        raise ConfigError(
            f"chain of {sender.client.host}: has no executor at "
            f"{to_checksum_address(EXECUTOR_ADDRESS)}; pass --oracle ADDRESS for an agent that "
            "workers answer: docs/callback.md"
        )
    for each in models:
        if name in {each["name"], *each["aliases"]}:
            facts: Mapping[str, Any] = each
            return facts
    known = ", ".join(each["name"] for each in models)
    raise ConfigError(f"--model {name}: must be one of {known}")


def _read_cost(sender: Sender, agent: Address) -> int:
    """Return the amount that a run reserves, in wei."""
    return int(RemoteContract(sender.client, "OwnedCallbackAgent", agent).read("costOfRun"))


def _require_own(sender: Sender, account: bytes | None, factory: bytes | None) -> None:
    """Check the contracts of an earlier deployment.

    Raises: AgentsError: the account is not the sender's, or there is no factory at the address.
    """
    if account is not None:
        _require_account(sender, account)
    if factory is not None:
        _require_factory(sender, factory)


def _require_account(sender: Sender, address: bytes) -> None:
    """Check that the sender owns an account.

    Raises: AgentsError: another owner.
    """
    require_code(sender.client, address)
    contract = RemoteContract(sender.client, "AgentAccount", address)
    owner = contract.read("owner")
    if to_canonical_address(owner) != sender.account.address:
        raise ConfigError(
            f"--account {contract.checksum_address}: its owner is {to_checksum_address(owner)}, "
            f"not the sender {to_checksum_address(sender.account.address)}"
        )


def _require_factory(sender: Sender, address: bytes) -> None:
    """Check that a contract is a factory of tools.

    Raises: AgentsError: another contract.
    """
    require_code(sender.client, address)
    RemoteContract(sender.client, "AbiToolFactory", address).read("implementation")


def _require_same(deployed: Address, predicted: Address) -> None:
    if deployed != predicted:
        raise RemoteFault(
            f"account {to_checksum_address(deployed)}: expected {to_checksum_address(predicted)}; "
            "the sender sent something else meanwhile; try again"
        )


# -- output -- #


def _warn_of_size(plan: AgentPlan, profile: Mapping[str, Any]) -> None:
    tokens = plan.prompt_characters // CHARACTERS_PER_TOKEN
    context = int(profile["contextTokens"])
    if tokens * 100 > context * FULL_PERCENT:
        err.print(
            f"Warning: {pluralize(len(plan.tools), 'tool')} and the base prompt have some "
            f"{tokens:,} tokens, and the context of {profile['name']} is {context:,}; choose "
            "functions by --function NAME",
            soft_wrap=True, markup=False,
        )  # fmt: skip


def _print_dry_run(plan: AgentPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(_serialize_plan(plan))
        return
    out.print("[bold]Base prompt[/]")
    click.echo(plan.base_prompt)


def _print_deployment(
    sent: Announced, agent: Address, account: Address, model: str, cost: int | None
) -> None:
    """Print the end of a deployment. Input: cost: reserve of a run, None for the executor."""
    sent.print_total()
    if cost is not None:
        out.print(
            f"Workers answer the agent, if they have the model {escape(model)}. A run reserves "
            f"{format_amount(cost)}; what it does not use is given back.",
            soft_wrap=True,
        )
    words = to_checksum_address(account)
    out.print(f"The agent acts through {words}: send it what the agent may spend.", soft_wrap=True)
    out.print(
        f'Ask it:  pyevm-agents tools ask {to_checksum_address(agent)} "…" --keystore FILE',
        soft_wrap=True,
    )


def _print_plan(plan: AgentPlan) -> None:
    out.print(f"account {plan.account}, {pluralize(len(plan.tools), 'tool')}\n")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Tool", "Contract", "Asks the model for"):
        table.add_column(heading, overflow="fold")
    table.add_column("Description", overflow="fold", ratio=1)
    for tool in plan.tools:
        table.add_row(
            escape(tool.spec.name),
            escape(_name_target(tool)),
            escape(", ".join(name for _, name, _ in tool.spec.model_parameters)),
            escape(tool.spec.description),
        )
    print_table(table)
    out.print()
    _print_people(plan)
    _print_left_out(plan)


def _print_people(plan: AgentPlan) -> None:
    if not plan.people:
        return
    out.print("[bold]Names[/]")
    for person in plan.people:
        source = f"  {person.ens_name}" if person.ens_name else ""
        out.print(f"  {person.name} = {person.address}{source}", soft_wrap=True, markup=False)
    out.print()


def _print_left_out(plan: AgentPlan) -> None:
    """Print the functions that are no tools, each with the reason, and how to get each."""
    if not plan.left_out:
        return
    out.print("[bold]Left out[/]")
    shared = [each.advice for each in plan.left_out if each.reason is LeftOutReason.ACCESS]
    for each in plan.left_out[:MAX_LEFT_OUT]:
        name = f"{each.contract}.{clean_text(each.function.signature)}"
        advice = "" if each.advice in shared else each.advice
        text = "; ".join(filter(None, (each.text, advice)))
        out.print(f"  {name}: {text}", soft_wrap=True, markup=False)
    more = len(plan.left_out) - MAX_LEFT_OUT
    if more > 0:
        out.print(f"  and {pluralize(more, 'more function')}: --json has all", markup=False)
    for advice in dict.fromkeys(filter(None, shared)):
        out.print(f"  {advice[:1].upper()}{advice[1:]}.", soft_wrap=True, markup=False)
    out.print()


def _name_target(tool: PlannedTool) -> str:
    """Return the contract, and the function if not the start of the tool's name."""
    has_name = tool.spec.name.startswith(tool.function.name)
    return tool.contract if has_name else f"{tool.contract}.{tool.function.name}"


def _serialize_plan(plan: AgentPlan, addresses: Sequence[Address] = ()) -> dict[str, Any]:
    places: list[str | None] = [to_checksum_address(each) for each in addresses]
    places += [None] * (len(plan.tools) - len(places))
    return {
        "account": plan.account,
        "basePrompt": plan.base_prompt,
        "tools": [
            _serialize_tool(tool, place) for tool, place in zip(plan.tools, places, strict=True)
        ],
        "people": [
            {"name": each.name, "address": each.address, "ensName": each.ens_name or None}
            for each in plan.people
        ],
        "leftOut": [
            {
                "contract": each.contract,
                "signature": each.function.signature,
                "reason": str(each.reason),
                "text": each.text,
                "advice": each.advice or None,
            }
            for each in plan.left_out
        ],
        "warnings": list(plan.warnings),
    }


def _serialize_tool(tool: PlannedTool, place: str | None) -> dict[str, Any]:
    spec = tool.spec
    return {
        "address": place,
        "name": spec.name,
        "description": spec.description,
        "contract": tool.contract,
        "target": spec.target,
        "signature": tool.function.signature,
        "parameters": [
            {"type": kind.name.lower(), "name": name, "description": text}
            for kind, name, text in spec.model_parameters
        ],
        "arguments": [_serialize_argument(each) for each in spec.arguments],
        "maxValueWei": str(spec.value.most_wei),
        "allowances": [
            {
                "token": each.token,
                "spender": each.spender,
                "kind": str(each.kind),
                "isDerived": each.is_derived,
                "isMeasured": each.is_measured,
            }
            for each in spec.allowances
        ],
    }


def _serialize_argument(argument: Argument) -> dict[str, Any]:
    return {
        "name": argument.name,
        "abiType": argument.abi_type,
        "source": str(argument.source),
        "seconds": argument.seconds,
        "slippageBps": argument.slippage_bps,
        "value": serialize_value(argument.value) if argument.source is Source.FIXED else None,
        "forbidden": list(argument.limits.forbidden),
    }
