"""A book of bills on a served chain, and a deployed agent that pays them from a treasury.

The contracts are those of `contracts/examples/bills/`. The accounts are the node's own: the first
one owns the treasury, the second one deploys everything else. So each address is known before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import keccak, to_canonical_address, to_checksum_address
from rlp import encode as encode_rlp

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.node import DEFAULT_MNEMONIC
from pyevm_agents.node.keys import DEFAULT_PATH, derive_keys
from pyevm_agents.scenarios.run.world import MAX_ITERATIONS, PAYER_PROMPT
from tests.pyevm_agents.cli.agent.served_process import call_rpc
from tests.pyevm_agents.control.agents_of_tests import make_agent

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.manifests.agent_folder import AgentFolder

OWNER, DEPLOYER, VALIDATOR = (
    each.public_key.to_canonical_address()
    for each in derive_keys(DEFAULT_MNEMONIC, 3, DEFAULT_PATH)
)
UNIT = 10**6
SUPPLY, HELD, CAP = 10**6 * UNIT, 2_000 * UNIT, 500 * UNIT
BILLS = {"Acme": 340, "Omar": 75, "Mia": 120, "Quinn": 900}
"""Whole tokens; the bill of Quinn is above the cap of a task."""

RUN = "run(((uint8,bytes)[],bytes),address)"
"""The function of an `IERCAgent` that a treasury lets agents call."""

PAY_BY_AGENT = """from pyevm_agents.agents.run_calls import encode_run
        outcome = context.session.write(bytes.fromhex("{agent}"), encode_run(task.goal))
        if not outcome.is_success:
            raise ValueError(outcome.failure)
        wei = outcome.tool_uses[-1].observation
"""


def find_created(account: bytes, nonce: int) -> bytes:
    """Return the address of the contract that an account's transaction deploys."""
    return keccak(encode_rlp([account, nonce]))[12:]


TREASURY = find_created(OWNER, 0)
TOKEN, BOOK, TOOL, AGENT = (find_created(DEPLOYER, nonce) for nonce in range(4))


def find_payee(supplier: str) -> str:
    """Return the address that a supplier is paid at."""
    return to_checksum_address(keccak(text=supplier)[12:])


@dataclass(frozen=True)
class BillOffice:
    """The chain of a served process."""

    url: str

    def open(self) -> None:
        """Deploy the token, the book, the tool and the agent."""
        token, book = load_artifact("DemoToken"), load_artifact("BillBook")
        texts = ("payer", "Pays bills", "what to do", PAYER_PROMPT)
        executor = (EXECUTOR_ADDRESS, ALIASES[1])
        agent = load_artifact("OwnedAgent")
        creations = (
            (TOKEN, token.encode_creation("Dollar", "USDC", 6, SUPPLY)),
            (BOOK, book.encode_creation(DEPLOYER, TOKEN, TREASURY)),
            (TOOL, load_artifact("PayBillTool").encode_creation(BOOK)),
            (AGENT, agent.encode_creation(TREASURY, *executor, *texts, [TOOL], MAX_ITERATIONS)),
        )
        for address, creation in creations:
            receipt = self.send(DEPLOYER, None, creation)
            assert to_canonical_address(receipt["contractAddress"]) == address
        for supplier, tokens in BILLS.items():
            bill = (supplier, find_payee(supplier), tokens * UNIT)
            self.send(DEPLOYER, BOOK, book.encode_call("add", *bill))
        self.send(DEPLOYER, BOOK, book.encode_call("setAgent", AGENT, TOOL))
        self.send(DEPLOYER, TOKEN, token.encode_call("transfer", TREASURY, HELD))

    def approve(self) -> None:
        """Let the book take tokens of the treasury, as its owner does."""
        data = load_artifact("RunTreasury").encode_call("approve", TOKEN, BOOK, HELD)
        self.send(OWNER, TREASURY, data)

    def send(self, sender: bytes, to: bytes | None, data: bytes) -> Any:  # noqa: ANN401 - JSON
        """Send a transaction of the node's account; return its receipt."""
        form = {"from": to_checksum_address(sender), "data": "0x" + data.hex()}
        if to is not None:
            form["to"] = to_checksum_address(to)
        sent = call_rpc(self.url, "eth_sendTransaction", form)
        receipt = call_rpc(self.url, "eth_getTransactionReceipt", sent)
        assert receipt["status"] == "0x1", receipt
        return receipt

    def count_tokens(self, account: str) -> int:
        """Return the base units of an account."""
        data = load_artifact("DemoToken").encode_call("balanceOf", account)
        call = {"to": to_checksum_address(TOKEN), "data": "0x" + data.hex()}
        return int(call_rpc(self.url, "eth_call", call, "latest"), 16)

    def read_spendable(self, *accounts: str) -> dict[str, Any]:
        """Return what a run could spend: block, balances, nonces and tokens."""
        holders = (*accounts, *map(to_checksum_address, (OWNER, TREASURY, VALIDATOR)))
        state: dict[str, Any] = {"block": call_rpc(self.url, "eth_blockNumber")}
        for each in (*holders, *map(find_payee, BILLS)):
            wei = call_rpc(self.url, "eth_getBalance", each, "latest")
            nonce = call_rpc(self.url, "eth_getTransactionCount", each, "latest")
            state[each] = (wei, nonce, self.count_tokens(each))
        return state


def make_payer(parent: Path, slug: str) -> AgentFolder:
    """Write the folder of an agent whose step asks the deployed agent."""
    return make_agent(parent, slug, PAY_BY_AGENT.format(agent=AGENT.hex()))
