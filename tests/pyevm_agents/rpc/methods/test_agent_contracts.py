"""Contracts that clients add: their errors, functions and addresses are shown by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from eth_utils import function_signature_to_4byte_selector as selector_of

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, STRANGER, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

UNDONE = {"type": "error", "name": "Undone", "inputs": []}
# PUSH4 selector PUSH1 0 MSTORE; return the last four bytes of the word as revert data.
CODE = "0x63" + selector_of("Undone()").hex() + "6000526004601cfd"


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        local.ask("anvil_setCode", STRANGER, CODE)
        yield local


def ask_for_revert(local: LocalNode) -> str:
    with pytest.raises(RpcError) as caught:
        local.ask("eth_call", {"from": FIRST, "to": STRANGER})
    return str(caught.value)


def test_an_added_abi_names_errors(local: LocalNode) -> None:
    assert ask_for_revert(local) == (
        f"execution reverted: custom error 0x{selector_of('Undone()').hex()}"
    )
    assert local.ask("agent_addAbi", "Shop", [UNDONE, {"type": "event"}]) is True
    assert ask_for_revert(local) == "execution reverted: Undone()"


def test_added_runtime_code_names_addresses(local: LocalNode) -> None:
    local.ask("agent_addAbi", "Shop", [UNDONE], CODE)
    chain = local.node.chain
    assert chain.known_contracts.find_name(chain.code(bytes.fromhex(STRANGER[2:]))) == "Shop"  # type: ignore[arg-type]


def test_hardhats_compilation_result_is_added(local: LocalNode) -> None:
    form = {"abi": [UNDONE], "evm": {"deployedBytecode": {"object": CODE[2:]}}}
    output = {"sources": {}, "contracts": {"contracts/Shop.sol": {"Shop": form}}}
    assert local.ask("hardhat_addCompilationResult", "0.8.28", {"language": "x"}, output) is True
    assert ask_for_revert(local) == "execution reverted: Undone()"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["", []], "name: ''; must be a Solidity identifier of at most 256 characters"),
        (["a b", []], "must be a Solidity identifier"),
        (["\x1b[2J", []], "must be a Solidity identifier"),
        (["A", {}], "must be a list"),
        (["A", [1]], "abi[0]: 1; must be an object"),
        (["A", [{"type": "error"}]], "abi[0]: {'type': 'error'}; must be an entry as compilers"),
        (["A", [{"type": "error", "name": "E", "inputs": [{"type": "uint7"}]}]], "abi[0]"),
        (["A", [{}] * 4_097], "abi: '4,097 entries'; must be at most 4,096; leave out events"),
        (["A", [], "0x1"], "runtimeCode"),
        (["A", [], "0x" + "00" * (2**20 + 1)], "must be at most 1,048,576 bytes"),
    ],
)
def test_bad_abis_are_rejected(local: LocalNode, params: list[object], message: str) -> None:
    with pytest.raises(RpcError, match=re.escape(message)) as caught:
        local.ask("agent_addAbi", *params)
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    "output", [{}, {"contracts": 1}, {"contracts": {"a": 1}}, {"contracts": {"a": {"A": {}}}}]
)
def test_bad_compilation_results_are_rejected(local: LocalNode, output: object) -> None:
    with pytest.raises(RpcError, match=r"compilerOutput\.contracts"):
        local.ask("hardhat_addCompilationResult", "0.8.28", {}, output)


def test_too_many_contracts_are_rejected(local: LocalNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyevm_agents.abi.known_contracts.MAX_CONTRACTS", 0)
    with pytest.raises(RpcError, match="1 known contracts: must be at most 0"):
        local.ask("agent_addAbi", "A", [])
