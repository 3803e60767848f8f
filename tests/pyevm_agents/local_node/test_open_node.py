"""A node in one call: what each field does, and that everything is closed at the end."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.errors import ConfigError
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.local_node.config import EXCLUSIVE_FIELDS
from pyevm_agents.models import ScriptedModel, answer
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.node import MiningMode
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.recordings import record_chain
from pyevm_agents.recordings.codec import write_fixture
from pyevm_agents.rpc.errors import RpcError
from tests.byte_model import ByteModel
from tests.deadlines import HANG_SECONDS
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, make_numeric_bench, run_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyevm_agents.local_node import OpenNode

FIRST, SECOND = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
)
CODE = "0x" + "57" * 20
EXECUTOR = "0x0000000000000000000000000000000000000019"
HISTORY = "0x0000f90827f1c53a10cb7a02335b175320002935"
OTHER_WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"

CALL = {"to": "0x" + MODELS.hex(), "data": "0x" + run_call((1, 2), "line").hex()}
OUTPUT = "0x" + encode(["int256[]"], [(4, 7)]).hex()


def plain(**fields: Any) -> NodeConfig:  # noqa: ANN401 - fields of many types
    """Return the config of a plain chain on a free port."""
    return NodeConfig(**{"port": 0, "models": (), **fields})


def try_to_open(**fields: Any) -> None:  # noqa: ANN401 - as above
    """Open a node without a server, and close the node."""
    with open_node(plain(**fields), serve="port" in fields or "host" in fields):
        pass


def send(opened: OpenNode, value: int = 1) -> str:
    """Send ether from the first account to the second; return the hash."""
    form = {"from": FIRST, "to": SECOND, "value": hex(value), "gas": "0x5208"}
    return str(opened.request("eth_sendTransaction", form))


def post(url: str, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
    """Return a result of a request over HTTP."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(url, json.dumps(body).encode())  # noqa: S310 - a loopback address
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:  # noqa: S310 - as above
        return json.load(response)["result"]


def browse(url: str) -> tuple[str, str]:
    """Return the content type and the body that a browser gets."""
    request = urllib.request.Request(url, headers={"Accept": "text/html,*/*;q=0.8"})  # noqa: S310 - a loopback address
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:  # noqa: S310 - as above
        return response.headers["Content-Type"], response.read().decode()


@pytest.fixture
def scripted() -> Iterator[ScriptedModel]:
    """A model that answers at once, with the tokens of the default model."""
    with ScriptedModel(lambda _: answer("Done.")) as model:
        yield model


def ask_executor(text: str = "Hi") -> dict[str, str]:
    """Return a transaction that asks the executor without tools."""
    types = ["string", "string", "address[]", "string[]", "string[]", "string"]
    data = bytes.fromhex("7e636a24") + encode(types, ["default", "Be kind.", [], [], [], text])
    return {"from": FIRST, "to": EXECUTOR, "data": "0x" + data.hex()}


# -- the server -- #


def test_two_nodes_serve_at_once_on_ports_of_their_own() -> None:
    with open_node(plain()) as first, open_node(plain(chain_id=5)) as second:
        assert first.urls is not None
        assert second.urls is not None
        urls = first.urls.http, second.urls.http
        send(first)
        found = [(post(url, "eth_chainId"), post(url, "eth_blockNumber")) for url in urls]
        assert found == [("0x7a69", "0x1"), ("0x5", "0x0")]
        assert first.urls.websocket == urls[0].replace("http://", "ws://")
        assert first.urls.page == urls[0] + "/"
    for url in urls:
        with pytest.raises(urllib.error.URLError):
            post(url, "eth_chainId")
    assert "pyevm-agents-server" not in {each.name for each in threading.enumerate()}


@pytest.mark.parametrize(
    ("serves_page", "kind", "text"), [(True, "text/html", "/app.js"), (False, "text/plain", "curl")]
)
def test_browsers_get_the_page_unless_it_is_off(kind: str, text: str, *, serves_page: bool) -> None:
    with open_node(plain(serves_page=serves_page)) as opened:
        assert opened.urls is not None
        assert (opened.urls.page is not None) is serves_page
        found = browse(opened.urls.http)
    assert found[0].startswith(kind)
    assert text in found[1]


