"""A run with a treasury, a signed confirmation and a validator, in processes that are killed.

The moments are those of `killed_run`, and more: inside of plan, verification, summary and record;
before and after each write to the store's file and to the chain's; before and after the operator's
signature and each block of the run and of its validation.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import event_abi_to_log_topic

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.manifest import ManifestIdentity
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.registry_trust import RegistryTrust, RegistryValidator, read
from pyevm_agents.lifecycle.run_trace import hash_id
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.lifecycle.trust import TrustedSources
from tests.pyevm_agents.lifecycle.killed_run import (
    ADDITIONS,
    RUN,
    SLUGS,
    KilledAgent,
    Killer,
    LogFile,
    describe_stored,
)
from tests.pyevm_agents.lifecycle.run_bench import (
    OPERATOR_KEY,
    RUNNER_KEY,
    RunBench,
    build_host,
    build_task,
    create_chain,
    deploy,
    read_number,
    send,
)
from tests.pyevm_agents.lifecycle.test_registry_trust import (
    VALIDATION,
    VALIDATOR_KEY,
    address_of,
)
from tests.pyevm_agents.lifecycle.test_treasury_runs import Treasury, sign_pending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyevm_agents.chain import Chain
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.recorder import RunLogEntry
    from pyevm_agents.lifecycle.records import (
        ExecutionResult,
        RunSummary,
        Task,
        TaskPlan,
        VerificationResult,
    )
    from pyevm_agents.lifecycle.run_block import PreparedBlock, RunBlock

REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
REGISTER = bytes.fromhex("1aa3a008")
"""Calldata of `register()`."""

RESPONSE_TOPIC = next(
    event_abi_to_log_topic(entry)
    for entry in VALIDATION.abi
    if entry["type"] == "event" and entry["name"] == "ValidationResponse"
)


class KilledRows(LmdbRows):
    """A chain's database that is killed before and after each write."""

    killer: Killer | None = None

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        if self.killer is not None:
            self.killer.pass_moment("chain begun")
        super().write(changes)
        if self.killer is not None:
            self.killer.pass_moment("chain written")


class KilledStore(RunStore):
    """A store that is killed before each write, before the write is complete, and after it."""

    killer: Killer | None = None

    @contextmanager
    def commit(self) -> Iterator[None]:
        if self.killer is None:
            with super().commit():
                yield
            return
        self.killer.pass_moment("store begun")
        with super().commit():
            yield
            self.killer.pass_moment("store changed")
        self.killer.pass_moment("store written")


class KilledPort(LocalChainPort):
    """A port that is killed before and after each block."""

    killer: Killer
    name: str

    def commit(self, block: PreparedBlock) -> RunBlock:
        self.killer.pass_moment(f"{self.name} block begun")
        mined = super().commit(block)
        self.killer.pass_moment(f"{self.name} block mined")
        return mined


class KilledCoordinator(KilledAgent):
    """Is killed inside each of its methods."""

    def plan(self, task: Task, context: AgentContext) -> TaskPlan:
        self.killer.pass_moment("plan inside")
        return super().plan(task, context)

    def verify(
        self, task: Task, execution_result: ExecutionResult, context: AgentContext
    ) -> VerificationResult:
        self.killer.pass_moment("verify inside")
        return super().verify(task, execution_result, context)

    def summarize(
        self,
        task: Task,
        execution_result: ExecutionResult,
        verification_result: VerificationResult,
        context: AgentContext,
    ) -> RunSummary:
        self.killer.pass_moment("summarize inside")
        return super().summarize(task, execution_result, verification_result, context)


class KilledLog(LogFile):
    """Is killed before and after its entry is written."""

    killer: Killer

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        self.killer.pass_moment("record inside")
        super().record(agent_slug, entry)
        self.killer.pass_moment("record written")


def prepare(folder: Path) -> dict[str, str]:
    """Create a chain with a counter, a treasury that confirms always, and two registered agents."""
    chain = create_chain(LmdbRows(folder / "chain"), accounts=build_registries())
    send(chain, address_of(VALIDATOR_KEY), b"", value=10**20)
    for _ in SLUGS:
        send(chain, REGISTRIES.identity, REGISTER)
    counter = deploy(chain, "Counter")
    with RunStore(folder / "unused.sqlite") as store:
        bench = RunBench(chain=chain, counter=counter, host=build_host(chain, store))
        treasury = Treasury(bench)
        treasury.limit(confirms=True)
    chain.close()
    return {"counter": counter.hex(), "treasury": treasury.address.hex()}


