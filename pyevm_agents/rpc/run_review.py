"""Effects of an agent's run, beside the request: approvals, accounts and differences.

A run is compared with the request where the transaction calls the agent itself, by `instruct` or
`run`: the task is the request alone. The task of an agent that another contract calls is more than
the request.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from eth.constants import ZERO_ADDRESS
from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.address_names import NUMBERED_HANDLE
from pyevm_agents.agents.asset_moves import NATIVE_DECIMALS, NATIVE_SCALE, TokenScale
from pyevm_agents.agents.request_check import RunEffects, find_differences
from pyevm_agents.agents.request_reading import AmountUnit
from pyevm_agents.rpc.agent_runs import extract_question
from pyevm_agents.rpc.view_calls import compute_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from precompiles.language_model import ModelProfile
    from pyevm_agents.agents.asset_moves import TokenApproval
    from pyevm_agents.agents.request_check import RequestDifference
    from pyevm_agents.agents.trace import TracedStep
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.rpc.value_flow import ValueFlow
    from pyevm_agents.tracing.tracer import CallFrame

ENTRIES = (
    "instruct(string)",
    "run(((uint8,bytes)[],bytes),address)",
    "run(((uint8,bytes)[]),address)",
)
"""Functions that ask an agent: `WalletAgent`'s and `OwnedAgent`'s, and those of both versions."""

MAX_ACCOUNTS = 64
"""The most contracts that are asked whether they are an agent's account."""

MAX_UNITS = 64
"""The most names whose contracts are asked for the unit of a token."""

NATIVE_SYMBOL = re.compile(
    r"(?<![0-9A-Za-z])([0-9A-Za-z]{1,16}) is the native (?:currency|token)"
    r"|The native token is ([0-9A-Za-z]{1,16})",
    re.ASCII,
)
"""The native currency in a base prompt. Source: `tools deploy`, `tools inspect --context`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRun:
    """An agent's request, and the agent's knowledge."""

    request: str
    agents: frozenset[Address]
    """The asked agent, and those nested in it."""

    tools: frozenset[Address]
    arguments: Sequence[object]
    """Of the tools, as JSON values."""

    names: Mapping[str, Address]
    native_symbol: str


def read_asked_run(
    steps: Sequence[TracedStep], profiles: Sequence[ModelProfile]
) -> AskedRun | None:
    """Return the request to the outermost agent of a transaction; None if unknown.

    Input: the steps of the transaction's agents; the models of the chain.
    """
    first = min(steps, key=lambda step: step.depth, default=None)
    profile = next((each for each in profiles if first and each.name == first.model), None)
    request = None if first is None else extract_question(first, profile)
    if first is None or request is None:
        return None
    inputs = (step.decision.action_input for step in steps)
    return AskedRun(
        request=request,
        agents=frozenset(step.agent for step in steps),
        tools=frozenset(step.tool for step in steps if step.tool is not None),
        arguments=[json.loads(each) for each in inputs if each is not None],
        names=list_names(first.handles),
        native_symbol=read_native_symbol(first.prompt),
    )


def list_names(handles: Sequence[tuple[str, str]]) -> dict[str, Address]:
    """Return the addresses of the handles that are names."""
    return {
        handle: Address(to_canonical_address(address))
        for handle, address in handles
        if not NUMBERED_HANDLE.fullmatch(handle)
    }


def read_native_symbol(base_prompt: str) -> str:
    """Return the native currency's symbol in a base prompt; `ETH` by default."""
    match = NATIVE_SYMBOL.search(base_prompt)
    return str(NATIVE_SCALE.symbol) if match is None else match[1] or match[2]