def test_without_a_server_there_is_no_port_and_no_thread() -> None:
    with open_node(plain(port=1, host="1.2.3.4"), serve=False) as opened:
        assert opened.urls is None
        assert opened.request("eth_accounts")[:2] == [FIRST, SECOND]
        assert "pyevm-agents-server" not in {each.name for each in threading.enumerate()}
        with pytest.raises(RpcError):
            opened.request("eth_nothing")


def open_and_fail(config: NodeConfig) -> None:
    with open_node(config) as opened:
        send(opened)
        raise ZeroDivisionError


@pytest.mark.parametrize("fails", ["the body", "the port"])
def test_everything_is_closed_after_an_exception(
    fails: str, tmp_path: Path, scripted: ScriptedModel
) -> None:
    fields: Mapping[str, Any] = {"state_dir": tmp_path, "models": [scripted]}
    with open_node(plain()) as other:
        assert other.urls is not None
        port = int(other.urls.http.rsplit(":", 1)[1]) if fails == "the port" else 0
        with pytest.raises(ConfigError if port else ZeroDivisionError):
            open_and_fail(plain(**fields, port=port))
    threads = {each.name for each in threading.enumerate()}
    assert "pyevm-agents-server" not in threads
    with open_node(plain(**fields), serve=False) as opened:  # The folder is free.
        assert opened.request("eth_blockNumber") == hex(0 if port else 1)
        assert opened.request("eth_call", ask_executor())


# -- fields -- #


@pytest.mark.parametrize(
    ("fields", "read", "found"),
    [
        ({}, lambda it: it.request("eth_chainId"), "0x7a69"),
        ({"chain_id": 9}, lambda it: it.request("eth_chainId"), "0x9"),
        ({"accounts": 2}, lambda it: it.request("eth_accounts"), [FIRST, SECOND]),
        (
            {"mnemonic": OTHER_WORDS, "accounts": 1, "derivation_path": "m/44'/60'/0'/0/"},
            lambda it: [it.node.keys.require_key(one) for one in it.node.keys.addresses],
            derive_keys(OTHER_WORDS, 1),
        ),
        ({"balance_ether": 3}, lambda it: it.request("eth_getBalance", FIRST), hex(3 * 10**18)),
        ({"impersonates_all": True}, lambda it: it.node.keys.can_send(bytes(20)), True),
        ({"gas_limit": 40_000_000}, lambda it: it.chain.head.gas_limit, 40_000_000),
        ({"base_fee_wei": 7}, lambda it: it.chain.head.base_fee_per_gas, 7),
        ({"timestamp_seconds": 1_000}, lambda it: it.chain.head.timestamp, 1_000),
        ({"fork_name": "cancun"}, lambda it: it.request("eth_getCode", HISTORY), "0x"),
        ({"code_size_bytes": 30_000}, lambda it: it.chain.config.code_size_bytes, 30_000),
        (
            {"registries": TESTNET},
            lambda it: it.chain.code(REGISTRY_ADDRESSES[TESTNET].identity) != b"",
            True,
        ),
        ({"artifacts": ()}, lambda it: it.notes, ()),
    ],
)
def test_a_field_reaches_the_node(
    fields: Mapping[str, Any], read: Callable[[OpenNode], object], found: object
) -> None:
    with open_node(plain(**fields), serve=False) as opened:
        assert read(opened) == found


@pytest.mark.parametrize("wei", [0, 7, 1_000_000, 1_000_000_000])
def test_a_given_base_fee_is_that_of_blocks_0_and_1(wei: int, tmp_path: Path) -> None:
    """As in anvil; by default genesis is that of recorded chains."""
    (file := tmp_path / "genesis.json").write_text(json.dumps({"baseFeePerGas": hex(wei)}))
    options: list[dict[str, Any]] = [{"base_fee_wei": wei}, {"genesis": file}]
    for fields in options:
        with open_node(plain(**fields, state_dir=tmp_path / "chain"), serve=False) as opened:
            send(opened)
            history = opened.request("eth_feeHistory", "0x2", "0x1", [])
            assert [int(fee, 16) for fee in history["baseFeePerGas"][:2]] == [wei, wei]
            opened.request("anvil_reset")
    with open_node(plain(), serve=False) as opened:
        genesis = opened.request("eth_getBlockByNumber", "0x0", False)  # noqa: FBT003 - JSON-RPC
        assert [genesis[name] for name in ("baseFeePerGas", "gasUsed")] == [
            hex(1_142_857_142),
            "0x0",
        ]


