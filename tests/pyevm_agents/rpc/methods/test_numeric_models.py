"""Numeric models over JSON-RPC: listed, called, estimated and traced with names and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.numeric_executor import compute_run_gas
from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.errors import INVALID_PARAMS, RESOURCE_UNAVAILABLE, RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.tracing.call_tracer import CallTree
from pyevm_agents.tracing.call_tree_text import iter_call_lines
from pyevm_agents.tracing.vm import make_traced_vm
from tests.byte_model import PROFILE, ByteModel
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, SumModel, describe_call, run_call
from tests.pyevm_agents.chain.test_numeric_models import STORES, STORES_CODE
from tests.pyevm_agents.rpc.local_node import ETHER, FIRST, LocalNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from precompiles.numeric_model import NumericModel

TO = "0x" + MODELS.hex()
INPUT = (50, 7, -3)
OUTPUT = "0x" + encode(["int256[]"], [(54, 46)]).hex()
GAS = hex(1_000_000)


class Broken(SumModel):
    """A model that fails."""

    def run(self, values: object) -> tuple[int, ...]:
        del values
        raise RuntimeError("no memory")


@pytest.fixture
def start() -> Iterator[Callable[..., LocalNode]]:
    """Start nodes with numeric models, and with a language model unless it is left out."""
    nodes: list[Node] = []

    def make(
        models: dict[str, NumericModel] | None = None, *, has_language_model: bool = True
    ) -> LocalNode:
        models = {"sum": SumModel()} if models is None else models
        profiles = (PROFILE,) if has_language_model else ()
        config = ChainConfig(models=profiles, numeric_models=build_numeric_profiles(models))
        keys = derive_keys(DEFAULT_MNEMONIC, 1)
        rich = GenesisAccount(balance_wei=10_000 * ETHER)
        accounts = {Address(to_canonical_address(FIRST)): rich}
        accounts[STORES] = GenesisAccount(code=STORES_CODE, nonce=1)
        language = {profile.name: ByteModel([]) for profile in profiles}
        chain = Chain(config, language, numeric_models=models, accounts=accounts)
        node = Node(chain, now=lambda: 2e9, keys=Keys(keys))
        nodes.append(node)
        return LocalNode(node, build_node_service(node, send_seconds=240))

    yield make
    for node in nodes:
        node.close()


def form(data: bytes, to: str = TO) -> dict[str, str]:
    return {"from": FIRST, "to": to, "data": "0x" + data.hex(), "value": "0x0", "gas": GAS}


@pytest.mark.parametrize("has_language_model", [True, False])
def test_the_models_are_listed(
    start: Callable[..., LocalNode], *, has_language_model: bool
) -> None:
    node = start(
        {"sum": SumModel(), "another": SumModel(salt=1, operations=2)},
        has_language_model=has_language_model,
    )
    config = node.node.chain.config
    assert node.ask("agent_numericModels") == [
        {
            "name": name,
            "digest": "0x" + SumModel(salt=salt, operations=operations).digest.hex(),
            "inputDecimals": [2, 2, 0],
            "outputDecimals": [2, 4],
            "operations": operations,
            "gas": compute_run_gas(config.numeric_schedule, profile, name),
        }
        for name, salt, operations, profile in (
            ("another", 1, 2, config.numeric_models[0]),
            ("sum", 0, 41, config.numeric_models[1]),
        )
    ]
    assert len(node.ask("agent_models")) == has_language_model
    assert node.ask("eth_config")["current"]["precompiles"]["NUMERIC_MODELS"] == TO
    assert start({}).ask("agent_numericModels") == []


def test_a_models_file_is_given_if_it_has_one(start: Callable[..., LocalNode]) -> None:
    file = build_numeric_file()
    node = start({"line": NumericFile(file), "sum": SumModel()})
    assert node.ask("agent_numericModelFile", "line") == "0x" + file.hex()
    assert node.ask("agent_numericModelFile", "sum") is None
    for wrong in ("other", 5):
        with pytest.raises(RpcError) as told:
            node.ask("agent_numericModelFile", wrong)
        assert told.value.code == INVALID_PARAMS


def test_a_call_and_its_estimate_are_answered(start: Callable[..., LocalNode]) -> None:
    node = start()
    assert node.ask("eth_call", form(run_call(INPUT)), "latest") == OUTPUT
    described = node.ask("eth_call", form(describe_call()), "latest")
    types = ["bytes32", "uint8[]", "uint8[]", "uint256"]
    (_, _, _, gas) = decode(types, bytes.fromhex(described[2:]))
    call = form(run_call(INPUT)) | {"gas": "0xf4240"}
    estimate = int(node.ask("eth_estimateGas", call), 16)
    assert node.ask("eth_call", call | {"gas": hex(estimate)}, "latest") == OUTPUT
    with pytest.raises(RpcError):
        node.ask("eth_call", call | {"gas": hex(estimate - 1)}, "latest")
    sent = node.ask("eth_sendTransaction", form(run_call(INPUT), "0x" + STORES.hex()))
    traced = node.ask("agent_traceCalls", sent)
    assert traced["call"]["calls"][0]["gasUsed"] == gas


def test_an_access_list_leaves_the_address_out(start: Callable[..., LocalNode]) -> None:
    node = start()
    made = node.ask("eth_createAccessList", form(run_call(INPUT), "0x" + STORES.hex()), "latest")
    assert [entry["address"] for entry in made["accessList"]] == ["0x" + STORES.hex()]


def test_a_refusal_has_its_data_and_known_models(start: Callable[..., LocalNode]) -> None:
    with pytest.raises(RpcError) as refused:
        start().ask("eth_call", form(run_call(INPUT, "other")), "latest")
    assert refused.value.data == "0x453151b3" + encode(["string"], ["other"]).hex()
    assert "UnknownModel" in str(refused.value)
    assert "this chain's models: 'bytes', 'llama_model_3', 'sum'" in str(refused.value)


def test_a_fault_is_an_internal_error_and_enters_no_block(
    start: Callable[..., LocalNode],
) -> None:
    node = start({"sum": Broken()})
    for method, parameters in (
        ("eth_call", [form(run_call(INPUT)), "latest"]),
        ("eth_estimateGas", [form(run_call(INPUT))]),
        ("eth_sendTransaction", [form(run_call(INPUT))]),
    ):
        with pytest.raises(RpcError, match="numeric model sum failed: no memory") as failed:
            node.ask(method, *parameters)
        assert failed.value.code == RESOURCE_UNAVAILABLE
    assert node.number("eth_blockNumber") == 0
    node.send()
    assert node.number("eth_blockNumber") == 1


def test_traces_show_a_call_with_its_name_and_arguments(start: Callable[..., LocalNode]) -> None:
    node = start()
    sent = node.ask("eth_sendTransaction", form(run_call(INPUT), "0x" + STORES.hex()))
    (call,) = node.ask("agent_traceCalls", sent)["call"]["calls"]
    assert (call["contract"], call["function"]) == ("NumericModels", "runModel")
    assert call["arguments"] == [
        {"name": "modelId", "type": "string", "value": "sum"},
        {"name": "input", "type": "int256[]", "value": ["50", "7", "-3"]},
    ]
    assert call["result"] == [{"name": "output", "type": "int256[]", "value": ["54", "46"]}]
    plain = node.ask("debug_traceTransaction", sent, {"tracer": "callTracer"})
    (inner,) = plain["calls"]
    assert (inner["to"], inner["output"]) == (TO, OUTPUT)
    assert inner["input"] == "0x" + run_call(INPUT).hex()
    described = node.ask("eth_sendTransaction", form(describe_call()))
    top = node.ask("agent_traceCalls", described)["call"]
    assert (top["function"], top["arguments"][0]["value"]) == ("describeModel", "sum")
    assert [each["name"] for each in top["result"]] == [
        "digest",
        "inputDecimals",
        "outputDecimals",
        "gas",
    ]


def read_lines(chain: Chain, sent: str) -> list[str]:
    """Return the lines of a transaction's calls, as the node's log prints them."""
    match = chain.find_transaction(bytes.fromhex(sent[2:]))
    assert match is not None
    tree = CallTree()
    chain.replay(*match, lambda vm_class: make_traced_vm(vm_class, tree))
    names = AddressNames(known=chain.known_contracts, get_code=chain.code)
    return [line.text for line in iter_call_lines(tree, (), names)]


def test_the_log_of_calls_names_the_model(start: Callable[..., LocalNode]) -> None:
    node = start()
    sent: Any = node.ask("eth_sendTransaction", form(run_call(INPUT), "0x" + STORES.hex()))
    lines = read_lines(node.node.chain, sent)
    called = 'NumericModels::runModel(modelId: "sum", input: [50, 7, -3])'
    assert lines[1].partition("] ")[2] == called
    assert lines[2] == "← [Return] output: [54, 46]"


def test_a_simulation_runs_numeric_models(start: Callable[..., LocalNode]) -> None:
    node = start()
    call = {key: value for key, value in form(run_call(INPUT)).items() if key != "value"}
    (block,) = node.ask("eth_simulateV1", {"blockStateCalls": [{"calls": [call]}]}, "latest")
    assert block["calls"][0]["returnData"] == OUTPUT
    assert block["calls"][0]["status"] == "0x1"


def test_snapshots_and_reset_keep_the_models(start: Callable[..., LocalNode]) -> None:
    node = start()
    snapshot = node.ask("evm_snapshot")
    node.ask("eth_sendTransaction", form(run_call(INPUT), "0x" + STORES.hex()))
    assert node.ask("eth_getStorageAt", "0x" + STORES.hex(), "0x0", "latest") == f"0x{54:064x}"
    node.ask("evm_revert", snapshot)
    assert node.ask("eth_getStorageAt", "0x" + STORES.hex(), "0x0", "latest") == f"0x{0:064x}"
    assert node.ask("eth_call", form(run_call(INPUT)), "latest") == OUTPUT
