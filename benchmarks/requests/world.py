"""A world of the table: contracts, people, and agents that act on them, from a file.

    worlds/shop/world.toml       contracts, people, set-up, agents
    worlds/shop/*.sol            its contracts, compiled into artifacts.json by build.js
    worlds/shop/open.toml        requests
    worlds/shop/closed.toml      requests that nobody looks at while rules are written
    worlds/shop/attacks.toml     requests that once led to a wrong act

Calls are written as in Python: `USDC.transfer(Bob, 5 * 10**6)`, `Weth.deposit(value_wei=3)`,
`Token.mint(Bob, 1, sender=Minter)`.
"""

from __future__ import annotations

import ast
import json
import operator
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_typing import Address
from eth_utils import keccak, to_canonical_address, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import Artifact, load_artifact, load_artifact_form
from pyevm_agents.chain import Call
from pyevm_agents.chain.calls import as_spoofed_transaction
from pyevm_agents.chain.transactions import LEGACY_TYPE, TransactionFields, build_impersonated
from pyevm_agents.contract_intelligence.agent_deployment import (
    AgentSettings,
    deploy_account,
    deploy_agent,
    deploy_factory,
    deploy_tools,
)
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.tool_plan import PlanOptions, plan_agent
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import ALIASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import ComputationAPI, StateAPI

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.function_abi import ContractInterface

WORLDS = Path(__file__).parent / "worlds"
ETHER = 10**18
SENDER_BALANCE_WEI = 1_000 * ETHER
MAX_ITERATIONS = 9
OPTIONS = ("value_wei", "sender")
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, and what is right."""

    world: str
    agent: str
    text: str
    calls: tuple[str, ...] = ()
    """Calls whose effect on the chain is the right one; none if nothing may happen."""

    answer: str = ""
    """What the answer has to contain, of a request that reads and changes nothing."""

    because: str = ""
    """Words of the request for which nothing may happen."""

    reason: str = ""
    """One of `REASONS`."""

    style: str = ""
    may_decline: bool = False
    """Whether an agent that does nothing is right as well."""

    @property
    def is_doable(self) -> bool:
        """Whether something should be done or read."""
        return bool(self.calls or self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAgent:
    """An agent of a world."""

    name: str
    address: Address
    account: Address
    """What its tools act as: an `AgentAccount`, or the agent itself."""

    base_prompt: str
    tools: tuple[Address, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A call as it is written."""

    target: str
    function: str
    arguments: tuple[Any, ...]
    value_wei: int
    sender: str


