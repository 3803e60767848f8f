"""`agent_*` methods on a wallet agent with a scripted model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, SwappableModel, answer, use
from pyevm_agents.node import Keys, Node
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.rpc.service import NodeService

EXECUTOR = "0x0000000000000000000000000000000000000019"
DEFAULT = ScheduleFile()
OTHER = ScheduleFile(
    schedule={
        "executor_base_gas": 31,
        "input_byte_gas": 37,
        "metadata_read_gas": 1_000_000,
        "tool_gas": 41,
        "parameter_gas": 43,
        "scan_gas": 47,
    },
    models={
        "default": {
            "cold_prompt_token_gas": 230,
            "warm_prompt_token_gas": 3,
            "output_token_gas": 29,
        }
    },
)

DEPOSIT, DONE = use("DeployTool", "Deposit first.", asset="USDC", amount=10), answer("Done.")


class Bench:
    """A node with a wallet agent."""

    def __init__(self, vocabulary: Vocabulary, schedule: ScheduleFile = DEFAULT) -> None:
        facts = vocabulary.profile_facts
        profile = build_model_profile(facts)
        config = schedule.apply_to(
            ChainConfig(models=(profile,), profile_fingerprint=facts.fingerprint)
        )
        model = SwappableModel(ScriptedModel([DEPOSIT, DONE], vocabulary=vocabulary))
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        self.chain = Chain(config, {profile.name: model}, accounts=accounts)
        self.wallet = WalletDemo(self.chain)
        self.node = Node(self.chain, now=lambda: 2e9, keys=Keys([DEVELOPMENT_KEY]))
        self.service: NodeService = build_node_service(self.node, send_seconds=240)
        self.session = Session("test")

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self.service.call(method, list(params), self.session)

    def instruction(self, text: str = "Deposit 10 USDC") -> dict[str, str]:
        data = load_artifact("WalletAgent").encode_call("instruct", text)
        return {
            "from": "0x" + DEVELOPMENT_ADDRESS.hex(),
            "to": "0x" + self.wallet.agent.hex(),
            "data": "0x" + data.hex(),
        }


@pytest.fixture
def bench(vocabulary: Vocabulary) -> Iterator[Bench]:
    it = Bench(vocabulary)
    yield it
    it.node.close()


@pytest.fixture(params=[DEFAULT, OTHER], ids=["default", "other"])
def priced(vocabulary: Vocabulary, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Equal under two gas schedules."""
    it = Bench(vocabulary, request.param)
    yield it
    it.node.close()


def test_models_and_schedule_are_those_of_genesis(bench: Bench) -> None:
    (model,) = bench.ask("agent_models")
    profile = bench.chain.config.models[0]
    assert (model["name"], model["aliases"]) == (profile.name, ["llama_model_3", "default"])
    assert (model["coldPromptTokenGas"], model["outputTokenGas"]) == (6_000, 10_000)
    schedule = bench.ask("agent_schedule")
    assert schedule["executor"] == "0x0000000000000000000000000000000000000019"
    assert schedule["configDigest"] == "0x" + bench.chain.config.digest.hex()
    assert schedule["gas"] == {
        "EXECUTOR_BASE_GAS": 3_000,
        "INPUT_BYTE_GAS": 16,
        "METADATA_READ_GAS": 2_000_000,
        "TOOL_GAS": 5_000,
        "PARAMETER_GAS": 2_000,
        "SCAN_GAS": 250,
    }


def test_another_schedule_is_told_as_the_chain_has_it(vocabulary: Vocabulary) -> None:
    bench = Bench(vocabulary, OTHER)
    (model,) = bench.ask("agent_models")
    told = model["coldPromptTokenGas"], model["warmPromptTokenGas"], model["outputTokenGas"]
    assert told == (230, 3, 29)
    schedule = bench.ask("agent_schedule")
    assert {name.lower(): gas for name, gas in schedule["gas"].items()} == OTHER.schedule
    assert schedule["configDigest"] == "0x" + bench.chain.config.digest.hex()
    bench.node.close()


def test_an_estimate_is_the_least_that_is_enough(priced: Bench) -> None:
    bench, wanted = priced, priced.instruction()
    told = bench.ask("agent_estimate", wanted)
    (model,) = bench.ask("agent_models")
    cold, warm = model["coldPromptTokenGas"], model["warmPromptTokenGas"]
    assert told["promptGas"] == cold * told["coldTokens"] + warm * told["warmTokens"]
    assert told["outputGas"] == model["outputTokenGas"] * told["outputTokens"]
    assert told["gasUsed"] == told["evmGas"] + told["promptGas"] + told["outputGas"]
    assert told["inferences"] == told["steps"] == 2
    assert hex(told["gasLimit"]) == bench.ask("eth_estimateGas", wanted)
    kept = bench.ask("evm_snapshot")
    for gas, status in ((told["gasLimit"] - 1, "0x0"), (told["gasLimit"], "0x1")):
        sent = bench.ask("eth_sendTransaction", wanted | {"gas": hex(gas)})
        assert bench.ask("eth_getTransactionReceipt", sent)["status"] == status
        assert bench.ask("evm_revert", kept)
        kept = bench.ask("evm_snapshot")


