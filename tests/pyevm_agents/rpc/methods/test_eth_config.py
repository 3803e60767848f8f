"""`eth_config` in the format of EIP-7910."""

from __future__ import annotations

from zlib import crc32

from pyevm_agents.rpc.methods.eth_config import PRECOMPILES
from tests.pyevm_agents.rpc.local_node import local_node

PECTRA = {"baseFeeUpdateFraction": 5_007_716, "max": 9, "target": 6}
"""Source: EIP-7691."""


def test_the_rules_of_a_plain_chain() -> None:
    with local_node() as node:
        told = node.ask("eth_config")
        genesis = bytes.fromhex(node.block("0x0")["hash"][2:])
    current = told["current"]
    assert (told["next"], told["last"], current["activationTime"]) == (None, None, 0)
    assert (current["chainId"], current["blobSchedule"]) == ("0x7a69", PECTRA)
    assert current["forkId"] == f"0x{crc32(genesis):08x}"
    assert len(current["precompiles"]) == 17
    assert current["precompiles"]["BLS12_MAP_FP2_TO_G2"] == "0x" + "00" * 19 + "11"


def test_system_contracts_are_those_that_have_code() -> None:
    with local_node() as node:
        there = node.ask("eth_config")["current"]["systemContracts"]
        for address in there.values():
            assert node.ask("eth_getCode", address) != "0x"
        deposits = "0x00000000219ab540356cbb839cbe05303d7705fa"
        node.ask("anvil_setCode", deposits, "0x00")
        after = node.ask("eth_config")["current"]["systemContracts"]
    assert after == {**there, "DEPOSIT_CONTRACT_ADDRESS": deposits}


def test_the_executor_has_a_name() -> None:
    assert PRECOMPILES[bytes(19) + b"\x19"] == "AGENT_EXECUTOR"