@pytest.mark.parametrize(("order", "places"), [("fifo", [0, 1]), ("fees", [1, 0])])
def test_transactions_wait_for_their_block_in_order(order: str, places: list[int]) -> None:
    config = plain(mining=MiningMode(is_automatic=False), order=order)
    with open_node(config, serve=False) as opened:
        dear = {"from": SECOND, "to": FIRST, "gas": "0x5208", "maxPriorityFeePerGas": hex(10**12)}
        dear |= {"maxFeePerGas": hex(10**13)}
        sent = [send(opened), opened.request("eth_sendTransaction", dear)]
        assert opened.request("eth_blockNumber") == "0x0"
        opened.request("evm_mine")
        mined = opened.request("eth_getBlockByNumber", "latest")["transactions"]
    assert mined == [sent[place] for place in places]


def test_genesis_comes_from_a_file_and_fields_override_it(tmp_path: Path) -> None:
    file = tmp_path / "genesis.json"
    alloc = {CODE[2:]: {"balance": "0x7", "code": "0x602a5f5260205ff3"}, SECOND: {"balance": "1"}}
    rules = {"config": {"chainId": 5}, "timestamp": "0x6a000000", "gasLimit": "0x989680"}
    file.write_text(json.dumps({**rules, "alloc": alloc}))
    with open_node(plain(genesis=file, chain_id=9), serve=False) as opened:
        assert opened.request("eth_chainId") == "0x9"
        genesis = opened.request("eth_getBlockByNumber", "0x0")
        assert (genesis["timestamp"], genesis["gasLimit"]) == ("0x6a000000", "0x989680")
        balances = [opened.request("eth_getBalance", one) for one in (FIRST, SECOND)]
        assert balances == [hex(10_000 * 10**18), "0x1"]
        assert int(opened.request("eth_call", {"to": CODE}), 16) == 42


DAY = 86_400


@pytest.mark.parametrize("start", [1_000, 2**33])
@pytest.mark.parametrize("kept", ["state", "state_dir"])
def test_time_goes_on_from_a_kept_chain(tmp_path: Path, kept: str, start: int) -> None:
    """Long before and long after the world's time, the second start begins at the first's head."""
    path = tmp_path / "kept"
    fields = {"state_dir": path} if kept == "state_dir" else {"dump_path": path}
    with open_node(plain(timestamp_seconds=start, **fields), serve=False) as opened:
        opened.request("evm_mine", start + DAY)
        opened.request("evm_increaseTime", 3_600)
        opened.request("evm_mine")
        head = opened.chain.head
        assert start + DAY + 3_600 <= head.timestamp < start + 2 * DAY
    fields = {"state_dir": path} if kept == "state_dir" else {"load_path": path}
    with open_node(plain(**fields), serve=False) as opened:
        assert opened.chain.head.timestamp == head.timestamp
        opened.request("evm_increaseTime", 3_600)
        opened.request("evm_mine")
        assert head.timestamp + 3_600 <= opened.chain.head.timestamp < head.timestamp + DAY


# -- mistakes -- #


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fork_name", "amsterdam"),
        ("order", "price"),
        ("registries", "moon"),
        ("derivation_path", "x"),
        ("mnemonic", "test test"),
        ("accounts", 0),
        ("gas_limit", 5),
        ("base_fee_wei", -1),
        ("host", "1.2.3.4"),
        ("port", 70_000),
        ("fixture", "nope"),
        ("models", [ByteModel([])]),
        ("models", ["nope"]),
        ("numeric_models", ["nope"]),
        ("live_chain", "wss://x"),
        ("genesis", Path("none")),
        ("state_dir", Path("file/x")),
        ("load_path", Path("none")),
        ("dump_path", Path("none/x")),
        ("config_path", Path("none/x")),
    ],
)
def test_a_mistake_is_an_error_of_the_config(name: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError):
        try_to_open(**{name: tmp_path / value if isinstance(value, Path) else value})


