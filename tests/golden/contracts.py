"""Contracts: metadata of tools, agents' base prompts, functions and digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import keccak, to_canonical_address, to_checksum_address
from eth_utils.abi import abi_to_signature

from precompiles.abi import decode_input_description, decode_string
from pyevm_agents.abi.bundled import list_artifacts, load_artifact
from pyevm_agents.cli.record import SCENARIOS
from pyevm_agents.scenarios.recorded import (
    ASKING_PROMPT,
    COUNTING_PROMPT,
    INSTRUCTIONS,
    NESTED_INSTRUCTION,
    ROLLBACK_INSTRUCTION,
)
from pyevm_agents.scenarios.wallet import BASE_PROMPT, DEFAULT_INSTRUCTION, WalletDemo
from tests.golden.byte_chain import EXECUTOR, Parameter, deploy_tool, open_bench
from tests.golden.json_values import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.models import Vocabulary
    from tests.chain_bench import Bench

TOOL_FUNCTIONS = {"name", "description", "inputDescription"}
NOWHERE = bytes(20)
SAMPLE: tuple[Parameter, ...] = ((4, "amount", "how much"),)

NOTE_ABI = "note(string text)"
NOTE_SELECTOR = keccak(text="note(string)")[:4]

CONSTRUCTORS: Mapping[str, tuple[object, ...]] = {
    "AccountTool": ("Deploy", "Deploys", NOWHERE, bytes(4), (list(SAMPLE),), "Done"),
    "AccountToolV1": ("Note", "Notes a text", NOWHERE, NOTE_SELECTOR, NOTE_ABI),
    "AgeCheckTool": (NOWHERE, NOWHERE),
    "AgentOnlyTool": ("Only", "For agents", NOWHERE, bytes(4), (list(SAMPLE),), True, "", NOWHERE),
    "AgentOnlyToolV1": ("Note", "Notes a text", NOWHERE, NOTE_SELECTOR, NOTE_ABI),
    "AskHumanTool": (NOWHERE, 60, "AskOwner", "Ask the owner"),
    "AsynchronousTool": (0,),
    "BadMetadataTool": (bytes(4), 0, b""),
    "ContractToolV1": ("Note", "Notes a text", NOWHERE, NOTE_SELECTOR, NOTE_ABI),
    "DebtCheckTool": (NOWHERE, NOWHERE),
    "DecideLoanTool": (NOWHERE,),
    "DefaultCheckTool": (NOWHERE, NOWHERE),
    "ExecuteTradeTool": (NOWHERE, NOWHERE, NOWHERE),
    "FixedCheckTool": ("check", NOWHERE, 0, 0),
    "GreedyTool": (0, 0, 0),
    "GuardedPurse": (NOWHERE, 5),
    "LanguageModelTool": (
        *(EXECUTOR, "bytes", "Rate it.", "rate", "Rates posts.", "post", "text of the post"),
        *("Sentiment: ", []),
    ),
    "MeanVarianceTool": (NOWHERE, NOWHERE, NOWHERE, 1, 0),
    "MutableTool": (EXECUTOR,),
    "OptimizerAgent": (EXECUTOR, EXECUTOR, "bytes", []),
    "OwnedAgent": (
        *(EXECUTOR, EXECUTOR),
        *("bytes", "Agent", "An agent", "What to do", "Help.", [], 5),
    ),
    "OwnedAgentV1": (EXECUTOR, EXECUTOR, "bytes", "Agent", "An agent", "What to do", [], 5),
    "OwnedCallbackAgent": (
        (NOWHERE, 1_000_000, 60, 600),
        *("bytes", "Agent", "An agent", "What to do", "Help.", [], 5),
    ),
    "OwnedCallbackAgentV1": (
        (NOWHERE, 1_000_000, 60, 600),
        *("bytes", "Agent", "An agent", "What to do", [], 5),
    ),
    "OwnedConfirmedAgent": (
        *(EXECUTOR, EXECUTOR),
        *("bytes", "Agent", "An agent", "What to do", "Help.", [], 5),
    ),
    "PaymentTool": (NOWHERE,),
    "PlainDecisionTool": ("decide", NOWHERE, True),
    "PlainLoanTool": ("plain",),
    "PriceFeed": (EXECUTOR, "view_prices", ["ETH"], "USDT", 8),
    "RawTool": (b"",),
    "PayBillTool": (NOWHERE,),
    "ReadBillTool": (NOWHERE,),
    "ReadCriteriaTool": (NOWHERE,),
    "ReadProposalTool": (NOWHERE,),
    "RecordTool": (NOWHERE, "read_record", "Reads an entry", "bridge open"),
    "RepaymentCheckTool": (NOWHERE, NOWHERE),
    "RetrievalTool": (NOWHERE, "Handbook", "Finds passages", "Words to look for", 3, 400),
    "RevertingTool": (0,),
    "SavingsCheckTool": (NOWHERE, NOWHERE),
    "ScriptedTool": ("Scripted", "Says what it is told", list(SAMPLE), NOWHERE, "", []),
    "SimpleAgent": (EXECUTOR, "bytes", "Agent", "An agent", "What to do", "Help.", [], 5),
    "SimpleAgentV1": (EXECUTOR, "bytes", "Agent", "An agent", "What to do", [], 5),
    "SimpleCallbackAgent": (
        (NOWHERE, 1_000_000, 60, 600),
        *("bytes", "Agent", "An agent", "What to do", "Help.", [], 5),
    ),
    "SimpleCallbackAgentV1": (
        (NOWHERE, 1_000_000, 60, 600),
        *("bytes", "Agent", "An agent", "What to do", [], 5),
    ),
    "SimpleSmartContractTool": (
        *("Simple", "Calls a contract", NOWHERE, bytes(4)),
        *((list(SAMPLE),), True, "", NOWHERE),
    ),
    "ThresholdAgent": (EXECUTOR, EXECUTOR, []),
    "TradingAgent": (EXECUTOR, EXECUTOR, "bytes", []),
    "UnguardedPurse": (NOWHERE, 5),
    "VoteTool": (NOWHERE, 1, "vote_for", "Votes"),
    "WalletAgentV1": (EXECUTOR, "bytes", NOWHERE, ""),
    "WalletCallbackAgent": ((NOWHERE, 1_000_000, 60, 600), "bytes", NOWHERE, "", NOWHERE),
}
"""Arguments of tools that cannot be made without; the wallet's agent is the demo's."""

SET_LATER = {
    "AbiTool",
    "CouncilInfoAgent",
    "CouncilJudge",
    "CreditScoreAgent",
    "LoanAgent",
    "ModelTool",
    "PinnedTool",
    "PinnedToolV1",
    "PlainLoanAgent",
    "TextModelTool",
    "ToolV1AsV2",
    "ToolV2AsV1",
    "TrustingJudge",
    "VotingAgent",
    "WalletAgent",
    "YieldedTool",
}
"""Tools whose metadata are not made by a constructor alone."""


def collect_contracts(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return the interface of each contract, and the metadata of each tool."""
    bench = open_bench()
    tools = {name: _deployed(bench, name) for name in list_artifacts() if _is_tool(name)}
    wallet = WalletDemo(open_bench().chain)
    return {
        "contracts": {name: _contract(load_artifact(name)) for name in list_artifacts()},
        "tools": {
            name: None if address is None else _metadata(bench, address)
            for name, address in tools.items()
        },
        "the demo's wallet": _wallet(wallet),
        "texts of the demo and the scenarios": {
            "base prompt of the wallet": BASE_PROMPT,
            "default instruction": DEFAULT_INSTRUCTION,
            "base prompt of the counting agent": COUNTING_PROMPT,
            "base prompt of the asking agent": ASKING_PROMPT,
            "instructions": [*INSTRUCTIONS, NESTED_INSTRUCTION, ROLLBACK_INSTRUCTION],
            "scenarios": {name: scenario.comment for name, scenario in SCENARIOS.items()},
        },
        "a tool of every text": _metadata(
            bench, deploy_tool(bench, "Naïve “name”", "a\nb\t", ((1, "é", "\u2028"),))
        ),
    }


