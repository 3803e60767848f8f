"""Contract intelligence in a terminal: a table of functions for each contract, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.output import out, print_table
from pyevm_agents.contract_intelligence.capabilities import Access
from pyevm_agents.contract_intelligence.relationships import group_contracts
from pyevm_agents.contract_intelligence.serialization import choose_handles
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from pyevm_agents.display import name_addresses, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import (
        Approval,
        ContractIntelligence,
        FunctionCapability,
        Parameter,
    )
    from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata

MAX_CELL_CHARACTERS = 160
MAX_TYPE_CHARACTERS = 40
ACCESS_STYLES = {Access.OPEN: "green", Access.FORBIDDEN: "red", Access.UNKNOWN: "yellow"}
ACCESS_WORDS = {Access.OPEN: "yes", Access.FORBIDDEN: "no", Access.UNKNOWN: "?"}


def print_contracts(contracts: Sequence[ContractIntelligence], chain: ChainMetadata) -> None:
    """Print contracts as one account sees them."""
    first = contracts[0]
    names = choose_handles(contracts)
    out.print(
        f"[dim]{escape(chain.name)}, block {first.block_number:,}, account {first.account}[/]",
        soft_wrap=True,
    )
    for contract in contracts:
        out.print()
        _print_contract(contract, names)
    groups = [group for group in group_contracts(contracts) if len(group) > 1]
    if groups:
        out.print()
    for group in groups:
        members = ", ".join(names[address] for address in group)
        out.print(f"Tools that belong together: {escape(members)}", soft_wrap=True)


def _print_contract(contract: ContractIntelligence, names: Mapping[str, str]) -> None:
    out.print(f"[bold]{escape(contract.name)}[/] {contract.address}", soft_wrap=True)
    for label, text in _iter_facts(contract, names):
        out.print(f"  [dim]{label:<12}[/] {escape(text)}", soft_wrap=True)
    for warning in contract.warnings:
        text = escape(clean_text(warning))
        out.print(f"  [yellow]{'warning':<12}[/] {text}", soft_wrap=True)
    if contract.functions:
        out.print()
        print_table(_build_table(contract, names))


def _iter_facts(
    contract: ContractIntelligence, names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    relations = contract.relationships
    yield "kind", str(contract.kind)
    if contract.symbol:
        places = "" if contract.decimals is None else f", {contract.decimals} decimals"
        yield "token", f"{contract.symbol}{places}"
    yield "ABI", f"{contract.abi_source}, {pluralize(len(contract.functions), 'function')}"
    if contract.proxy_kind:
        yield "proxy", f"{contract.proxy_kind} {contract.implementation}".rstrip()
    if relations.admin_address:
        yield "owner", relations.admin_address
    if relations.wrapped_native:
        yield "wraps native", name_addresses(relations.wrapped_native, names)
    for pair in relations.token_pairs:
        tokens = name_addresses(f"{pair.token_a} and {pair.token_b}", names)
        yield "pool", f"{tokens}, {pair.pool}"
    for path in relations.paths:
        yield "path", " > ".join(names.get(token, token) for token in path.tokens)
    for approval in relations.required_approvals:
        yield "approval", name_addresses(_format_approval(approval), names)


def _build_table(contract: ContractIntelligence, names: Mapping[str, str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    table.add_column("Function", overflow="fold")
    table.add_column("Call?")
    table.add_column("Effect")
    table.add_column("Notes", overflow="fold", ratio=1)
    for function in sorted(contract.functions, key=lambda each: (not each.is_read_only, each.name)):
        effect = "reads" if function.is_read_only else "writes"
        style = ACCESS_STYLES[function.access]
        table.add_row(
            escape(_format_call(function)),
            f"[{style}]{ACCESS_WORDS[function.access]}[/]",
            f"{effect}, payable" if function.is_payable else effect,
            escape(name_addresses("; ".join(_iter_notes(function)), names)),
        )
    return table


def _format_call(function: FunctionCapability) -> str:
    return f"{function.name}({', '.join(map(_format_parameter, function.parameters))})"


def _format_parameter(parameter: Parameter) -> str:
    kind = parameter.abi_type
    if len(kind) > MAX_TYPE_CHARACTERS:
        kind = f"{kind[: MAX_TYPE_CHARACTERS - 3]}..."
    return f"{parameter.name}: {kind}"


def _iter_notes(function: FunctionCapability) -> Iterator[str]:
    if function.reason:
        yield clean_text(function.reason, MAX_CELL_CHARACTERS)
    if function.description:
        yield clean_text(function.description, MAX_CELL_CHARACTERS).rstrip(".")
    for parameter in function.parameters:
        if parameter.derivation is not None and parameter.derivation.sentence:
            yield clean_text(parameter.derivation.sentence, MAX_CELL_CHARACTERS)
    for approval in function.approvals:
        yield _format_approval(approval)
    if function.needs_balance_of:
        yield f"needs a balance of {', '.join(function.needs_balance_of)}"


def _format_approval(approval: Approval) -> str:
    amount = "" if approval.amount is None else f"{approval.amount:,} of "
    return f"needs an approval: {amount}{approval.token} for {approval.spender}"
