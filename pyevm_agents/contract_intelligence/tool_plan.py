"""The tools and the base prompt of an agent for inspected contracts.

A function with a path of tokens becomes one tool a route, so the model chooses a direction and not
addresses: docs/architecture.md#execution-decides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.spec import MAX_TOOLS
from pyevm_agents.contract_intelligence.access import ALWAYS_REVERTS, HAS_RUN
from pyevm_agents.contract_intelligence.capabilities import (
    NATIVE_UNIT,
    Access,
    Derivation,
    ParameterRole,
    Source,
    TokenFacts,
)
from pyevm_agents.contract_intelligence.people import check_people
from pyevm_agents.contract_intelligence.serialization import (
    build_context,
    choose_handles,
    name_accounts,
)
from pyevm_agents.contract_intelligence.tool_builder import (
    MAX_DESCRIPTION_CHARACTERS,
    TokenUnit,
    ToolOptions,
    build_tool_spec,
    describe_name,
    list_recipients,
    name_unit,
)
from pyevm_agents.contract_intelligence.tool_spec import MAX_WORD, CallValue, is_amount_type
from pyevm_agents.contract_intelligence.untrusted_text import NameTable, clean_label, clean_text
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.capabilities import (
        Approval,
        ContractIntelligence,
        FunctionCapability,
        Parameter,
    )
    from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata
    from pyevm_agents.contract_intelligence.people import Person
    from pyevm_agents.contract_intelligence.tool_spec import ToolSpec

TASK = (
    "You act through an account on a blockchain for its owner. Use the tools to do what the owner "
    "asks."
)
"""First sentences of the base prompt. A chain's number is no part: the model may copy numbers."""

MAX_ASSET_TOOLS = 4
"""Tokens of one function for which tools of their own are made."""

MAX_APPROVAL_TOKENS = 16
"""Tokens of one tool that a model may name, and that the tool may approve."""

MEASURED_TOOLS = 8
"""Tools among which the default model was measured to choose."""

MAX_LISTED_NAMES = 12
"""Functions that an error names."""

MAX_LISTED_REASONS, MAX_LISTED_CHARACTERS = 2, 72
"""Functions that an error names with the reason, and characters of each."""

ACCOUNT_ADVICE = (
    "to admit an account first, make one by `pyevm-agents tools account` and pass it by --account"
)

_PATH_TYPE = "address[]"
_ADDRESS_TYPE = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Choices for all tools of an agent."""

    functions: tuple[str, ...] = ()
    """`NAME` or `CONTRACT.NAME`; empty for all functions that the account called on the fork."""

    derives_approvals: bool = True
    """True: tools approve what a call needs. False: the model approves by a tool of its own."""

    slippage_bps: int | None = None
    deadline_seconds: int | None = None
    most_wei: int = MAX_WORD
    """The most wei that go with one call."""

    allowed_recipients: tuple[str, ...] = ()
    """`FUNCTION.PARAMETER` or `CONTRACT.FUNCTION.PARAMETER`: recipients that may be any address."""

    people: tuple[Person, ...] = ()
    """Names in the base prompt, beside those of contracts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTool:
    """A tool that is not deployed yet."""

    contract: str
    """The contract's name in the base prompt."""

    function: FunctionCapability
    spec: ToolSpec


