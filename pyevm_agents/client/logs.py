"""Logs of mined transactions: read from the JSON of a node, searched, and decoded by an ABI."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eth_utils import decode_hex

from pyevm_agents.abi.values import compute_topic, decode_event
from pyevm_agents.errors import RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyevm_agents.abi.values import EventDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedLog:
    """A log of a block."""

    address: bytes
    """The contract, 20 bytes."""

    topics: tuple[bytes, ...]
    """32 bytes each."""

    data: bytes
    block_number: int
    block_hash: bytes
    transaction_hash: bytes
    values: tuple[Any, ...] = ()
    """The arguments of the event, in order; empty before `decode_log`."""


def parse_log(form: Any) -> MinedLog:  # noqa: ANN401 - JSON
    """Return a log from the JSON of `eth_getLogs` or of a receipt.

    Raises: RemoteFault: the JSON is not of a mined log.
    """
    try:
        return MinedLog(
            address=decode_hex(form["address"]),
            topics=tuple(decode_hex(each) for each in form["topics"]),
            data=decode_hex(form["data"]),
            block_number=int(form["blockNumber"], 16),
            block_hash=decode_hex(form["blockHash"]),
            transaction_hash=decode_hex(form["transactionHash"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteFault("a log of the node is malformed; pass the URL of a node") from error


def parse_logs(forms: Any) -> list[MinedLog]:  # noqa: ANN401 - JSON
    """Return the logs of an answer to `eth_getLogs`, without those of removed blocks.

    Raises: RemoteFault: the JSON is not a list of mined logs.
    """
    if not isinstance(forms, list) or not all(isinstance(each, dict) for each in forms):
        raise RemoteFault("the logs of the node are malformed; pass the URL of a node")
    return [parse_log(each) for each in forms if not each.get("removed")]


def decode_log(event: EventDefinition, log: MinedLog) -> MinedLog | None:
    """Return a log with the arguments of an event; None if the log is not of the event."""
    if log.topics[:1] != (compute_topic(event.signature),):
        return None
    values = decode_event(event, log.topics, log.data)
    return None if values is None else replace(log, values=values)


def decode_logs(event: EventDefinition, logs: Iterable[MinedLog]) -> list[MinedLog]:
    """Return the logs of an event with their arguments, in order; other logs are left out."""
    decoded = (decode_log(event, each) for each in logs)
    return [each for each in decoded if each is not None]
