"""A chain's numeric models are told once: its folder keeps them, and its node tells them."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_abi import encode
from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.chain import Call
from pyevm_agents.cli.app import main
from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.forking import open_fork
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.oracle.node_models import read_node_models
from pyevm_agents.oracle.recomputation import RequestExecutor
from tests.byte_model import ByteModel
from tests.checkout import ROOT
from tests.numeric_file import build_numeric_file
from tests.numeric_model import run_call
from tests.pyevm_agents.control.agents_of_tests import READ, make_agent
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyevm_agents.chain import Chain
    from pyevm_agents.local_node import OpenNode

SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OUTPUT = encode(["int256[]"], [(4, 7)])
ABI = [{
    "type": "function", "name": "score", "inputs": [], "stateMutability": "view",
    "outputs": [{"name": "", "type": "int256[]"}],
}]  # fmt: skip


def build_scorer() -> str:
    """Return the creation code of a contract that asks the model `line`, whoever calls it."""
    asked = run_call((1, 2), "line")
    size, at = len(asked).to_bytes(2), 40
    code = bytes.fromhex(f"61{size.hex()}61{at:04x}5f39")  # Copy the call to memory.
    code += bytes.fromhex(f"5f5f61{size.hex()}5f601a5afa3d5f5f3e")  # Make it; copy the answer.
    code += bytes.fromhex(f"60{len(code) + 6:02x}573d5ffd5b3d5ff3")  # Revert with it, or return it.
    code += bytes(at - len(code)) + asked
    return "0x" + (bytes.fromhex(f"61{len(code):04x}80600a5f395ff3") + code).hex()


def deploy(opened: OpenNode) -> str:
    fields = {"from": SENDER, "data": build_scorer(), "gas": hex(1_000_000)}
    transaction = opened.request("eth_sendTransaction", fields)
    address = opened.request("eth_getTransactionReceipt", transaction)["contractAddress"]
    assert opened.request("eth_call", {"to": address}, "latest") == "0x" + OUTPUT.hex()
    return to_checksum_address(address)


def plain(**fields: Any) -> NodeConfig:  # noqa: ANN401 - fields of many types
    return NodeConfig(**{"port": 0, "models": (), "artifacts": (), **fields})


@pytest.fixture(scope="module")
def numeric_node() -> Iterator[tuple[str, str]]:
    """The URL of a node with a numeric model, and a contract that asks the model."""
    models = {"line": NumericFile(build_numeric_file())}
    with open_node(plain(numeric_models=models)) as opened:
        assert opened.urls is not None
        yield opened.urls.http, deploy(opened)


# -- the node tells them -- #


def test_a_fork_that_answers_requests_has_the_nodes_models(numeric_node: tuple[str, str]) -> None:
    """So have `oracle run`, `verify`, `estimate --callback`, `council join` and `council judge`."""
    url, scorer = numeric_node
    executor = RequestExecutor(host(ByteModel(count_and_answer)))
    with closing(open_fork(url)) as block, closing(executor.open_fork(block)) as chain:
        assert score(chain, scorer) == OUTPUT


def score(chain: Chain, scorer: str) -> bytes:
    return chain.call(Call(to=Address(to_canonical_address(scorer)))).output


def test_a_contract_that_asks_them_is_inspected(
    numeric_node: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `tools inspect`, and by `tools deploy` before it makes tools."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url, scorer = numeric_node
    (tmp_path / "abi.json").write_text(json.dumps(ABI))
    words = ["--rpc-url", url, "--address", scorer, "--abi", str(tmp_path / "abi.json"), "--json"]
    told = CliRunner().invoke(main, ["tools", "inspect", *words])
    assert told.exit_code == 0, told.output
    shown = "".join(told.stdout.split())
    assert '"canRead":["score()"]' in shown
    assert '"cannotCall":[]' in shown


def test_a_node_that_forks_it_has_them_too(numeric_node: tuple[str, str], tmp_path: Path) -> None:
    """Also at its next start, when it reads them from its own folder."""
    url, scorer = numeric_node
    for _ in range(2):
        config = plain(live_chain=url, state_dir=tmp_path / "fork")
        with open_node(config, serve=False) as opened:
            assert score(opened.chain, scorer) == OUTPUT


def test_a_node_without_them_tells_none() -> None:
    served = Served()
    with fake_remote(served) as remote, closing(open_fork(remote.url, retries=0)) as block:
        remote.forget()
        assert read_node_models(block) == {}
        assert not [each for each in remote.methods if each.startswith("agent_")]
    served.close()


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("agent_numericModels", None),
        ("agent_numericModels", [{"name": 5}]),
        ("agent_numericModelFile", "0x12"),
        ("agent_numericModelFile", "0xzz"),
        ("agent_numericModelFile", "0x" + build_numeric_file(5).hex()),
    ],
)
def test_a_node_that_tells_another_file_is_at_fault(
    numeric_node: tuple[str, str], method: str, answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = numeric_node
    with closing(open_fork(url)) as block:
        ask: Callable[..., object] = type(block).request

        def lie(fork: object, asked: str, params: object) -> object:
            return answer if asked == method else ask(fork, asked, params)

        monkeypatch.setattr(type(block), "request", lie)
        with pytest.raises(RemoteFault):
            read_node_models(block)


OPENERS = {
    "pyevm_agents/cli/tools/inspect.py",
    "pyevm_agents/local_node/chain.py",
    "pyevm_agents/oracle/recomputation.py",
}


TOLD = {"pyevm_agents/cli/demo/catalogue.py"}
"""Forks whose models are those of a chain in the same process."""


def test_whoever_opens_a_fork_asks_its_node() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "pyevm_agents").rglob("*.py")
        if "read_node_models(" in path.read_text("utf-8") and path.name != "node_models.py"
    }
    forking = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "pyevm_agents").rglob("*.py")
        if "fork=block" in (text := path.read_text("utf-8")) or "fork=self.fork_block" in text
    }
    assert found == OPENERS
    assert forking - OPENERS == TOLD


# -- the folder keeps them -- #


def test_runs_go_on_a_chain_with_numeric_models(tmp_path: Path) -> None:
    """The option is passed once: when the chain is made, here by a node."""
    models = {"line": NumericFile(build_numeric_file())}
    data = tmp_path / "data"
    config = plain(numeric_models=models, state_dir=data / "chain", registries="testnet")
    with open_node(config, serve=False) as opened:
        opened.node.resume()
        scorer = deploy(opened)
    action = f'wei = context.session.call(bytes.fromhex("{scorer[2:]}"), b"").hex()'
    folder = make_agent(tmp_path, action=action)
    assert READ not in folder.module_path.read_text("utf-8")
    words = ["run", "Score", "--agent", str(folder.path), "--no-model", "--data", str(data)]
    for _ in range(2):
        told = CliRunner().invoke(main, words)
        assert told.exit_code == 0, told.output
        assert OUTPUT.hex() in told.stdout


def test_a_command_makes_such_a_chain_itself(tmp_path: Path) -> None:
    file = tmp_path / "line.onnx"
    file.write_bytes(build_numeric_file())
    folder = make_agent(tmp_path)
    words = ["run", "x", "--agent", str(folder.path), "--no-model", "--data", str(tmp_path / "d")]
    assert CliRunner().invoke(main, [*words, "--numeric-model", f"line={file}"]).exit_code == 0
    file.unlink()
    assert CliRunner().invoke(main, words).exit_code == 0
    with open_node(
        plain(state_dir=tmp_path / "d" / "chain", registries="testnet"), serve=False
    ) as opened:
        assert [*opened.chain.numeric_models] == ["line"]


def test_other_models_than_the_chains_are_refused(tmp_path: Path) -> None:
    state = {"state_dir": tmp_path / "chain"}
    with open_node(
        plain(numeric_models={"line": NumericFile(build_numeric_file())}, **state), serve=False
    ):
        pass
    other = {"line": NumericFile(build_numeric_file(5))}
    with (
        pytest.raises(ConfigError, match="numeric models"),
        open_node(plain(numeric_models=other, **state), serve=False),
    ):
        pass