class LeftOutReason(StrEnum):
    """Why a function is no tool, where no functions were chosen."""

    ACCESS = "access"
    """The account may not call it."""

    EXECUTION = "noExecution"
    """No call of it ran on the fork."""

    UNSUPPORTED = "unsupported"
    """A tool can't have its types, or so many parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A function that is no tool."""

    contract: str
    """The contract's name in the base prompt."""

    function: FunctionCapability
    reason: LeftOutReason
    text: str
    """The reason in words."""

    advice: str = ""
    """How to get the function all the same; empty if there is no way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlan:
    """An agent that is not deployed yet."""

    account: str
    tools: tuple[PlannedTool, ...]
    base_prompt: str
    people: tuple[Person, ...] = ()
    """Whom the base prompt names."""

    left_out: tuple[LeftOut, ...] = ()
    """Functions that are no tools; none if functions were chosen."""

    warnings: tuple[str, ...] = ()
    """What is uncertain about the contracts, each with its name, and about the number of tools."""

    @property
    def prompt_characters(self) -> int:
        """Characters of the base prompt, and of the tools' names and descriptions."""
        texts = [self.base_prompt]
        for tool in self.tools:
            texts += [tool.spec.name, tool.spec.description]
            for _, name, description in tool.spec.model_parameters:
                texts += [name, description]
        return sum(map(len, texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """A path of tokens for one function, with the units of both ends."""

    tokens: tuple[str, ...]
    paid: TokenUnit
    bought: TokenUnit
    is_exact_output: bool
    """Whether the call says what is bought, and not what is paid."""

    @property
    def direction(self) -> str:
        return f"{_join_words(self.paid.symbol)}_for_{_join_words(self.bought.symbol)}"


def plan_agent(
    contracts: Sequence[ContractIntelligence],
    chain: ChainMetadata,
    options: PlanOptions | None = None,
) -> AgentPlan:
    """Return the tools and the base prompt of an agent for contracts.

    Input: contracts as returned by `inspect_contracts`, for the agent's account; the chain.
    Raises: ConfigError: a name is no function that the account can call, or a function can't be a
        tool; a name of a person is no handle; there are no tools, or too many.
    """
    chosen = PlanOptions() if options is None else options
    planner, people = _Planner(contracts, chain, chosen), chosen.people
    tools = tuple(planner.iter_tools())
    if not tools:
        raise ConfigError(
            f"functions: the account can call none of them{_join_left_out(planner.left_out)}; see "
            "`tools inspect`"
        )
    if len(tools) > MAX_TOOLS:
        raise ConfigError(
            f"{len(tools)} tools: must be at most {MAX_TOOLS}; choose functions by --function NAME"
        )
    words = (chain.native_symbol, *chain.native_names, *(tool.spec.name for tool in tools))
    check_people(people, {}, words)
    context = build_context(contracts, chain, people=people).split("\n", 1)[1]
    native = clean_label(chain.native_symbol, "the native token")
    prompt = f"{TASK} {native} is the native currency.\n\n{context}"
    return AgentPlan(
        account=contracts[0].account,
        tools=tools,
        base_prompt=prompt,
        people=people,
        left_out=tuple(planner.left_out),
        warnings=(*planner.list_warnings(contracts), *_warn_of_number(tools)),
    )


def _warn_of_number(tools: Sequence[PlannedTool]) -> list[str]:
    """Return a warning if the tools are more than the model was measured with."""
    if len(tools) <= MEASURED_TOOLS:
        return []
    by_effect = sorted(tools, key=lambda tool: tool.function.is_read_only)
    names = [*dict.fromkeys(tool.function.name for tool in by_effect)]
    example = " ".join(f"--function {name}" for name in names[:2])
    text = (
        f"{len(tools)} tools: the default model was measured with at most {MEASURED_TOOLS}; choose "
        f"those that you need by --function NAME, such as {example}"
    )
    return [text]


def _join_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return the first functions that are left out, with their reasons."""
    shown = [
        clean_text(f"{each.function.name}: {each.text}", MAX_LISTED_CHARACTERS)
        for each in left_out[:MAX_LISTED_REASONS]
    ]
    more = len(left_out) - len(shown)
    shown += [f"and {more} more"] if more > 0 else []
    return f" ({'; '.join(shown)})" if shown else ""


# -- choice -- #


def choose_functions(
    contracts: Sequence[ContractIntelligence],
    names: Sequence[str],
    handles: Mapping[str, str],
) -> list[tuple[ContractIntelligence, FunctionCapability]]:
    """Return the functions of names, in the order of the contracts; by default all that ran.

    Input:  names such as `NAME`, a signature, or `CONTRACT.NAME`; names of contracts by address.
    Raises: ConfigError: no contract has the function, or the account can't call it.
    """
    pairs = [(contract, each) for contract in contracts for each in contract.functions]
    if not names:
        return [
            (contract, each)
            for contract, each in pairs
            if each.access is Access.OPEN and each.example is not None
        ]
    chosen: set[tuple[str, bytes]] = set()
    for name in names:
        found = [pair for pair in pairs if _is_named(*pair, name, handles)]
        if not found:
            raise ConfigError(f"function {name[:64]}: must be one of {_list_names(contracts)}")
        callable_ = [pair for pair in found if pair[1].access is not Access.FORBIDDEN]
        if not callable_:
            contract, function = found[0]
            text = "; ".join(filter(None, _explain_access(function, handles)))
            raise ConfigError(
                f"function {function.name} of {handles[contract.address]}: the account "
                f"{contract.account} can't call it: {text}"
            )
        chosen |= {(contract.address, each.selector) for contract, each in callable_}
    return [pair for pair in pairs if (pair[0].address, pair[1].selector) in chosen]


def _choose_recipients(
    chosen: Sequence[tuple[ContractIntelligence, FunctionCapability]],
    names: Sequence[str],
    handles: Mapping[str, str],
) -> dict[tuple[str, bytes], frozenset[str]]:
    """Return the recipients that may be any address, by contract and function.

    Raises: ConfigError: a name is no recipient of a chosen function.
    """
    found: dict[tuple[str, bytes], frozenset[str]] = {}
    known = [(pair, path) for pair in chosen for path in list_recipients(pair[1])]
    for name in names:
        named = [
            (contract, function, path)
            for (contract, function), path in known
            if name.endswith(f".{path}")
            and _is_named(contract, function, name.removesuffix(f".{path}"), handles)
        ]
        if not named:
            listed = [f"{function.name}.{path}" for (_, function), path in known]
            raise ConfigError(
                f"recipient {name[:64]}: must be FUNCTION.PARAMETER of a tool, one of "
                f"{', '.join(dict.fromkeys(listed)) or 'none'}"
            )
        for contract, function, path in named:
            key = contract.address, function.selector
            found[key] = found.get(key, frozenset()) | {path}
    return found


def _explain_access(function: FunctionCapability, handles: Mapping[str, str]) -> tuple[str, str]:
    """Return why the account may not call a function, and the next step."""
    reason = name_accounts(clean_text(function.reason), handles).rstrip(".") or "it reverts"
    if reason.startswith("I cannot "):
        reason = reason.partition(" because ")[2] or reason
    return reason, "" if reason in {ALWAYS_REVERTS, HAS_RUN} else ACCOUNT_ADVICE


def _explain_failure(function: FunctionCapability, handles: Mapping[str, str]) -> tuple[str, str]:
    """Return why no call of a function ran, and the option that keeps the function."""
    reason = name_accounts(clean_text(function.reason), handles).rstrip(".")
    reason = reason.removeprefix(f"A call of {function.name} ")
    text = reason or "no call of it was found that runs"
    return text, f"--function {function.name} makes it a tool all the same"


def _is_named(
    contract: ContractIntelligence,
    function: FunctionCapability,
    name: str,
    handles: Mapping[str, str],
) -> bool:
    # Of overloaded functions the name is another one than that of the source.
    own = {function.name, function.signature, function.signature.partition("(")[0]}
    place, dot, rest = name.partition(".")
    if name in own or not dot:
        return name in own
    places = {handles[contract.address], contract.name, contract.symbol, contract.address}
    return place in places and rest in own


def _list_names(contracts: Sequence[ContractIntelligence]) -> str:
    names = [*dict.fromkeys(each.name for contract in contracts for each in contract.functions)]
    more = len(names) - MAX_LISTED_NAMES
    text = ", ".join(names[:MAX_LISTED_NAMES]) or "none"
    return text + (f" and {more} more" if more > 0 else "")


# -- tools -- #


class _Planner:
    """Makes the tools of one agent."""

    def __init__(
        self,
        contracts: Sequence[ContractIntelligence],
        chain: ChainMetadata,
        options: PlanOptions,
    ) -> None:
        self._options = options
        self._account = contracts[0].account
        # The handles of the base prompt, with the account's.
        self._handles = choose_handles(contracts, account=self._account, people=options.people)
        self._chosen = choose_functions(contracts, options.functions, self._handles)
        self._counts = Counter(function.name for _, function in self._chosen)
        self._names = NameTable()
        self._taken: set[str] = set()
        self.left_out = [*self._iter_left_out(contracts)]
        self._native = TokenUnit(symbol=chain.native_symbol, decimals=chain.native_decimals)
        self._recipients = _choose_recipients(
            self._chosen, options.allowed_recipients, self._handles
        )
        self._units = _show_names({NATIVE_UNIT: self._native, **_read_units(contracts)})

    def iter_tools(self) -> Iterator[PlannedTool]:
        """Yield the tools; a function that can't be a tool is left out.

        Raises: ConfigError: a function chosen by name can't be a tool.
        """
        for contract, function in self._chosen:
            name = self._handles[contract.address]
            try:
                specs = self._build_tools(contract, function)
            except ConfigError as error:
                if self._options.functions:
                    signature = clean_text(function.signature)
                    raise ConfigError(f"function {signature} of {name}: {error}") from error
                reason, text = LeftOutReason.UNSUPPORTED, clean_text(str(error))
                self.left_out.append(
                    LeftOut(contract=name, function=function, reason=reason, text=text)
                )
                continue
            for spec in specs:
                yield PlannedTool(contract=name, function=function, spec=spec)

    def list_warnings(self, contracts: Sequence[ContractIntelligence]) -> list[str]:
        """Return the warnings about contracts, each with the contract's name."""
        return [
            f"{self._handles[contract.address]}: {clean_text(name_accounts(each, self._handles))}"
            for contract in contracts
            for each in contract.warnings
        ]

    def _iter_left_out(self, contracts: Sequence[ContractIntelligence]) -> Iterator[LeftOut]:
        """Yield the functions that no call of the account ran, if none were chosen by names."""
        for contract in () if self._options.functions else contracts:
            for function in contract.functions:
                is_closed = function.access is Access.FORBIDDEN
                if not is_closed and function.example is not None:
                    continue
                explain = _explain_access if is_closed else _explain_failure
                text, advice = explain(function, self._handles)
                yield LeftOut(
                    contract=self._handles[contract.address],
                    function=function,
                    reason=LeftOutReason.ACCESS if is_closed else LeftOutReason.EXECUTION,
                    text=text,
                    advice=advice,
                )

    def _build_tools(
        self, contract: ContractIntelligence, function: FunctionCapability
    ) -> list[ToolSpec]:
        """Return the tools of a function: one for each route of tokens, or for each token."""
        routes = [*self._iter_routes(contract, function)]
        if not routes:
            return self._build_asset_tools(contract, function)
        return [self._build_route_tool(contract, function, route) for route in routes]

    def _iter_routes(
        self, contract: ContractIntelligence, function: FunctionCapability
    ) -> Iterator[_Route]:
        """Yield the best path of each two tokens that fits a function."""
        path = _find_path(function)
        wrapped = contract.relationships.wrapped_native
        if path is None:
            return
        has_native_output = not function.is_payable and any(
            each.token == NATIVE_UNIT for each in function.parameters
        )
        seen: set[tuple[str, str]] = set()
        for quoted in contract.relationships.paths:
            first, last = quoted.tokens[0], quoted.tokens[-1]
            is_fit = (not function.is_payable or first == wrapped) and (
                not has_native_output or last == wrapped
            )
            is_known = first in self._units and last in self._units
            if not is_fit or not is_known or (first, last) in seen:
                continue
            seen.add((first, last))
            # A quote says the same of the native token and the wrapped one.
            shown = {wrapped: self._native} if wrapped and function.is_read_only else {}
            paid = self._native if function.is_payable else shown.get(first, self._units[first])
            bought = self._native if has_native_output else shown.get(last, self._units[last])
            yield _Route(
                tokens=quoted.tokens,
                paid=paid,
                bought=bought,
                is_exact_output=_has_exact_output(function, path),
            )

    def _build_route_tool(
        self, contract: ContractIntelligence, function: FunctionCapability, route: _Route
    ) -> ToolSpec:
        path = _find_path(function)
        assert path is not None  # noqa: S101 - functions with routes have one
        parameters = tuple(_describe_amount(each, path, route) for each in function.parameters)
        approvals = [_route_approval(each, function, path, route) for each in function.approvals]
        prepared = replace(
            function,
            description=_describe_route(function, route),
            parameters=parameters,
            approvals=tuple(dict.fromkeys(approvals)),
        )
        fixed = Derivation(
            source=Source.FIXED, value=route.tokens, sentence=f"path: {self._show(route.tokens)}"
        )
        name = f"{function.name}_{route.direction}"
        chosen_name = self._choose_name(name, f"{name}_{self._handles[contract.address]}", function)
        value_text = _describe_value(route)
        spec = self._build(contract, prepared, chosen_name, {path.name: fixed}, value_text)
        return replace(spec, description=self._describe_short(contract, prepared, spec, route))

    def _describe_short(
        self,
        contract: ContractIntelligence,
        function: FunctionCapability,
        spec: ToolSpec,
        route: _Route,
    ) -> str:
        """Return the description of a route, without the values that the tool sets."""
        text = function.description
        symbol = clean_label(route.paid.symbol, "the token")
        if any(each.is_derived for each in spec.allowances):
            text += f"; approves the {symbol} first"
        elif spec.allowances:
            text += f"; needs an approval of {symbol} for {self._handles[contract.address]} first"
        return clean_text(text, MAX_DESCRIPTION_CHARACTERS)

    def _build_asset_tools(
        self, contract: ContractIntelligence, function: FunctionCapability
    ) -> list[ToolSpec]:
        """Return one tool for each token that a function takes amounts of, else one for all.

        A tool with the token as argument can't state the unit of the amount.
        """
        asset = _find_asset(function)
        tokens = [] if asset is None else [each for each in asset.tokens if each in self._units]
        if asset is None or not 1 <= len(tokens) <= MAX_ASSET_TOOLS:
            return [self._build_tool(contract, function)]
        return [
            self._build_tool(
                contract,
                _fix_token(function, asset, token),
                asset={asset.name: Derivation(
                    source=Source.FIXED,
                    value=token,
                    sentence=f"{asset.name}: {self._handles.get(token, token)}",
                )},
                symbol=_join_words(self._units[token].symbol) if len(tokens) > 1 else "",
            )
            for token in tokens
        ]  # fmt: skip

    def _build_tool(
        self,
        contract: ContractIntelligence,
        function: FunctionCapability,
        asset: Mapping[str, Derivation] | None = None,
        symbol: str = "",
    ) -> ToolSpec:
        """Return a tool for a function.

        Input: asset: the token of the amounts, if fixed; the symbol, if there are others.
        """
        handle = self._handles[contract.address]
        overrides: dict[str, Derivation | None] = {**(asset or {})}
        if function.is_read_only:
            owner = Derivation(source=Source.ACCOUNT, sentence=f"{ACCOUNT_HANDLE} is the account")
            overrides = {
                each.name: owner
                for each in function.parameters
                if each.role is ParameterRole.OWNER and each.abi_type == _ADDRESS_TYPE
            }
        text = clean_text(function.description).rstrip(".") or describe_name(function)
        place = f"{symbol}, {handle}" if symbol else handle
        prepared = replace(function, description=f"{text} ({place})")
        short_name = f"{function.name}_{symbol}" if symbol else function.name
        long_name = f"{short_name}_{handle}"
        name = short_name if self._counts[function.name] == 1 else long_name
        chosen_name = self._choose_name(name, long_name, function)
        value_text = _format_unit(self._native, "to send")
        spec = self._build(contract, prepared, chosen_name, overrides, value_text)
        if _is_balance(contract, function):
            unit = self._units.get(contract.address)
            shown = handle if unit is None else clean_label(unit.symbol, handle)
            return replace(spec, description=f"Shows the {shown} balance of {ACCOUNT_HANDLE}")
        return spec

    def _build(
        self,
        contract: ContractIntelligence,
        function: FunctionCapability,
        name: str,
        overrides: Mapping[str, Derivation | None],
        value_text: str,
    ) -> ToolSpec:
        options = self._options
        value = CallValue()
        if function.is_payable:
            value = CallValue(is_chosen=True, most_wei=options.most_wei, description=value_text)
        parameters = tuple(map(_name_derivation, function.parameters))
        return build_tool_spec(
            replace(function, parameters=parameters),
            target=contract.address,
            account=self._account,
            options=ToolOptions(
                name=name,
                contract_name=self._handles[contract.address],
                derives_approvals=options.derives_approvals,
                slippage_bps=options.slippage_bps,
                deadline_seconds=options.deadline_seconds,
                value=value,
                approval_tokens=self._list_tokens(contract),
                allowed_recipients=self._recipients.get(
                    (contract.address, function.selector), frozenset()
                ),
                overrides={**_free_minimums(function), **overrides},
                units=self._units,
                handles=self._handles,
            ),
        )

    def _list_tokens(self, contract: ContractIntelligence) -> tuple[str, ...]:
        """Return the tokens that a model may name, where no execution shows which are taken."""
        tokens = [each for each in self._units if each not in {NATIVE_UNIT, contract.address}]
        return tuple(tokens[:MAX_APPROVAL_TOKENS])

    def _choose_name(self, name: str, longer: str, function: FunctionCapability) -> str:
        selector = function.selector.hex()
        candidate = longer if name in self._taken else name
        shorter = f"call_{selector}{name.removeprefix(function.name)}"
        chosen = self._names.add(candidate, name, shorter, f"call {selector}")
        self._taken.add(candidate)
        return chosen

    def _show(self, tokens: Sequence[str]) -> str:
        return " > ".join(self._handles.get(each, each) for each in tokens)


def _read_units(contracts: Sequence[ContractIntelligence]) -> dict[str, TokenUnit]:
    """Return the units of tokens by address."""
    units: dict[str, TokenUnit] = {}
    for contract in contracts:
        own = TokenFacts(
            address=contract.address,
            symbol=contract.symbol,
            decimals=contract.decimals,
            name=contract.token_name,
        )
        for each in (own, *contract.relationships.tokens):
            if each.symbol and each.decimals is not None:
                units[each.address] = TokenUnit(
                    symbol=each.symbol, decimals=each.decimals, name=each.name
                )
    return units


def _show_names(units: Mapping[str, TokenUnit]) -> dict[str, TokenUnit]:
    """Return units without the names that repeat the symbol, or could be another's."""
    names = Counter(each.name.lower() for each in units.values())
    symbols = {each.symbol.lower() for each in units.values()}
    shown = {}
    for token, unit in units.items():
        words = set(unit.name.lower().split())
        others = symbols - {unit.symbol.lower()}
        is_clear = names[unit.name.lower()] == 1 and not words & others
        is_news = bool(words - set(unit.symbol.lower().split()))
        shown[token] = unit if is_clear and is_news else replace(unit, name="")
    return shown


def _free_minimums(function: FunctionCapability) -> dict[str, None]:
    """Return the minimums that the model has to choose: a trial shows only one for an output."""
    minimums = [
        each.name
        for each in function.parameters
        if each.derivation is not None and each.derivation.source is Source.MINIMUM
    ]
    has_amount = any(is_amount_type(each.abi_type) for each in function.outputs)
    return {} if len(minimums) == 1 and has_amount else dict.fromkeys(minimums)


def _route_approval(
    approval: Approval, function: FunctionCapability, path: Parameter, route: _Route
) -> Approval:
    """Return the approval that a route needs where the example's path needed one."""
    paid = [each.name for each in function.parameters if each.token == f"{path.name}[0]"]
    if not paid:
        return approval
    return replace(approval, token=route.tokens[0], amount=None, parameter=paid[0])


def _name_derivation(parameter: Parameter) -> Parameter:
    """Return a parameter whose derivation is a sentence that names the parameter."""
    derivation, start = parameter.derivation, f"{parameter.name}: "
    if derivation is None or not derivation.sentence or derivation.sentence.startswith(start):
        return parameter
    return replace(
        parameter, derivation=replace(derivation, sentence=f"{start}{derivation.sentence}")
    )


def _find_path(function: FunctionCapability) -> Parameter | None:
    for each in function.parameters:
        if each.role is ParameterRole.PATH and each.abi_type == _PATH_TYPE:
            return each
    return None


def _has_exact_output(function: FunctionCapability, path: Parameter) -> bool:
    ends = {f"{path.name}[-1]", NATIVE_UNIT}
    return any(
        each.role is ParameterRole.AMOUNT and each.token in ends for each in function.parameters
    )


def _find_asset(function: FunctionCapability) -> Parameter | None:
    """Return the only parameter that names the token of an amount; None for none, or several."""
    found = [each for each in function.parameters if each.tokens]
    is_only = len(found) == 1 and found[0].abi_type == _ADDRESS_TYPE
    return found[0] if is_only else None


def _fix_token(function: FunctionCapability, asset: Parameter, token: str) -> FunctionCapability:
    """Return a function whose amounts and approvals are of one token."""
    return replace(
        function,
        parameters=tuple(
            replace(each, token=token) if each.token == asset.name else each
            for each in function.parameters
        ),
        outputs=tuple(
            replace(each, token=token) if each.token == asset.name else each
            for each in function.outputs
        ),
        approvals=tuple(
            replace(each, token=token, amount=None) if each.token in asset.tokens else each
            for each in function.approvals
        ),
    )


def _is_balance(contract: ContractIntelligence, function: FunctionCapability) -> bool:
    """Whether a function returns how much of the contract's own token an account has."""
    roles = [each.role for each in function.parameters]
    tokens = [each.token for each in function.outputs]
    is_own = roles == [ParameterRole.OWNER] and tokens == [contract.address]
    return is_own and function.is_read_only


# -- texts -- #


def _describe_route(function: FunctionCapability, route: _Route) -> str:
    paid = clean_label(route.paid.symbol, "the first token")
    bought = clean_label(route.bought.symbol, "the last token")
    if function.is_read_only and route.is_exact_output:
        return f"Quotes how much {paid} an exact amount of {bought} would cost; swaps nothing"
    if function.is_read_only:
        return f"Quotes how much {bought} a swap of {paid} would give; swaps nothing"
    if route.is_exact_output:
        return f"Swaps {paid} for an exact amount of {bought}"
    return f"Swaps {paid} for {bought}"


def _describe_amount(parameter: Parameter, path: Parameter, route: _Route) -> Parameter:
    """Return a parameter that counts a token of the path, with the token's unit."""
    starts = {
        ParameterRole.MINIMUM: "least amount of ",
        ParameterRole.MAXIMUM: "most of ",
    }
    start = starts.get(parameter.role, "")
    if parameter.token == f"{path.name}[0]":
        text = f"{start}{_format_unit(route.paid, 'to give')}"
    elif parameter.token in {f"{path.name}[-1]", NATIVE_UNIT}:
        text = f"{start}{_format_unit(route.bought, 'to get')}"
    else:
        return parameter
    # The unit is in the text. A token that has a unit would add it again.
    token = "" if parameter.token == NATIVE_UNIT else parameter.token
    return replace(parameter, description=text, token=token)


def _describe_value(route: _Route) -> str:
    text = _format_unit(route.paid, "to give")
    return f"most of {text}" if route.is_exact_output else text


def _format_unit(unit: TokenUnit, purpose: str) -> str:
    return f"{name_unit(unit)} {purpose}, {unit.decimals} decimals"


def _join_words(symbol: str) -> str:
    return clean_label(symbol, "token").replace(" ", "_")