def open_bench(folder: Path, prepared: dict[str, str], killer: Killer) -> RunBench:
    """Open chain and store as a host has them, with moments for the killer."""
    counter, treasury = (Address(bytes.fromhex(prepared[name])) for name in ("counter", "treasury"))
    rows = KilledRows(folder / "chain")
    chain = create_chain(rows, accounts=build_registries())
    store = KilledStore(folder / "runs.sqlite")
    KilledAgent.killer = rows.killer = store.killer = killer
    runner, owner, validator = (
        open_port(chain, name, killer) for name in ("runner", "owner", "validator")
    )
    log = KilledLog(folder)
    log.killer = killer
    sources = TrustedSources(validators=frozenset({address_of(VALIDATOR_KEY)}))
    agents = [KilledCoordinator(counter, ADDITIONS, slug=slug) for slug in SLUGS]
    for agent_id, agent in enumerate(agents):
        identity = ManifestIdentity(agent_registry=REGISTRIES.identity, agent_id=agent_id)
        agent.manifest = replace(agent.manifest, erc8004=identity)
    host = build_host(
        chain,
        store,
        *agents,
        port=runner,
        listener=killer.listen,
        recorder=log,
        trust=RegistryTrust(runner, REGISTRIES, sources),
        sources=sources,
        validator=RegistryValidator(owner, validator, REGISTRIES.validation),
        open_envelope=lambda terms: TreasuryEnvelope(terms, runner, treasury),
    )
    return RunBench(chain=chain, counter=counter, host=host)


def open_port(chain: Chain, name: str, killer: Killer) -> KilledPort:
    """Return the port of one of the three keys."""
    keys = {"runner": RUNNER_KEY, "owner": OPERATOR_KEY, "validator": VALIDATOR_KEY}
    port = KilledPort(chain, keys[name])
    port.killer, port.name = killer, name
    return port


def continue_run(folder: Path, prepared: dict[str, str], at: int) -> dict[str, object]:
    """Open everything, continue the run to its end, and describe what is left."""
    killer = Killer(at)
    bench = open_bench(folder, prepared, killer)
    orchestrator = Orchestrator(bench.host)
    killer.pass_moment("started")
    run = orchestrator.run(orchestrator.start(build_task(), RUN))
    if orchestrator.find_pending_confirmation(RUN) is not None:
        killer.pass_moment("confirmation begun")
        confirmation = sign_pending(bench, RUN)
        killer.pass_moment("confirmation signed")
        orchestrator.confirm(RUN, confirmation)
        killer.pass_moment("confirmation stored")
        run = orchestrator.run(RUN)
    left = {"ended": run.phase is None, **describe_stored(bench.host.store, folder)}
    left |= describe_chain(bench, Address(bytes.fromhex(prepared["treasury"])))
    bench.host.store.close()
    bench.chain.close()
    return {"left": left, "moments": killer.moments}


def describe_chain(bench: RunBench, treasury: Address) -> dict[str, object]:
    """Return what the run left on the chain: blocks, writes, requests and responses."""
    chain, port = bench.chain, bench.host.port
    heights = range(1, chain.head.block_number + 1)
    logs = [
        log
        for height in heights
        for receipt in chain.block_with_receipts(chain.block(height).header).receipts
        for log in receipt.logs
    ]
    run = read(port, "RunTreasury", treasury, "getRun", hash_id(RUN))
    task = read(port, "RunTreasury", treasury, "getTask", hash_id("task-1"))
    address = REGISTRIES.validation
    return {
        "number": read_number(chain, bench.counter),
        "transactions": [len(chain.block(height).transactions) for height in heights],
        "treasury": [run[0], run[7], *task[2:4]],
        "requests": [
            len(read(port, "ValidationRegistry", address, "getAgentValidations", agent_id))
            for agent_id in range(len(SLUGS))
        ],
        "responses": sum(
            log.address == address and log.topics[0] == int.from_bytes(RESPONSE_TOPIC)
            for log in logs
        ),
        "response": read(port, "ValidationRegistry", address, "getSummary", 0, [], "")[1],
    }