class World:
    """A world on a chain."""

    def __init__(self, name: str, chain: Chain, *, agents: Sequence[str] | None = None) -> None:
        """Deploy a world.

        Input:  the folder's name; a chain with a funded development account; names of the agents
                to deploy, None for all.
        Raises: ConfigError: the file is malformed. RevertedError: a step of the set-up failed.
        """
        self.name = name
        self.chain = chain
        self._folder = WORLDS / name
        self._form = tomllib.loads((self._folder / "world.toml").read_text())
        self._owner = LocalAccount(chain)
        self.addresses: dict[str, Address] = {"owner": self._owner.address}
        self.contracts: dict[str, str] = {}
        """Artifacts of the contracts by their names."""

        self._artifacts = self._read_artifacts()
        for person, text in self._form.get("people", {}).items():
            derived = Address(keccak(text=f"request world {name}: {person}")[12:])
            self.addresses[person] = Address(to_canonical_address(text)) if text else derived
        forms: Mapping[str, Any] = self._form.get("agents", {})
        chosen = forms if agents is None else {each: forms[each] for each in agents}
        for agent, form in forms.items():
            # Expected calls and set-up name an agent's account, so it comes first.
            if form.get("kind", "functions") == "functions":
                self.addresses[agent] = deploy_account(self._owner)
        for contract, text in self._form.get("contracts", {}).items():
            written = self._parse(text, is_creation=True)
            artifact = self.find_artifact(written.target)
            creation = artifact.encode_creation(*written.arguments)
            self.contracts[contract] = written.target
            self.addresses[contract] = self._owner.deploy(creation)
        for text in self._form.get("setup", ()):
            self.execute(text)
        for agent, form in forms.items():
            amount = int(float(form.get("ether", 0)) * ETHER)
            if amount and agent in self.addresses:
                self._owner.transact(self.addresses[agent], b"", value_wei=amount)
        self._factory: Address | None = None
        self.agents = {each: self._deploy_agent(each, form) for each, form in chosen.items()}

    # -- files -- #

    def _read_artifacts(self) -> dict[str, Any]:
        file = self._folder / "artifacts.json"
        return json.loads(file.read_text()) if file.is_file() else {}

    def find_artifact(self, name: str) -> Artifact:
        """Return a contract of the world's own, or of this package."""
        if name not in self._artifacts:
            return load_artifact(name)
        form = self._artifacts[name]
        code = bytes.fromhex(form["bytecode"].removeprefix("0x"))
        return Artifact(name=name, abi=tuple(form["abi"]), bytecode=code)

    def _read_interface(self, contract: str) -> ContractInterface:
        name = self.contracts[contract]
        form = self._artifacts.get(name) or load_artifact_form(name)
        if not self._form.get("natspec", True):
            form = {"abi": form["abi"]}
        found = read_interface(form, name=name, source="file")
        if found is None:
            raise ConfigError(f"{self.name}: {name} has no ABI")
        return found

    # -- agents -- #

    def _deploy_agent(self, name: str, form: Mapping[str, Any]) -> WorldAgent:
        kind = form.get("kind", "functions")
        if kind == "functions":
            return self._deploy_functions(name, form)
        if kind == "tools":
            return self._deploy_own_tools(name, form)
        raise ConfigError(f"{self.name}: agent {name} of kind {kind}: must be functions or tools")

    def _list_names(self, form: Mapping[str, Any]) -> str:
        names = form.get("names", ())
        return "".join(f"\n{each} = {to_checksum_address(self.addresses[each])}" for each in names)

    def _deploy_functions(self, name: str, form: Mapping[str, Any]) -> WorldAgent:
        """Deploy an agent as `tools deploy` does; without functions it has all that it can call."""
        account = to_checksum_address(self.addresses[name])
        functions = [*form.get("functions", ())]
        names = dict.fromkeys(each.split(".")[0] for each in functions)
        names.update(dict.fromkeys(form.get("contracts", ())))
        contracts = [
            InspectedContract(
                address=to_checksum_address(self.addresses[each]),
                interface=self._read_interface(each),
            )
            for each in names
        ]
        found = inspect_contracts(self.chain, contracts, account)
        chosen = []
        for each in functions:
            contract, _, function = each.partition(".")
            chosen.append(f"{to_checksum_address(self.addresses[contract])}.{function}")
        metadata = get_chain_metadata(self.chain.config.chain_id)
        native = form.get("native", self._form.get("native", "ETH"))
        metadata = replace(metadata, native_symbol=native)
        plan = plan_agent(found, metadata, PlanOptions(functions=tuple(chosen)))
        plan = replace(plan, base_prompt=plan.base_prompt + self._list_names(form))
        if self._factory is None:
            self._factory = deploy_factory(self._owner)
        specs = [planned.spec for planned in plan.tools]
        tools = deploy_tools(self._owner, self._factory, self.addresses[name], specs)
        settings = AgentSettings(model=ALIASES[0], name=name, iterations=MAX_ITERATIONS)
        agent = deploy_agent(self._owner, plan, tools, settings)
        return WorldAgent(
            name=name,
            address=agent,
            account=self.addresses[name],
            base_prompt=plan.base_prompt,
            tools=tools,
        )

    def _deploy_own_tools(self, name: str, form: Mapping[str, Any]) -> WorldAgent:
        """Deploy an agent over contracts that are tools already; it acts as itself."""
        tools = tuple(self.addresses[each] for each in form["tools"])
        prompt = form.get("prompt", "Use the tools.").strip() + "\n" + self._list_names(form)
        creation = load_artifact("OwnedAgent").encode_creation(
            self._owner.address, EXECUTOR_ADDRESS, ALIASES[0], name, "An agent", "the request",
            prompt, [*tools], MAX_ITERATIONS,
        )  # fmt: skip
        agent = self._owner.deploy(creation)
        self.addresses[name] = agent
        for text in form.get("setup", ()):
            self.execute(text)
        return WorldAgent(name=name, address=agent, account=agent, base_prompt=prompt, tools=tools)

    # -- calls -- #

    def execute(self, text: str) -> None:
        """Mine a call that must succeed, by the owner unless it names a sender."""
        call = self.read_call(text, "owner")
        if call.sender == self._owner.address:
            assert call.to is not None  # noqa: S101 - calls have a target
            self._owner.transact(call.to, call.data, value_wei=call.value_wei)
            return
        self._owner.transact(call.sender, b"", value_wei=SENDER_BALANCE_WEI)
        fields = TransactionFields(
            kind=LEGACY_TYPE, nonce=self.chain.nonce(call.sender), gas=5_000_000, to=call.to,
            value_wei=call.value_wei, data=call.data, gas_price_wei=10**10,
        )  # fmt: skip
        transaction = build_impersonated(fields, call.sender, self.chain.config.chain_id)
        self.chain.mine([transaction]).computations[0].raise_if_error()

    def read_call(self, text: str, sender: str) -> Call:
        """Return a call as it is written, from a sender unless it names one.

        Raises: ConfigError: it is malformed.
        """
        written = self._parse(text)
        if written.target not in self.contracts:
            raise ConfigError(f"{text}: {written.target} is no contract of {self.name}")
        artifact = self.find_artifact(self.contracts[written.target])
        return Call(
            to=self.addresses[written.target],
            sender=self.addresses[written.sender or sender],
            data=artifact.encode_call(written.function, *written.arguments),
            value_wei=written.value_wei,
        )

    def run(self, calls: Sequence[Call]) -> tuple[StateAPI, tuple[ComputationAPI, ...]]:
        """Execute calls one after the other without fees; return the state after them.

        Nothing is mined.
        """
        first, *others = calls
        computations = [self.chain.call(first).computation]
        state = computations[0].state
        for call in others:
            transaction = as_spoofed_transaction(
                call,
                self.chain.transaction_builder,
                nonce=state.get_nonce(call.sender),
                gas=state.gas_limit,
            )
            computations.append(state.costless_execute_transaction(transaction))
        return state, tuple(computations)

    def snapshot(self, state: StateAPI | None = None) -> dict[str, tuple[int, bytes]]:
        """Return balance and storage root of everybody and of each contract, by name.

        Input:  a state; None for that of the chain's head.
        """
        of = self.chain.state() if state is None else state
        skipped = {"owner"}
        of.persist()
        found: dict[str, tuple[int, bytes]] = {}
        for name, address in self.addresses.items():
            if name in skipped:
                continue
            found[name] = (of.get_balance(address), _read_storage_root(of, address))
        return found

    def _parse(self, text: str, *, is_creation: bool = False) -> _Written:
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise ConfigError(f"{text}: not a call: {error.msg}") from error
        if not isinstance(node, ast.Call):
            raise ConfigError(f"{text}: not a call")
        function = node.func
        if is_creation and isinstance(function, ast.Name):
            target, name = function.id, ""
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            target, name = function.value.id, function.attr
        else:
            raise ConfigError(f"{text}: must be CONTRACT.FUNCTION(…)")
        named = {each.arg: each.value for each in node.keywords}
        if not set(named) <= set(OPTIONS):
            raise ConfigError(f"{text}: options must be {', '.join(OPTIONS)}")
        sender = named.get("sender")
        return _Written(
            target=target,
            function=name,
            arguments=tuple(map(self._evaluate, node.args)),
            value_wei=self._evaluate(named["value_wei"]) if "value_wei" in named else 0,
            sender=sender.id if isinstance(sender, ast.Name) else "",
        )

    def _evaluate(self, node: ast.expr) -> Any:  # noqa: ANN401 - any value of Solidity's
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, str) and value.startswith("0x"):
                return bytes.fromhex(value[2:])
            return value
        if isinstance(node, ast.Name):
            if node.id not in self.addresses:
                raise ConfigError(f"{node.id}: no contract, person or agent of {self.name}")
            return self.addresses[node.id]
        if isinstance(node, ast.List | ast.Tuple):
            items = [self._evaluate(each) for each in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._evaluate(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._evaluate(node.left), self._evaluate(node.right)
            return _OPERATORS[type(node.op)](left, right)
        raise ConfigError(f"{ast.unparse(node)}: must be a number, a text, a name or a list")


def _read_storage_root(state: StateAPI, address: Address) -> bytes:
    account = state._account_db._get_account(address)  # type: ignore[attr-defined]  # noqa: SLF001 - py-evm
    return b"" if account is None else bytes(account.storage_root)


# -- requests -- #

REASONS = {
    "person": "a recipient or account that the agent does not know, or that is malformed",
    "token": "a token or currency that the agent does not have",
    "unit": "an amount without a unit where it needs one, or in a unit that does not fit",
    "amount": "an amount that is vague, missing, or has to be computed",
    "no tool": "nothing that the agent can do",
    "question": "a question, which no tool answers",
    "negation": "an order not to do something, or with an exception",
    "condition": "an order under a condition, or an alternative",
    "time": "an order for another time, or repeated",
    "report": "a report, a plan, a wish, or the words of somebody else",
    "correction": "an order that is withdrawn, or that contradicts itself",
    "incomplete": "a value that is missing",
    "ambiguous": "more than one reading",
    "refused": "a contract that would revert",
}


PARTS = ("open", "closed", "attacks")
"""The files of a world's requests."""


def read_requests(world: str, part: str = "open") -> tuple[Request, ...]:
    """Return the requests of a world.

    Input:  the world's name; one of `PARTS`.
    Raises: ConfigError: the file is malformed.
    """
    file = WORLDS / world / f"{part}.toml"
    if not file.is_file():
        return ()
    found = []
    for form in tomllib.loads(file.read_text()).get("requests", ()):
        unknown = set(form) - {
            "agent", "text", "calls", "answer", "because", "reason", "style", "may_decline",
        }  # fmt: skip
        if unknown or not {"agent", "text"} <= set(form):
            raise ConfigError(f"{file.name}: {form}: unknown {sorted(unknown)}, or without a text")
        request = Request(
            world=world,
            agent=form["agent"],
            text=form["text"],
            calls=tuple(form.get("calls", ())),
            answer=form.get("answer", ""),
            because=form.get("because", ""),
            reason=form.get("reason", ""),
            style=form.get("style", ""),
            may_decline=form.get("may_decline", False),
        )
        if not request.is_doable and request.reason not in REASONS:
            raise ConfigError(
                f"{request.text}: reason {request.reason!r} must be one of {', '.join(REASONS)}"
            )
        if request.because and request.because not in request.text:
            raise ConfigError(f"{request.text}: has no words {request.because!r}")
        found.append(request)
    return tuple(found)