@dataclass(frozen=True, kw_only=True)
class RunReview:
    """The review of one run."""

    flow: ValueFlow
    asked: AskedRun | None
    """None without a request."""

    asker: Address
    is_compared: bool
    """Whether the request alone tells the agent what to do."""

    @classmethod
    def of_transaction(
        cls, flow: ValueFlow, steps: Sequence[TracedStep], profiles: Sequence[ModelProfile]
    ) -> RunReview:
        """Return the review of a transaction, mined or simulated.

        Input: the effects; the steps of the agents; the models of the chain.
        """
        asked, root = read_asked_run(steps, profiles), flow.calls.tree.root
        if asked is None or root is None or root.frame.error is not None:
            return cls(flow=flow, asked=asked, asker=ZERO_ADDRESS, is_compared=False)
        frame = root.frame
        is_entry = frame.input[:SELECTOR_BYTES] in map(compute_selector, ENTRIES)
        is_compared = is_entry and frame.to in asked.agents
        return cls(flow=flow, asked=asked, asker=frame.sender, is_compared=is_compared)

    def serialize(self) -> Json:
        """Serialize the review.

        Output: `request`, null if unknown; `accounts`, the agent's and those that the tools act
                through; `approvals` that the transaction leaves; `differences`, null if not
                compared.
        """
        found = self.find_differences()
        accounts = sorted(self.find_accounts())
        return {
            "request": None if self.asked is None else self.asked.request,
            "accounts": [self.flow.calls.encode_address(each) for each in accounts],
            "approvals": self.flow.serialize_approvals(self._approvals),
            "differences": None if found is None else serialize_differences(found),
        }

    def find_accounts(self) -> frozenset[Address]:
        """Return the agents, and the contracts that the tools act through.

        A tool calls such an account, and the account names the agent as the owner. A recipient with
        this claim is no account: no tool calls it.
        """
        if self.asked is None:
            return frozenset()
        called = dict.fromkeys(
            each.to
            for each in self._frames
            if each.kind == "CALL" and each.input and each.sender in self.asked.tools
        )
        return self.asked.agents | {
            each for each in islice(called, MAX_ACCOUNTS) if self._read_agent(each)
        }

    def find_differences(self) -> tuple[RequestDifference, ...] | None:
        """Return the differences between request and run; None if not compared."""
        if self.asked is None or not self.is_compared:
            return None
        units, tokens = self._read_units(self.asked)
        return find_differences(
            self.asked.request, self._build_effects(self.asked, tokens), self.asked.names, units
        )

    @cached_property
    def _approvals(self) -> list[TokenApproval]:
        return self.flow.find_approvals()

    @cached_property
    def _frames(self) -> list[CallFrame]:
        """The calls that took effect."""
        nodes = self.flow.calls.tree.walk_nodes()
        return [node.frame for node, is_failed in nodes if not is_failed]

    def _read_agent(self, account: Address) -> bool:
        """Return whether a contract claims to be the account of one of the agents."""
        agents = frozenset() if self.asked is None else self.asked.agents
        told = self.flow.after.calls.read_value(account, "agent()", "address")
        return told is not None and to_canonical_address(str(told)) in agents

    def _build_effects(
        self, asked: AskedRun, tokens: Mapping[Address | None, TokenScale]
    ) -> RunEffects:
        return RunEffects(
            accounts=self.find_accounts() | asked.tools,
            asker=self.asker,
            transfers=self.flow.transfers,
            approvals=self._approvals,
            arguments=asked.arguments,
            calls=frozenset(
                (each.sender, each.to)
                for each in self._frames
                if each.kind == "CALL" and each.input
            ),
            contacts=frozenset(each.to for each in self._frames),
            balances=self.flow.read_balances_before(),
            tokens=tokens,
        )

    def _read_units(
        self, asked: AskedRun
    ) -> tuple[dict[str, AmountUnit], dict[Address | None, TokenScale]]:
        """Return the units of amounts by symbol, and the symbols and decimals of tokens."""
        native = TokenScale(symbol=asked.native_symbol, decimals=NATIVE_DECIMALS)
        tokens: dict[Address | None, TokenScale] = {None: native}
        units = {asked.native_symbol: AmountUnit(token=None, base_units=10**NATIVE_DECIMALS)}
        names = {address: name for name, address in asked.names.items()}
        for token in islice(self._iter_tokens(names), MAX_UNITS):
            scale = tokens[token] = self.flow.after.read_scale(token)
            if scale.decimals is None:
                continue
            unit = AmountUnit(token=token, base_units=10**scale.decimals)
            if token in names:
                units[names[token]] = unit
                tokens[token] = TokenScale(symbol=names[token], decimals=scale.decimals)
            if scale.symbol and scale.symbol not in asked.names:
                units.setdefault(scale.symbol, unit)
        return units, tokens

    def _iter_tokens(self, names: Mapping[Address, str]) -> Iterator[Address]:
        moved = (each.token for each in self.flow.transfers)
        approved = (each.token for each in self._approvals)
        yield from dict.fromkeys(
            each
            for each in (*moved, *approved, *names)
            if each is not None and self.flow.calls.names.names.get_code(each)
        )


def serialize_differences(differences: Sequence[RequestDifference]) -> list[Json]:
    """Serialize differences."""
    return [{"kind": each.kind.value, "text": each.text} for each in differences]
