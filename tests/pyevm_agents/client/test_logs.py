"""Logs of a node: what is read, left out and refused."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode
from eth_utils import encode_hex

from pyevm_agents.abi.values import EventDefinition, compute_topic
from pyevm_agents.client.logs import decode_logs, parse_log, parse_logs
from pyevm_agents.errors import RemoteFault

EVENT = EventDefinition(
    name="Paid", types=("address", "uint256"), argument_names=("to", "wei"), indexed=(True, False)
)
FORM: dict[str, Any] = {
    "address": "0x" + "11" * 20,
    "topics": [encode_hex(compute_topic("Paid(address,uint256)")), "0x" + "00" * 12 + "22" * 20],
    "data": encode_hex(encode(["uint256"], [7])),
    "blockNumber": "0x10",
    "blockHash": "0x" + "33" * 32,
    "transactionHash": "0x" + "44" * 32,
}


def test_a_log_is_read_and_decoded() -> None:
    logs = parse_logs([FORM, {**FORM, "removed": True}, {**FORM, "topics": []}])
    assert [each.block_number for each in logs] == [16, 16]
    [paid] = decode_logs(EVENT, logs)
    assert (paid.address, paid.transaction_hash) == (b"\x11" * 20, b"\x44" * 32)
    assert paid.values == ("0x" + "22" * 20, 7)


@pytest.mark.parametrize("name", FORM)
@pytest.mark.parametrize("value", [None, 7, "0xzz"])
def test_a_malformed_log_is_the_fault_of_the_node(name: str, value: object) -> None:
    with pytest.raises(RemoteFault):
        parse_log({**FORM, name: value})
    with pytest.raises(RemoteFault):
        parse_log({key: each for key, each in FORM.items() if key != name})


@pytest.mark.parametrize("logs", [None, {}, "0x", [7]])
def test_what_is_no_list_of_logs_is_refused(logs: object) -> None:
    with pytest.raises(RemoteFault):
        parse_logs(logs)
