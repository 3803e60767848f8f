"""Inspection of contracts: the capabilities of one account, at one block.

    interfaces = InterfaceFinder(services=[EtherscanService(url)])
    [token] = inspect_contracts(chain, [InspectedContract(address=…)], account, …)

Names and types come from an ABI, or are proposed from the code. Executions show which accounts can
call a function, and which assets the call needs: `access.analyse_functions`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.artifacts import ContractDescription
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.chain import Chain
from pyevm_agents.contract_intelligence.abi_services import (
    AbiCache,
    AbiService,
    DeployedContract,
    fetch_interface,
)
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.bytecode import list_selectors, propose_interface
from pyevm_agents.contract_intelligence.call_effects import confirm_effects
from pyevm_agents.contract_intelligence.capabilities import (
    Approval,
    ContractIntelligence,
    ContractKind,
)
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.contract_intelligence.function_abi import ContractInterface, build_interface
from pyevm_agents.contract_intelligence.metadata_stability import inspect_metadata
from pyevm_agents.contract_intelligence.parameter_evidence import iter_tokens
from pyevm_agents.contract_intelligence.primitives import THIS, load_primitives
from pyevm_agents.contract_intelligence.proxies import (
    DELEGATING,
    Facet,
    Proxy,
    add_delegates,
    find_delegates,
    find_proxy,
)
from pyevm_agents.contract_intelligence.relationships import read_relationships
from pyevm_agents.contract_intelligence.token_symbols import distinguish_symbols
from pyevm_agents.contract_intelligence.untrusted_text import clean_label
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.metadata_stability import MetadataStability

MAX_NAMED_FUNCTIONS = 5
"""Functions that a warning names."""

TOOL_FUNCTIONS = ("name()", "description()", "inputDescription()")
"""Functions of an agent's tool. Source: the ERC, `IERCAgentTool`."""

TOKEN_KINDS = frozenset({ContractKind.ERC20, ContractKind.ERC4626, ContractKind.DEX_PAIR})
"""Kinds whose symbol names the contract."""


FunctionAnalyser: TypeAlias = "Callable[..., Sequence[FunctionCapability]]"
"""Executes functions of a contract, as `access.analyse_functions` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedContract:
    """A contract to inspect."""

    address: str
    """Checksummed."""

    interface: ContractInterface | None = None
    """From a file or a project; None to look for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceFinder:
    """Where interfaces of contracts without a file come from: servers in order, then the code."""

    services: tuple[AbiService, ...] = ()
    cache: AbiCache | None = None

    def find(self, chain_id: int, address: str, code: bytes) -> ContractInterface:
        """Return the interface of the contract that has a code.

        Raises: AbiServiceError: a server does not answer, or not with an ABI.
        """
        contract = DeployedContract(
            chain_id=chain_id, address=bytes.fromhex(address[2:]), code=code
        )
        for service in self.services:
            found = fetch_interface(service, contract, cache=self.cache)
            if found is not None:
                return found
        return propose_interface(code)