def _contract(contract: Artifact) -> Mapping[str, object]:
    elements: list[Any] = [element for element in contract.abi if "name" in element]
    signatures = {(one["type"], abi_to_signature(one)) for one in elements}
    return {
        "ABI": digest_of(contract.abi),
        "bytecode": "0x" + keccak(contract.bytecode).hex(),
        **{
            f"{kind}s": {
                signature: "0x" + keccak(text=signature)[:4].hex()
                for its_kind, signature in sorted(signatures)
                if its_kind == kind
            }
            for kind in sorted({kind for kind, _ in signatures})
        },
    }


def _is_tool(name: str) -> bool:
    contract = load_artifact(name)
    names = {e["name"] for e in contract.abi if e["type"] == "function"}
    return names >= TOOL_FUNCTIONS and contract.bytecode != b"" and name not in SET_LATER


def _deployed(bench: Bench, name: str) -> Address:
    return bench.deploy(name, *CONSTRUCTORS.get(name, ()))


def _metadata(bench: Bench, tool: Address) -> Mapping[str, object]:
    def read(function: str) -> bytes:
        computation = bench.call(tool, load_artifact("IERCAgentTool").encode_call(function))
        computation.raise_if_error()
        return computation.output

    return {
        "name": decode_string(read("name")),
        "description": decode_string(read("description")),
        "parameters": [
            [one.param_type.abi_type, one.name, one.description]
            for one in decode_input_description(read("inputDescription"))
        ],
    }


def _wallet(wallet: WalletDemo) -> Mapping[str, object]:
    """Return the metadata of the demo's agent and its tools."""
    bench = open_bench()
    bench.chain = wallet.chain
    tools = bench.read("WalletAgent", wallet.agent, "getTools")
    return {
        "agent": _metadata(bench, wallet.agent),
        "base prompt": bench.read("WalletAgent", wallet.agent, "basePrompt"),
        "tools": [_metadata(bench, to_canonical_address(tool)) for tool in tools],
        "names": wallet.names,
        "tokens": {name: to_checksum_address(one) for name, one in wallet.tokens.items()},
        "units": {name: str(unit) for name, unit in wallet.unit.items()},
    }
