"""`agent register`: an agent's entry by JSON-RPC, on a node with the registries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.registries import REGISTRY_ADDRESSES, TESTNET, build_registries
from pyevm_agents.manifests.agent_folder import validate_folder
from tests.pyevm_agents.control.agents_of_tests import make_agent
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

SENDER, OTHER = (to_checksum_address(each) for each in ADDRESSES[:2])
REGISTRY = to_checksum_address(REGISTRY_ADDRESSES[TESTNET].identity)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    accounts = {**dict.fromkeys(ADDRESSES, funds), **build_registries(TESTNET)}
    served = Served(chain=Chain(ChainConfig(), {}, accounts=accounts))
    with fake_remote(served) as remote:
        yield remote.url
    served.close()


def run(url: str, folder: Path, *words: str, sender: str = SENDER, status: int = 0) -> Result:
    """Run `agent register`; check its exit status."""
    command = ["agent", "register", str(folder), *words, "--rpc-url", url, "--unlocked", sender]
    result = CliRunner().invoke(main, command, env={"ETH_KEYSTORE": None, "ETH_RPC_URL": None})
    assert result.exit_code == status, result.output
    return result


def test_an_agent_is_registered_and_keeps_its_entry(url: str, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    printed = run(url, folder.path).stdout
    identity = folder.read_manifest().identity
    assert identity is not None
    assert "2 transactions, " in printed
    assert printed.splitlines()[-1] == (
        f"gas-watcher is registered: agent {identity.agent_id} of {REGISTRY} on chain "
        f"{identity.chain_id}"
    )
    assert validate_folder(folder) == ()
    form = json.loads(run(url, folder.path, "--uri", "https://me.example/a", "--json").stdout)
    assert (form["agentId"], form["isNew"]) == (identity.agent_id, False)
    assert [each["purpose"] for each in form["transactions"]] == [
        f"Set the URI of agent {identity.agent_id}"
    ]
    assert (
        "was registered before"
        in run(url, folder.path, "--registry", REGISTRY, "--uri", "https://me.example/a").stdout
    )
    error = run(url, folder.path, sender=OTHER, status=2).stderr
    assert "must be the account that registers" in error


@pytest.mark.parametrize("uri", ["", "me.example/a", "https://me.example/a b", "https:"])
def test_a_uri_without_a_scheme_registers_nothing(url: str, tmp_path: Path, uri: str) -> None:
    folder = make_agent(tmp_path)
    printed = run(url, folder.path, "--uri", uri, status=2).stderr
    assert printed.startswith(f"Error: URI '{uri}': must begin with a scheme")
    assert folder.read_manifest().identity is None


def test_a_registry_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    folder = make_agent(tmp_path)
    before = folder.path.joinpath("agent.json").read_bytes()
    error = run(url, folder.path, "--registry", OTHER, status=2).stderr
    assert OTHER in error
    assert folder.path.joinpath("agent.json").read_bytes() == before