def test_a_trace_has_the_steps_and_adds_up(priced: Bench) -> None:
    bench = priced
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    receipt = bench.ask("eth_getTransactionReceipt", sent)
    trace = bench.ask("agent_traceTransaction", sent)
    assert trace["gas"]["used"] == int(receipt["gasUsed"], 16)
    first, last = trace["steps"]
    assert (first["number"], first["action"], first["thought"]) == (
        1,
        "DeployTool",
        "Deposit first.",
    )
    assert first["observation"].startswith("Success")
    assert "Deposit 10 USDC" in first["prompt"]
    assert (last["answer"], last["action"]) == ("Done.", None)
    for kind in ("cold", "warm", "output", "forced"):
        assert trace["tokens"][kind] == sum(step["tokens"][kind] for step in (first, last))
    assert first["seconds"] >= 0
    (model,) = bench.ask("agent_models")
    cold, warm = model["coldPromptTokenGas"], model["warmPromptTokenGas"]
    for one in (trace, first, last):
        tokens, gas = one["tokens"], one["gas"]
        assert gas["prompt"] == cold * tokens["cold"] + warm * tokens["warm"]
        assert gas["output"] == model["outputTokenGas"] * tokens["output"]


def test_a_transaction_to_the_executor_itself_is_told_in_full(priced: Bench) -> None:
    types = ["string", "string", "address[]", "string[]", "string[]", "string"]
    data = bytes.fromhex("7e636a24") + encode(types, ["default", "Be kind.", [], [], [], "Hi"])
    wanted = {"from": "0x" + DEVELOPMENT_ADDRESS.hex(), "to": EXECUTOR, "data": "0x" + data.hex()}
    priced.ask("agent_setScript", [{"answer": "Hello."}])
    told = priced.ask("agent_estimate", wanted)
    (model,) = priced.ask("agent_models")
    assert told["inferences"] == 1
    assert told["promptGas"] == model["coldPromptTokenGas"] * told["coldTokens"] > 0
    assert told["outputGas"] == model["outputTokenGas"] * told["outputTokens"] > 0
    gas = priced.ask("agent_schedule")["gas"]
    intrinsic = 21_000 + sum(16 if byte else 4 for byte in data)
    own = gas["EXECUTOR_BASE_GAS"] + gas["INPUT_BYTE_GAS"] * len(data)
    assert told["evmGas"] == intrinsic + own
    trace = priced.ask("agent_traceTransaction", priced.ask("eth_sendTransaction", wanted))
    assert trace["steps"] == []
    assert trace["gas"] == {
        "used": told["gasUsed"],
        "evm": told["evmGas"],
        "prompt": told["promptGas"],
        "output": told["outputGas"],
    }


def test_a_script_answers_until_it_is_cleared(bench: Bench) -> None:
    steps = [{"answer": "I would rather not.", "thought": "No."}]
    assert bench.ask("agent_setScript", steps)
    assert bench.ask("agent_models")[0]["isScripted"]
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    (step,) = bench.ask("agent_traceTransaction", sent)["steps"]
    assert (step["thought"], step["answer"]) == ("No.", "I would rather not.")
    assert bench.ask("agent_clearScript")
    assert bench.ask("agent_traceTransaction", sent)["steps"] == [step]
    assert not bench.ask("agent_clearScript")
    assert not bench.ask("agent_models")[0]["isScripted"]


def told_of(bench: Bench, sent: str) -> list[Any]:
    """Return all results that need a replay of a transaction."""
    traced = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
    block = bench.ask("eth_getTransactionByHash", sent)["blockNumber"]
    logs = bench.ask("debug_traceTransaction", sent)
    return [
        bench.ask("debug_traceTransaction", sent, traced),
        (logs["gas"], logs["returnValue"], len(logs["structLogs"])),
        bench.ask("trace_transaction", sent),
        bench.ask("trace_replayBlockTransactions", block, ["trace", "stateDiff"]),
        bench.ask("debug_executionWitness", block),
    ]


