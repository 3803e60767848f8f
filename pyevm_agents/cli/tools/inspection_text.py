"""Contract intelligence in a terminal: a table of functions for each contract, and notes."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from precompiles.escaping import ADDRESS
from pyevm_agents.cli.output import out, print_table
from pyevm_agents.contract_intelligence.capabilities import Access, ApprovalKind
from pyevm_agents.contract_intelligence.relationships import group_contracts
from pyevm_agents.contract_intelligence.serialization import choose_handles, name_accounts
from pyevm_agents.contract_intelligence.untrusted_text import clean_text
from pyevm_agents.display import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import (
        Approval,
        ContractIntelligence,
        FunctionCapability,
        Parameter,
        QuotedPath,
        Relationships,
        TokenFacts,
    )
    from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata
    from pyevm_agents.contract_intelligence.metadata_stability import MetadataStability

MAX_CELL_CHARACTERS = 240
MAX_FACT_CHARACTERS = 1_000
MAX_TYPE_CHARACTERS = 40
SHOWN_DIGITS = 8
"""Digits of a quote."""

ACCESS_STYLES = {Access.OPEN: "green", Access.FORBIDDEN: "red", Access.UNKNOWN: "yellow"}
ACCESS_WORDS = {Access.OPEN: "yes", Access.FORBIDDEN: "no", Access.UNKNOWN: "?"}


def print_contracts(
    contracts: Sequence[ContractIntelligence],
    chain: ChainMetadata,
    tools: Mapping[str, MetadataStability] | None = None,
) -> None:
    """Print contracts from the view of one account.

    Input: contracts; the chain; by address whether the metadata of those that are tools can change.
    """
    stability = tools or {}
    first = contracts[0]
    names = choose_handles(contracts)
    for pair in (pair for each in contracts for pair in each.relationships.token_pairs):
        tokens = "/".join(names.get(each, each) for each in (pair.token_a, pair.token_b))
        names.setdefault(pair.pool, f"pool {tokens}")
    out.print(
        f"[dim]{escape(chain.name)}, block {first.block_number:,}, account {first.account}[/]",
        soft_wrap=True,
    )
    for contract in contracts:
        out.print()
        _print_contract(contract, names, stability.get(contract.address))
    groups = [group for group in group_contracts(contracts) if len(group) > 1]
    if groups:
        out.print()
    for group in groups:
        members = ", ".join(names[address] for address in group)
        out.print(f"Tools that belong together: {escape(members)}", soft_wrap=True)


def _print_contract(
    contract: ContractIntelligence, names: Mapping[str, str], metadata: MetadataStability | None
) -> None:
    out.print(f"[bold]{escape(contract.name)}[/] {contract.address}", soft_wrap=True)
    for label, text in _iter_facts(contract, names):
        out.print(f"  [dim]{label:<12}[/] {escape(text)}", soft_wrap=True)
    if metadata is not None:
        text = escape(_name_addresses(_describe_metadata(metadata), names))
        out.print(f"  [dim]{'metadata':<12}[/] {text}", soft_wrap=True)
    for warning in contract.warnings:
        text = escape(clean_text(warning))
        out.print(f"  [yellow]{'warning':<12}[/] {text}", soft_wrap=True)
    if contract.functions:
        out.print()
        print_table(_build_table(contract, names))


def _iter_facts(
    contract: ContractIntelligence, names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    yield "kind", str(contract.kind)
    if contract.symbol:
        places = "" if contract.decimals is None else f", {contract.decimals} decimals"
        yield "token", f"{contract.symbol}{places}"
    yield "ABI", f"{contract.abi_source}, {pluralize(len(contract.functions), 'function')}"
    if contract.proxy_kind:
        yield "proxy", f"{contract.proxy_kind} {contract.implementation}".rstrip()
    for role, holders in contract.roles.items():
        known = ", ".join(names.get(each, each) for each in holders)
        yield "role", clean_text(f"{role}: {known or 'no holder is known'}", MAX_FACT_CHARACTERS)
    yield from _iter_relationships(contract.relationships, names)


def _iter_relationships(
    relations: Relationships, names: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if relations.admin_address:
        yield "owner", relations.admin_address
    if relations.wrapped_native:
        yield "wraps native", names.get(relations.wrapped_native, relations.wrapped_native)
    for pair in relations.token_pairs:
        tokens = " and ".join(names.get(each, each) for each in (pair.token_a, pair.token_b))
        yield "pool", f"{tokens}: {pair.pool}"
    for path in relations.paths:
        yield "path", _format_path(path, relations.tokens, names)
    for approval in relations.required_approvals:
        yield "approval", _name_addresses(_format_approval(approval), names)


def _describe_metadata(metadata: MetadataStability) -> str:
    """Return whether the metadata of a tool can change, and by which accounts."""
    if not metadata.can_change:
        return "fixed"
    writers = dict.fromkeys(writer for slot in metadata.slots for writer in slot.writers)
    callers = dict.fromkeys(caller for slot in metadata.slots for caller in slot.callers)
    causes = [f"{name} by {', '.join(callers) or 'unknown callers'}" for name in writers]
    if any(slot.is_open for slot in metadata.slots):
        causes = [f"{name} by the account itself" for name in writers]
    causes += [f"the code of {account} ({change})" for account, change in metadata.code_changes]
    causes += [f"the opcode {name}" for name in metadata.environment]
    count = pluralize(len(metadata.slots), "slot")
    if not causes:
        return f"in {count}; nothing was found that changes it"
    return clean_text(f"in {count}; can change by {', '.join(causes)}", MAX_FACT_CHARACTERS)


def _format_path(path: QuotedPath, tokens: Sequence[TokenFacts], names: Mapping[str, str]) -> str:
    """Return a path with the quote, such as `1 USDC > WETH > 1.97 DAI`."""
    decimals = {token.address: token.decimals or 0 for token in tokens}
    labels = [names.get(token, token) for token in path.tokens]
    paid = _scale(path.amount_in, decimals.get(path.tokens[0], 0))
    bought = _scale(path.amount_out, decimals.get(path.tokens[-1], 0))
    return " > ".join([f"{paid} {labels[0]}", *labels[1:-1], f"{bought} {labels[-1]}"])


def _scale(amount: int, decimals: int) -> str:
    """Return an amount in whole tokens, with `SHOWN_DIGITS` digits."""
    number = Decimal(amount).scaleb(-decimals)
    return f"{number.normalize(Context(prec=SHOWN_DIGITS)):,f}"


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
            escape(_name_addresses("; ".join(_iter_notes(function, names)), names)),
        )
    return table


def _format_call(function: FunctionCapability) -> str:
    return f"{function.name}({', '.join(map(_format_parameter, function.parameters))})"


def _format_parameter(parameter: Parameter) -> str:
    kind = parameter.abi_type
    if len(kind) > MAX_TYPE_CHARACTERS:
        kind = f"{kind[: MAX_TYPE_CHARACTERS - 3]}..."
    return f"{parameter.name}: {kind}"


def _iter_notes(function: FunctionCapability, names: Mapping[str, str]) -> Iterator[str]:
    if function.reason:
        yield clean_text(name_accounts(function.reason, names), MAX_CELL_CHARACTERS).rstrip(".")
    if function.description:
        yield clean_text(function.description, MAX_CELL_CHARACTERS).rstrip(".")
    for parameter in function.parameters:
        if parameter.derivation is not None and parameter.derivation.sentence:
            start = f"{parameter.name}: "
            sentence = parameter.derivation.sentence.removeprefix(start)
            yield clean_text(f"{start}{sentence}", MAX_CELL_CHARACTERS)
    for approval in function.approvals:
        yield _format_approval(approval)
    if function.needs_balance_of:
        yield f"needs a balance of {', '.join(function.needs_balance_of)}"


def _format_approval(approval: Approval) -> str:
    amount = "" if approval.amount is None else f"{approval.amount:,} of "
    if approval.kind is ApprovalKind.ALL:
        amount = "all items of "
    elif approval.kind is ApprovalKind.ITEM:
        amount = "an item of " if approval.item is None else f"item {approval.item} of "
    return f"needs an approval: {amount}{approval.token} for {approval.spender}"


def _name_addresses(text: str, names: Mapping[str, str]) -> str:
    """Return a text with names in place of addresses that have one: each is shown with the name."""
    return ADDRESS.sub(lambda match: names.get(match[0], match[0]), text)
