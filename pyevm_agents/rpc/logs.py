"""Which logs are meant, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import header_of
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    address,
    block,
    hash32,
    invalid,
    listed,
    mapping,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.chain import Record
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.serializers import Json

MAX_TOPICS = 4
"""Topics of a log. Source: LOG4."""

MAX_ALTERNATIVES = 1_000
"""Addresses, or values of one topic, in a filter. Source: geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCriteria:
    """Which logs are meant."""

    first: BlockId = LATEST
    last: BlockId = LATEST
    only: bytes | None = None
    """The hash of the one block to look at."""

    addresses: frozenset[Address] = frozenset()
    """One of them; any where empty."""

    topics: tuple[frozenset[int] | None, ...] = ()
    """By place, one of those; None for any."""

    def admits(self, bloom: int) -> bool:
        """Whether a block with this bloom filter may have such logs."""
        if self.addresses and not any(serializers.may_hold(bloom, one) for one in self.addresses):
            return False
        return all(
            wanted is None
            or any(serializers.may_hold(bloom, topic.to_bytes(32, "big")) for topic in wanted)
            for wanted in self.topics
        )

    def matches(self, log: Json) -> bool:
        """Whether a log, as JSON, is meant. Tags, of what is yet to come, are no bounds."""
        if not self._has_number(log):
            return False
        if self.addresses:
            account = bytes.fromhex(str(log["address"])[2:])
            if account not in self.addresses:
                return False
        topics = log["topics"]
        assert isinstance(topics, list)  # noqa: S101 - as `formats` writes it
        if len(topics) < len(self.topics):
            return False
        return all(
            wanted is None or int(str(topic), 16) in wanted
            for wanted, topic in zip(self.topics, topics, strict=False)
        )

    def _has_number(self, log: Json) -> bool:
        first, last = self.first.number, self.last.number
        if first is None and last is None:
            return True
        number = int(str(log["blockNumber"]), 16)
        return (first is None or first <= number) and (last is None or number <= last)


def log_criteria(value: object, name: str) -> LogCriteria:
    """Read a filter object."""
    form = mapping(value, name)
    has_range = form.get("fromBlock") is not None or form.get("toBlock") is not None
    if form.get("blockHash") is not None and has_range:
        raise invalid(name, dict(form), "give blockHash, or fromBlock and toBlock, not both")

    def block_at(key: str) -> BlockId:
        told = form.get(key)
        return LATEST if told is None else block(told, f"{name}.{key}")

    only = form.get("blockHash")
    return LogCriteria(
        first=block_at("fromBlock"),
        last=block_at("toBlock"),
        only=None if only is None else hash32(only, f"{name}.blockHash"),
        addresses=_addresses(form.get("address"), f"{name}.address"),
        topics=_topics(form.get("topics"), f"{name}.topics"),
    )


def _addresses(value: object, name: str) -> frozenset[Address]:
    if value is None:
        return frozenset()
    many = value if isinstance(value, list) else [value]
    _require_few(many, name)
    return frozenset(address(one, f"{name}[{index}]") for index, one in enumerate(many))


def _topics(value: object, name: str) -> tuple[frozenset[int] | None, ...]:
    if value is None:
        return ()
    places = listed(value, name)
    if len(places) > MAX_TOPICS:
        raise invalid(name, places, f"want at most {MAX_TOPICS} topics")
    return tuple(_topic(place, f"{name}[{index}]") for index, place in enumerate(places))


def _topic(value: object, name: str) -> frozenset[int] | None:
    if value is None or value == []:
        return None
    many = value if isinstance(value, list) else [value]
    _require_few(many, name)
    if None in many:
        return None
    return frozenset(int.from_bytes(hash32(one, name), "big") for one in many)


def _require_few(many: list[object], name: str) -> None:
    if len(many) > MAX_ALTERNATIVES:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid params: {name}: {len(many)} values, at most {MAX_ALTERNATIVES}",
        )


def find_logs(node: Node, criteria: LogCriteria) -> Iterator[Json]:
    """Yield the logs that are meant, in order.

    Raises: BlockNotFoundError: no block of that hash. RpcError: the range is none.
    """
    if criteria.only is not None:
        record = node.chain.record(header_of(node, BlockId(hash=criteria.only)))
        yield from logs_of(record, criteria)
        return
    latest = node.chain.head.block_number
    first, last = (_number(node, one) for one in (criteria.first, criteria.last))
    if first > last:
        raise RpcError(
            INVALID_PARAMS, f"invalid block range params: fromBlock {first} > toBlock {last}"
        )
    for number in range(first, min(last, latest) + 1):
        header = node.chain.header(number)
        if criteria.admits(header.bloom):
            yield from logs_of(node.chain.record(header), criteria)


def logs_of(record: Record, criteria: LogCriteria) -> Iterator[Json]:
    """Yield those of a block's logs that are meant."""
    before = 0
    for index, receipt in enumerate(record.receipts):
        if receipt.logs:
            yield from filter(criteria.matches, serializers.logs_json(record, index, before))
            before += len(receipt.logs)


def _number(node: Node, block: BlockId) -> int:
    """Return a block's number, one beyond the chain's end too."""
    return block.number if block.number is not None else int(header_of(node, block).block_number)