def test_files_of_artifacts_of_a_store_and_of_prices_must_exist(
    tmp_path: Path, scripted: ScriptedModel
) -> None:
    none = tmp_path / "none"
    for fields in ({"artifacts": [none]}, {"store_path": none / "x"}, {"schedule": none}):
        with pytest.raises(ConfigError):
            try_to_open(models=[scripted], **fields)


@pytest.mark.parametrize(
    ("name", "other"), [(name, other) for name, them in EXCLUSIVE_FIELDS.items() for other in them]
)
def test_fields_exclude_each_other(name: str, other: str) -> None:
    values = {"code_size_bytes": 30_000, "numeric_models": ["sentiment"], "registries": TESTNET}
    with pytest.raises(ConfigError, match=f"{name} and {other} exclude"):
        plain(**{name: "x", other: values.get(other, 1)})


# -- files -- #


def test_a_folder_keeps_one_chain_of_one_config(tmp_path: Path) -> None:
    kept = {"state_dir": tmp_path, "fork_name": "cancun"}
    for number in range(2):
        with open_node(plain(**kept), serve=False) as opened:
            assert opened.request("eth_blockNumber") == hex(number)
            assert opened.request("eth_getCode", HISTORY) == "0x"
            send(opened)
            with pytest.raises(ConfigError):
                try_to_open(**kept)
    for fields in ({"fork_name": "prague"}, {"chain_id": 5}, {"balance_ether": 5}):
        with pytest.raises(ConfigError):
            try_to_open(**kept | fields)


def test_a_dump_is_written_at_the_end_and_loaded_at_the_start(tmp_path: Path) -> None:
    file, folder = tmp_path / "state.json", tmp_path / "chain"
    with open_node(plain(dump_path=tmp_path)) as opened:
        send(opened, 5)
    with open_node(plain(load_path=file, state_dir=folder), serve=False) as opened:
        assert opened.request("eth_getBalance", SECOND) == hex(10_000 * 10**18 + 5)
        send(opened)
    with pytest.raises(ConfigError, match="is at block 2; load it into a new chain"):
        try_to_open(load_path=file, state_dir=folder)
    with open_node(plain(load_path=file, dump_path=file, state_dir=folder), serve=False) as opened:
        assert opened.notes == (f"Continued the chain in {folder}; {file} was not loaded.",)
        assert opened.request("eth_blockNumber") == "0x2"


def test_an_exception_leaves_the_dump_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text("PRECIOUS")
    for serve in (False, True):
        with suppress(ZeroDivisionError), open_node(plain(dump_path=file), serve=serve) as opened:
            send(opened)
            raise ZeroDivisionError
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError):
        try_to_open(dump_path=file, port=taken.getsockname()[1])
    assert file.read_text() == "PRECIOUS"
    assert [*tmp_path.iterdir()] == [file]


# -- models -- #