def inspect_contracts(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    contracts: Sequence[InspectedContract],
    account: str,
    *,
    finder: InterfaceFinder | None = None,
    analyse: FunctionAnalyser | None = analyse_functions,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[ContractIntelligence, ...]:
    """Return the capabilities of an account at contracts, on the state at the chain's head.

    Input:
        chain: the state is not changed.
        contracts: in the order of the result.
        account: the agent's account, checksummed.
        finder: of interfaces; None to propose them from the code alone.
        analyse: executes the functions; None to list the functions without executions.
        report: receives a text for each step.

    Raises: ConfigError: a contract has no code. AbiServiceError: a server of ABIs fails.
            RemoteFault: the remote chain of a fork does not answer.
    """
    reader = ContractReader(chain)
    described = []
    for contract in contracts:
        report(f"reading {contract.address}")
        described.append(_describe(reader, contract, account, finder or InterfaceFinder()))
    tokens = [each.address for each in described if each.kind in TOKEN_KINDS]
    related = [
        replace(each, relationships=read_relationships(reader, each.address, each.kind, tokens))
        for each in described
    ]
    named = distinguish_symbols(
        related, _list_told(reader, related), get_chain_metadata(chain.config.chain_id).native_names
    )
    annotated = [_annotate(reader, each) for each in named]
    if analyse is None:
        return tuple(annotated)
    known = name_known_accounts(annotated)
    finished = []
    for each in annotated:
        report(f"executing {len(each.functions)} functions of {each.name}")
        executed = _analyse(chain, each, analyse, known)
        executed = replace(executed, functions=confirm_effects(chain, executed))
        finished.append(_add_tokens(reader, executed))
    return tuple(finished)


def inspect_tools(
    chain: Chain, contracts: Sequence[ContractIntelligence]
) -> dict[str, MetadataStability]:
    """Return whether the metadata can change, for the contracts that are tools of agents.

    Input: contracts as returned by `inspect_contracts`.
    """
    reader, known = ContractReader(chain), name_known_accounts(contracts)
    return {
        each.address: inspect_metadata(
            chain, each.address, each.functions, each.account, known_accounts=known
        )
        for each in contracts
        if all(reader.does_answer(each.address, signature) for signature in TOOL_FUNCTIONS)
    }


def find_kind(reader: ContractReader, address: str, signatures: Sequence[str]) -> ContractKind:
    """Return the kind of a contract: the first with all functions there and reads that succeed."""
    for rule in load_primitives().list_kinds(signatures):
        if all(reader.does_answer(address, signature) for signature in rule.reads):
            return rule.kind
    return ContractKind.CUSTOM


def _describe(
    reader: ContractReader, contract: InspectedContract, account: str, finder: InterfaceFinder
) -> ContractIntelligence:
    """Return a contract with functions, kind and token facts."""
    address, code = contract.address, reader.get_code(contract.address)
    chain_id = reader.chain.config.chain_id
    number = reader.header.block_number
    if not code:
        raise ConfigError(
            f"address {address}: has no code on chain {chain_id} at block {number}; check the "
            "address and the chain"
        )
    proxy = find_proxy(reader, address)
    interface = contract.interface or _find_interface(reader, address, proxy, finder)
    selectors = [each.selector for each in interface.functions]
    delegates = find_delegates(reader, address, dict.fromkeys([*selectors, *list_selectors(code)]))
    proxy = add_delegates(proxy, delegates)
    _name_errors(reader, interface)
    kind = find_kind(reader, address, [each.signature for each in interface.functions])
    token = None if kind is ContractKind.CUSTOM else reader.read_token(address)
    warnings = [*interface.warnings, *_list_code_warnings(reader, address, proxy, interface)]
    name = interface.name
    if name == "Contract":
        name = _read_name(reader, address, kind)
    return ContractIntelligence(
        address=address,
        name=name,
        kind=kind,
        account=account,
        chain_id=chain_id,
        block_number=number,
        abi_source=interface.source,
        implementation="" if proxy is None else proxy.implementation,
        proxy_kind="" if proxy is None else proxy.kind,
        is_upgradeable=proxy is not None and proxy.is_upgradeable,
        symbol="" if token is None else token.symbol,
        decimals=None if token is None else token.decimals,
        token_name="" if token is None else token.name,
        functions=tuple(
            replace(each, delegates=(delegates[each.selector],))
            if each.selector in delegates
            else each
            for each in interface.functions
        ),
        warnings=tuple(warnings),
    )


def _name_errors(reader: ContractReader, interface: ContractInterface) -> None:
    """Let reasons name the errors of an interface."""
    errors = {compute_topic(each.signature)[:SELECTOR_BYTES]: each for each in interface.errors}
    if errors and isinstance(reader.chain, Chain):
        reader.chain.known_contracts.add(ContractDescription(name=interface.name, errors=errors))


def _list_told(reader: ContractReader, contracts: Sequence[ContractIntelligence]) -> dict[str, str]:
    """Return the symbols that tokens return, by address."""
    own = (reader.read_token(each.address) for each in contracts if each.symbol)
    related = (token for each in contracts for token in each.relationships.tokens)
    return {each.address: each.told_symbol for each in (*own, *related) if each is not None}


def _find_interface(
    reader: ContractReader, address: str, proxy: Proxy | None, finder: InterfaceFinder
) -> ContractInterface:
    """Return the interface of the code that executes an address' functions."""
    chain_id = reader.chain.config.chain_id
    if proxy is None:
        return finder.find(chain_id, address, reader.get_code(address))
    if not proxy.facets:
        implementation = proxy.implementation
        return finder.find(chain_id, implementation, reader.get_code(implementation))
    parts = [
        (facet.selectors, finder.find(chain_id, facet.address, reader.get_code(facet.address)))
        for facet in proxy.facets
    ]
    functions = [
        function
        for selectors, part in parts
        for function in part.functions
        if function.selector in selectors
    ]
    warnings = dict.fromkeys(warning for _, part in parts for warning in part.warnings)
    return build_interface("Diamond", parts[0][1].source, functions, [*warnings])


def _list_code_warnings(
    reader: ContractReader, address: str, proxy: Proxy | None, interface: ContractInterface
) -> list[str]:
    """Return warnings about a proxy, and about functions that the code does not have."""
    warnings = []
    own = reader.get_code(address)
    executed = [own]
    if proxy is not None:
        change = proxy.describe_change()
        warnings += [change] if change else []
        parts = (*proxy.facets, *proxy.others)
        places = [proxy.implementation, *(part.address for part in parts)]
        codes = {place: reader.get_code(place) for place in places if place}
        empty = [place for place, code in codes.items() if not code]
        warnings += [f"{place}, to which the proxy delegates, has no code" for place in empty[:1]]
        executed += codes.values()
        warnings += [_describe_other(interface, other, proxy) for other in proxy.others]
        delegated = [part.selectors for part in proxy.others]
        clashing = list_selectors(own) & {each.selector for each in interface.functions}
        clashing -= frozenset().union(*delegated)
        if clashing and proxy.implementation:
            names = _list_names(interface, clashing)
            warnings.append(f"the proxy itself has the selectors of {names}")
    known: frozenset[bytes] = frozenset().union(*map(list_selectors, executed))
    missing = {each.selector for each in interface.functions} - known
    if missing and interface.source != "bytecode":
        warnings.append(f"the code seems not to have {_list_names(interface, missing)}")
    return warnings


def _describe_other(interface: ContractInterface, other: Facet, proxy: Proxy) -> str:
    """Return a warning about functions for which other code runs than for the rest."""
    usual = f", not of {proxy.implementation}" if proxy.implementation else ""
    return f"{_list_names(interface, other.selectors)}: runs the code of {other.address}{usual}"


def _list_names(interface: ContractInterface, selectors: frozenset[bytes] | set[bytes]) -> str:
    known = {each.selector: each.name for each in interface.functions}
    names = [name for selector, name in known.items() if selector in selectors]
    names += [f"0x{each.hex()}" for each in sorted(selectors) if each not in known]
    more = len(names) - MAX_NAMED_FUNCTIONS
    return ", ".join(names[:MAX_NAMED_FUNCTIONS]) + (f" and {more} more" if more > 0 else "")


def _read_name(reader: ContractReader, address: str, kind: ContractKind) -> str:
    """Return the name that a contract gives itself, or the kind's name."""
    match reader.read(address, "name()", ["string"]):
        case (str(text),):
            return clean_label(text, "Contract")
        case _:
            return "Contract" if kind is ContractKind.CUSTOM else str(kind)


def _annotate(reader: ContractReader, contract: ContractIntelligence) -> ContractIntelligence:
    """Add the facts of the primitives to functions."""
    units: dict[str, str] = {THIS: contract.address if contract.kind in TOKEN_KINDS else ""}

    def resolve_unit(unit: str) -> str:
        if unit not in units:
            units[unit] = reader.read_address(contract.address, unit)
        return units[unit]

    primitives = load_primitives()
    signatures = [each.signature for each in contract.functions]
    return replace(
        contract,
        functions=tuple(
            primitives.annotate(each, contract.kind, resolve_unit, signatures)
            for each in contract.functions
        ),
    )


def _add_tokens(reader: ContractReader, contract: ContractIntelligence) -> ContractIntelligence:
    """Add the facts of tokens that a contract's functions count or pull, without the pools."""
    facts = {each.address: each for each in contract.relationships.tokens}
    pools = {each.pool for each in contract.relationships.token_pairs}
    for address in iter_tokens(contract.functions):
        token = None if address in {contract.address, *pools} else reader.read_token(address)
        if token is not None:
            facts.setdefault(address, token)
    relationships = replace(contract.relationships, tokens=tuple(facts.values()))
    return replace(contract, relationships=relationships)


def name_known_accounts(contracts: Sequence[ContractIntelligence]) -> dict[str, str]:
    """Return the accounts that contracts name, each with a noun, or an empty text."""
    nouns: dict[str, str] = {}
    for contract in contracts:
        nouns[contract.address] = contract.symbol or contract.name
    for contract in contracts:
        relations, label = contract.relationships, nouns[contract.address]
        nouns.setdefault(relations.admin_address, f"the owner of {label}")
        for token in relations.tokens:
            nouns.setdefault(token.address, token.symbol)
        pools = [pair.pool for pair in relations.token_pairs]
        for place in (*relations.named_contracts, *pools):
            nouns.setdefault(place, "")
    return {place: noun for place, noun in nouns.items() if place}


def _analyse(
    chain: Chain,
    contract: ContractIntelligence,
    analyse: FunctionAnalyser,
    known: Mapping[str, str],
) -> ContractIntelligence:
    # Calls are tried with the accounts in order: tokens that a router exchanges come first.
    routed = [token for path in contract.relationships.paths[:1] for token in path.tokens]
    ordered = {each: known[each] for each in (*routed, *known) if each in known}
    functions = analyse(
        chain, contract.address, contract.functions, contract.account, known_accounts=ordered
    )
    approvals = dict.fromkeys(
        Approval(token=approval.token, spender=approval.spender, amount=None, kind=approval.kind)
        for each in functions
        for approval in each.approvals
    )
    warnings = [
        f"{after.name}: runs the code of {' or of '.join(after.delegates)}, by its arguments or by "
        "who calls"
        for before, after in zip(contract.functions, functions, strict=True)
        if {*after.delegates} - {*before.delegates, contract.implementation}
    ]
    return replace(
        contract,
        functions=tuple(functions),
        proxy_kind=contract.proxy_kind or (DELEGATING if warnings else ""),
        is_upgradeable=(contract.is_upgradeable or None) if warnings else contract.is_upgradeable,
        warnings=(*contract.warnings, *warnings),
        relationships=replace(contract.relationships, required_approvals=tuple(approvals)),
    )