@pytest.mark.parametrize("missing", [0, 100_000], ids=["ends", "its output is cut"])
def test_what_was_mined_is_traced_as_it_was_whatever_answers_now(
    bench: Bench, missing: int
) -> None:
    """Replays of mined transactions use no steps of a script."""
    bench.ask("agent_setScript", [{"answer": "First. " * 20}])
    gas = int(bench.ask("eth_estimateGas", bench.instruction("Hi")), 16) - missing
    sent = bench.ask("eth_sendTransaction", bench.instruction("Hi") | {"gas": hex(gas)})
    before = told_of(bench, sent)
    receipt = bench.ask("eth_getTransactionReceipt", sent)
    assert int(receipt["status"], 16) == (missing == 0)
    (gas_used, _, _) = before[1]
    assert gas_used == int(receipt["gasUsed"], 16)
    bench.ask("agent_setScript", [{"answer": "Second."}, {"answer": "Third."}])
    assert told_of(bench, sent) == before
    said = bench.ask("eth_call", bench.instruction("Hi"))
    assert b"Second." in bytes.fromhex(said[2:])
    bench.ask("agent_clearScript")
    assert told_of(bench, sent) == before


@pytest.mark.parametrize("amount", [10, "10", "0xa", "0x0A"], ids=repr)
def test_a_number_may_be_written_as_a_text(bench: Bench, amount: object) -> None:
    """JavaScript's JSON numbers have 53 bits, and viem encodes a BigInt as a string."""
    deposit = {"tool": "DeployTool", "arguments": {"asset": "USDC", "amount": amount}}
    bench.ask("agent_setScript", [deposit, {"answer": "10"}])
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    first, last = bench.ask("agent_traceTransaction", sent)["steps"]
    assert '"amount": 10}' in first["input"]
    assert last["answer"] == "10"


def test_a_number_in_a_text_that_is_none_to_the_tool_is_refused_as_one(bench: Bench) -> None:
    for amount, why in (
        (str(2**256), "0 to 2"),
        ("-5", "amount=-5: must be"),
        ("ten", "amount='ten'"),
    ):
        deposit = {"tool": "DeployTool", "arguments": {"asset": "USDC", "amount": amount}}
        bench.ask("agent_setScript", [deposit])
        with pytest.raises(RpcError, match=re.escape(why)):
            bench.ask("eth_sendTransaction", bench.instruction())


def test_a_trace_says_that_a_transaction_failed_and_why(bench: Bench) -> None:
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    told = bench.ask("agent_traceTransaction", sent)
    assert (told["isSuccess"], told["reason"]) == (True, None)
    deposit = {"tool": "DeployTool", "arguments": {"asset": "USDC", "amount": 10**6}}
    bench.ask("agent_setScript", [deposit])
    sent = bench.ask("eth_sendTransaction", bench.instruction("All of it"))
    assert bench.ask("eth_getTransactionReceipt", sent)["status"] == "0x0"
    told = bench.ask("agent_traceTransaction", sent)
    assert not told["isSuccess"]
    assert told["reason"].startswith("ToolCallFailed(")
    short = bench.instruction("Hi") | {"gas": hex(200_000)}
    told = bench.ask("agent_traceTransaction", bench.ask("eth_sendTransaction", short))
    assert told["steps"] == []
    assert "ran out of gas" in told["reason"]


def test_a_script_says_each_step_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates, sends and traces request it repeatedly."""
    said: list[str] = []
    plain = ScriptedModel.generate

    def noted(model: ScriptedModel, request: GenerationRequest) -> Generation:
        generation = plain(model, request)
        said.append(generation.text)
        return generation

    monkeypatch.setattr(ScriptedModel, "generate", noted)
    for text in ("First.", "Second."):
        bench.ask("agent_setScript", [{"answer": text}])
        gas = bench.ask("eth_estimateGas", bench.instruction())
        sent = bench.ask("eth_sendTransaction", bench.instruction() | {"gas": gas})
        (step,) = bench.ask("agent_traceTransaction", sent)["steps"]
        assert step["answer"] == text
        assert len([one for one in said if one.endswith(f"Final Answer: {text}")]) == 1


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("agent_setScript", [[{"tool": "A", "answer": "B"}]], "steps"),
        ("agent_setScript", [[{"tool": "A", "arguments": {"x": 1.5}}]], "type float"),
        ("agent_setScript", [[5]], "must be an object"),
        ("agent_setScript", [["x"], "other"], "unknown model other"),
        ("agent_traceTransaction", ["0x" + "00" * 32], "not found"),
    ],
)
def test_what_is_wrong_is_named(bench: Bench, method: str, params: list[object], told: str) -> None:
    with pytest.raises(RpcError, match=told):
        bench.ask(method, *params)
