"""A run in nine phases, and one that its operator confirms: docs/lifecycle.md."""

import time
from pathlib import Path

from eth_keys.datatypes import PrivateKey
from pyevm_agents.lifecycle.host import LifecycleHost
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.manifest import AgentManifest
from pyevm_agents.lifecycle.module import BaseAgentModule
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.records import Task
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.trust import TrustThreshold
from pyevm_agents.testing import AgentChain

KEY = PrivateKey(bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"))
OPERATOR = KEY.public_key.to_canonical_address()  # the first account of every development chain

MANIFEST = AgentManifest(
    name="Payer",
    slug="payer",
    version="0.1.0",
    description="Pays Bob",
    owner_wallet=OPERATOR,
    operator_wallet=OPERATOR,
)


class Payer(BaseAgentModule):
    """An agent that pays Bob the price of a tool of its host."""

    def perform_step(self, task, step, context):
        price = context.session.use_tool("price", asset="ETH")  # a host tool: an API call
        outcome = context.session.write(bytes([0xB0]) * 20, value_wei=price)  # a transaction
        if not outcome.is_success:
            raise ValueError(outcome.failure)
        return f"paid {price} wei"


chain = AgentChain().chain
host = LifecycleHost(
    port=LocalChainPort(chain, KEY),  # the chain, and the key that signs its transactions
    store=RunStore(Path("runs.sqlite")),
    modules={"payer": Payer(MANIFEST)},
    threshold=TrustThreshold(requires_identity=False, requires_registration=False),
    tools={"price": lambda arguments: 2_000},
    now=time.time,
)
orchestrator = Orchestrator(host)
task = Task(task_id="bob-1", goal="Pay Bob", agent_slug="payer", operator_wallet=OPERATOR)
run = orchestrator.run(orchestrator.start(task))
print(run.run_id, run.status.value)

from dataclasses import replace

from pyevm_agents.lifecycle.envelopes import Confirmation, PlainRunEnvelope


def open_envelope(terms):
    """Require the operator's signature of each dry run."""
    return PlainRunEnvelope(terms, chain.config.chain_id, requires_confirmation=True)


orchestrator = Orchestrator(replace(host, open_envelope=open_envelope))
run = orchestrator.run(orchestrator.start(replace(task, task_id="bob-2")))
pending = orchestrator.find_pending_confirmation(run.run_id)  # the run waits after its dry run

expiry = int(time.time()) + 600
signed = orchestrator.hash_confirmation(run.run_id, expiry)  # EIP-712: DryRun(taskId, runId, …)
signature = KEY.sign_msg_hash(signed).to_bytes()
orchestrator.confirm(
    run.run_id, Confirmation(trace=pending.digests.trace, expiry=expiry, signature=signature)
)
run = orchestrator.run(run.run_id)
print(run.run_id, run.status.value)
