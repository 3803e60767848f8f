"""A chain with counters, agents that add to them, and a host of runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.host import LifecycleHost
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.manifest import AgentManifest
from pyevm_agents.lifecycle.module import BaseAgentModule
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import PlanStep, Task, TaskPlan
from pyevm_agents.lifecycle.store import RunStore, StoredRun
from pyevm_agents.lifecycle.trust import TrustSnapshot, TrustTable
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.chain.database import Rows
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.module import AgentModule

RUNNER_KEY = PrivateKey(b"\x01" * 32)
RUNNER = Address(RUNNER_KEY.public_key.to_canonical_address())
OPERATOR_KEY = PrivateKey(b"\x02" * 32)
OPERATOR = Address(OPERATOR_KEY.public_key.to_canonical_address())

BEGUN = 1_800_000_000.0
"""Unix seconds of the first reading of the clock of tests."""

COUNTER = load_artifact("Counter")


def answer_by_prompt(request: GenerationRequest) -> str:
    """Add 3 with the counter tool, then answer: the same for the same prompt."""
    prompt = "".join(segment.text for segment in request.segments)
    if "The counter is: " in prompt:
        return " It is done\nFinal Answer: The counter was increased"
    return ' I add three\nAction: CounterTool\nAction Input: {"amount": 3}'


def create_chain(
    rows: Rows | None = None,
    *,
    accounts: Mapping[Address, GenesisAccount] | None = None,
    **settings: Any,  # noqa: ANN401 - of `ChainConfig`
) -> Chain:
    """Return a chain whose model follows `answer_by_prompt`, with two funded accounts."""
    funded = {each: GenesisAccount(balance_wei=10**24) for each in (RUNNER, OPERATOR)}
    config = ChainConfig(models=(PROFILE,), block_gas_limit=60_000_000, **settings)
    models = {PROFILE.name: ByteModel(answer_by_prompt)}
    return Chain(config, models, accounts={**funded, **(accounts or {})}, rows=rows)


def send(
    chain: Chain, to: Address | None, data: bytes, key: PrivateKey = OPERATOR_KEY, value: int = 0
) -> ComputationAPI:
    """Mine a transaction of somebody else; return its computation."""
    sender = Address(key.public_key.to_canonical_address())
    unsigned = chain.build_unsigned_transaction(
        Call(to=to, sender=sender, data=data, value_wei=value)
    )
    signed = unsigned.as_signed_transaction(key, chain_id=chain.config.chain_id)
    computation = chain.mine([signed]).computations[0]
    computation.raise_if_error()
    return computation


def deploy(chain: Chain, name: str, *arguments: object) -> Address:
    """Deploy a contract; return its address."""
    computation = send(chain, None, load_artifact(name).encode_creation(*arguments))
    return Address(computation.msg.storage_address)


def read_number(chain: Chain, counter: Address) -> int:
    """Return the number of a counter at the head."""
    result = chain.call(Call(to=counter, data=COUNTER.encode_call("number")))
    return int.from_bytes(result.output)


def build_manifest(slug: str, **changes: object) -> AgentManifest:
    """Return the manifest of an agent of the operator."""
    manifest = AgentManifest(
        name=slug.title(),
        slug=slug,
        version="0.1.0",
        description="Adds to a counter",
        owner_wallet=OPERATOR,
        operator_wallet=OPERATOR,
    )
    return replace(manifest, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What a step of an `AddingAgent` does: one write for each amount."""

    amounts: tuple[int, ...] = (1,)
    agent: str = "adder"
    depends_on: tuple[str, ...] = ()


class AddingAgent(BaseAgentModule):
    """Adds amounts to a counter: one step of the plan for each `Addition`."""

    def __init__(
        self, counter: Address, additions: Mapping[str, Addition], slug: str = "adder"
    ) -> None:
        super().__init__(build_manifest(slug))
        self.counter = counter
        self.additions = dict(additions)

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        del task, context
        return TaskPlan(
            steps=tuple(
                PlanStep(
                    step_id=step_id,
                    description=f"Add {addition.amounts}",
                    agent_slug=addition.agent,
                    depends_on=addition.depends_on,
                )
                for step_id, addition in self.additions.items()
            )
        )

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task
        for amount in self.additions[step.step_id].amounts:
            outcome = context.session.write(self.counter, COUNTER.encode_call("add", amount))
            if not outcome.is_success:
                raise ValueError(f"add({amount}): {outcome.failure}")
        output = context.session.call(self.counter, COUNTER.encode_call("number"))
        return f"The number is {int.from_bytes(output)}"


@dataclass(kw_only=True)
class RunBench:
    """A host of runs on a chain, and short ways to run a task."""

    chain: Chain
    counter: Address
    host: LifecycleHost

    @property
    def number(self) -> int:
        return read_number(self.chain, self.counter)

    @property
    def store(self) -> RunStore:
        return self.host.store

    def change(self, **changes: object) -> None:
        """Change members of the host."""
        self.host = replace(self.host, **changes)  # type: ignore[arg-type]

    def install(self, *modules: AgentModule) -> None:
        """Install agents, with identities."""
        installed = {module.slug: module for module in modules}
        self.change(modules=installed, trust=build_trust(*installed))

    def run(self, task: Task | None = None, **changes: Any) -> StoredRun:  # noqa: ANN401
        """Run a task to its end; return the run."""
        orchestrator = Orchestrator(self.host)
        return orchestrator.run(orchestrator.start(task or build_task(**changes)))


def build_trust(*slugs: str) -> TrustTable:
    """Return registries that know these agents."""
    return TrustTable(
        {
            slug: TrustSnapshot(agent_slug=slug, has_identity=True, is_registered=True)
            for slug in slugs
        }
    )


def build_task(task_id: str = "task-1", **changes: object) -> Task:
    """Return a task for the agent `adder`."""
    task = Task(task_id=task_id, goal="Count", agent_slug="adder", operator_wallet=OPERATOR)
    return replace(task, **changes)  # type: ignore[arg-type]


def build_host(
    chain: Chain, store: RunStore, *modules: AgentModule, **changes: object
) -> LifecycleHost:
    """Return a host with these agents, and a clock that advances by a second a reading."""
    clock = itertools.count()
    host = LifecycleHost(
        port=LocalChainPort(chain, RUNNER_KEY),
        store=store,
        modules={module.slug: module for module in modules},
        now=lambda: BEGUN + next(clock) / 1_000,
        trust=build_trust(*(module.slug for module in modules)),
    )
    return replace(host, **changes)  # type: ignore[arg-type]


def open_bench(folder: Path, **settings: Any) -> RunBench:  # noqa: ANN401 - of `ChainConfig`
    """Return a bench with one counter, and an agent that adds 1 and 2 to it in two steps."""
    chain = create_chain(**settings)
    counter = deploy(chain, "Counter")
    additions = {
        "step-1": Addition(amounts=(1,)),
        "step-2": Addition(amounts=(2,), depends_on=("step-1",)),
    }
    agent = AddingAgent(counter, additions)
    host = build_host(chain, RunStore(folder / "runs.sqlite"), agent)
    return RunBench(chain=chain, counter=counter, host=host)


def narrow(**limits: object) -> ComputeBudget:
    """Return a budget with some limits changed."""
    return replace(ComputeBudget(), **limits)  # type: ignore[arg-type]