def test_a_given_model_decides_under_a_schedule_that_the_chain_keeps(
    tmp_path: Path, scripted: ScriptedModel
) -> None:
    file = tmp_path / "schedule.json"
    gas = {"executor_base_gas": 31, "input_byte_gas": 37, "tool_gas": 41}
    model = {"cold_prompt_token_gas": 230, "output_token_gas": 29}
    file.write_text(json.dumps({"schedule": gas, "models": {"llama_model_3": model}}))
    kept: Mapping[str, Any] = {"models": [scripted], "state_dir": tmp_path / "chain"}
    with open_node(plain(**kept, schedule=file), serve=False) as opened:
        told = opened.request("agent_schedule")
        assert (
            told["gas"] | {"EXECUTOR_BASE_GAS": 31, "INPUT_BYTE_GAS": 37, "TOOL_GAS": 41}
            == (told["gas"])
        )
        cost = opened.request("agent_estimate", ask_executor())
        sent = opened.request("eth_sendTransaction", ask_executor())
        receipt = opened.request("eth_getTransactionReceipt", sent)
        data = bytes.fromhex(ask_executor()["data"][2:])
        intrinsic = 21_000 + sum(16 if byte else 4 for byte in data)
        assert (
            int(receipt["gasUsed"], 16)
            == cost["gasUsed"]
            == (
                intrinsic
                + 31
                + 37 * len(data)
                + 230 * cost["coldTokens"]
                + 29 * cost["outputTokens"]
            )
        )
    with open_node(plain(**kept), serve=False) as opened:  # The chain knows the prices.
        assert opened.request("agent_schedule") == told
        assert opened.request("eth_blockNumber") == "0x1"
    for prices in ({"output_token_gas": 7}, {"cold": 7}):
        file.write_text(json.dumps({"models": {"default": prices}}))
        with pytest.raises(ConfigError):
            try_to_open(**kept, schedule=file)
    file.write_text('{"models": {"gpt": {"output_token_gas": 7}}}')
    with pytest.raises(ConfigError, match="the chain has no such model"):
        try_to_open(models=[scripted], schedule=file)


def test_the_name_of_a_language_model_is_taken(scripted: ScriptedModel) -> None:
    named = {"default": NumericFile(build_numeric_file())}
    with pytest.raises(ConfigError, match="two models are called 'default'"):
        try_to_open(models=[scripted], numeric_models=named)


def test_a_fixture_replays_what_it_recorded_and_nothing_else() -> None:
    with open_node(plain(fixture="wallet_agent", accounts=2), serve=False) as opened:
        (agent,) = opened.agents
        assert opened.chain.head.block_number == 2
        assert opened.request("eth_getBalance", SECOND) == hex(10_000 * 10**18)
        wallet = load_artifact("WalletAgent")

        def instruct(text: str) -> dict[str, str]:
            data = "0x" + wallet.encode_call("instruct", text).hex()
            return {"from": FIRST, "to": "0x" + agent.hex(), "data": data}

        sent = opened.request("eth_sendTransaction", instruct("Deposit 10 USDC into the pool"))
        (first, last) = opened.request("agent_traceTransaction", sent)["steps"]
        assert (first["action"], last["action"]) == ("DeployTool", None)
        with pytest.raises(RpcError, match="the record has no") as caught:
            opened.request("eth_call", instruct("Sing a song"))
        assert (caught.value.code, caught.value.data) == (-32002, [{"retry": False}])
        with pytest.raises(RpcError, match="runs without a model"):
            opened.request("agent_setScript", [{"answer": "No."}])


def test_a_fixture_has_one_model() -> None:
    with pytest.raises(ConfigError, match="must be one"):
        plain(fixture="nested", models=["a", "b"])


def test_a_chain_keeps_its_numeric_models(tmp_path: Path) -> None:
    kept = {"state_dir": tmp_path}
    line = {"line": NumericFile(build_numeric_file())}
    for number in range(2):
        with open_node(plain(**kept, numeric_models=line), serve=False) as opened:
            assert opened.request("eth_blockNumber") == hex(number)
            assert opened.request("eth_call", CALL, "latest") == OUTPUT
            send(opened)
    with open_node(plain(**kept), serve=False) as opened:
        assert opened.request("eth_call", CALL, "latest") == OUTPUT
    with pytest.raises(ConfigError, match="its numeric models are line"):
        try_to_open(**kept, numeric_models={"other": NumericFile(build_numeric_file(5))})


def test_a_recording_has_numeric_models_of_its_own(tmp_path: Path) -> None:
    bench = make_numeric_bench({"line": NumericFile(build_numeric_file())})
    bench.send(MODELS, run_call((1, 2), "line"))
    path = tmp_path / "numeric.json"
    write_fixture(record_chain(bench.chain, name="numeric", comment="One call."), path)
    with open_node(plain(fixture=path), serve=False) as opened:
        assert [one.name for one in opened.chain.config.numeric_models] == ["line"]
        assert opened.request("eth_call", CALL, "latest") == OUTPUT
