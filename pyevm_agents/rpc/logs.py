"""Log filters: their parameters, and the search for matching logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.errors import RemoteFault
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_ids import resolve_header, resolve_number
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    invalid_param_error,
    parse_address,
    parse_block_id,
    parse_hash32,
    parse_list,
    parse_object,
)
from pyevm_agents.rpc.remote_blocks import is_remote_block, request_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.chain import BlockRecord
    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.serializers import Json

MAX_TOPICS = 4
"""The most topics of a log. Source: LOG4."""

MAX_ALTERNATIVES = 1_000
"""The most addresses, or values of one topic, in a filter. Source: geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCriteria:
    """A log filter."""

    first: BlockId = LATEST
    last: BlockId = LATEST
    block_hash: bytes | None = None
    """The hash of the only block to search."""

    addresses: frozenset[Address] = frozenset()
    """Addresses that match; every address if empty."""

    topics: tuple[frozenset[int] | None, ...] = ()
    """Topics that match, by position; None for every topic."""

    def can_match_bloom(self, bloom: int) -> bool:
        """Return whether a block with this bloom filter may have matching logs."""
        if self.addresses and not any(
            serializers.is_in_bloom(bloom, address) for address in self.addresses
        ):
            return False
        return all(
            wanted is None
            or any(serializers.is_in_bloom(bloom, topic.to_bytes(32, "big")) for topic in wanted)
            for wanted in self.topics
        )

    def matches(self, log: Json) -> bool:
        """Return whether a serialized log matches. A tag does not bound the blocks to come."""
        if not self._has_number(log):
            return False
        if self.addresses:
            account = bytes.fromhex(str(log["address"])[2:])
            if account not in self.addresses:
                return False
        topics = log["topics"]
        assert isinstance(topics, list)  # noqa: S101 - as `serializers` writes it
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


def parse_log_criteria(value: object, name: str) -> LogCriteria:
    """Parse a filter object."""
    form = parse_object(value, name)
    has_range = form.get("fromBlock") is not None or form.get("toBlock") is not None
    if form.get("blockHash") is not None and has_range:
        raise invalid_param_error(
            name, dict(form), "give blockHash, or fromBlock and toBlock, not both"
        )

    def parse_bound(key: str) -> BlockId:
        bound = form.get(key)
        return LATEST if bound is None else parse_block_id(bound, f"{name}.{key}")

    only = form.get("blockHash")
    return LogCriteria(
        first=parse_bound("fromBlock"),
        last=parse_bound("toBlock"),
        block_hash=None if only is None else parse_hash32(only, f"{name}.blockHash"),
        addresses=_parse_addresses(form.get("address"), f"{name}.address"),
        topics=_parse_topics(form.get("topics"), f"{name}.topics"),
    )


def _parse_addresses(value: object, name: str) -> frozenset[Address]:
    if value is None:
        return frozenset()
    many = value if isinstance(value, list) else [value]
    _require_within_limit(many, name)
    return frozenset(parse_address(entry, f"{name}[{index}]") for index, entry in enumerate(many))


def _parse_topics(value: object, name: str) -> tuple[frozenset[int] | None, ...]:
    if value is None:
        return ()
    places = parse_list(value, name)
    if len(places) > MAX_TOPICS:
        raise invalid_param_error(name, places, f"must be at most {MAX_TOPICS} topics")
    return tuple(_parse_topic(place, f"{name}[{index}]") for index, place in enumerate(places))


def _parse_topic(value: object, name: str) -> frozenset[int] | None:
    if value is None or value == []:
        return None
    many = value if isinstance(value, list) else [value]
    _require_within_limit(many, name)
    if None in many:
        return None
    return frozenset(int.from_bytes(parse_hash32(topic, name), "big") for topic in many)


def _require_within_limit(many: list[object], name: str) -> None:
    if len(many) > MAX_ALTERNATIVES:
        raise RpcError(
            INVALID_PARAMS,
            f"invalid params: {name}: {len(many)} values; must be at most {MAX_ALTERNATIVES}",
        )


def find_logs(node: Node, criteria: LogCriteria) -> Iterator[Json]:
    """Yield the matching logs, in order.

    Raises: BlockNotFoundError: the block hash is unknown. RpcError: the range is invalid.
    """
    fork = node.fork
    if criteria.block_hash is not None:
        if fork is not None and is_remote_block(node, fork, criteria.block_hash):
            yield from _request_logs(
                fork, criteria, blockHash=serializers.encode_data(criteria.block_hash)
            )
            return
        record = node.chain.block_with_receipts(
            resolve_header(node, BlockId(hash=criteria.block_hash))
        )
        yield from filter_logs(record, criteria)
        return
    head = node.chain.head
    latest = int(head.block_number)
    first, last = (resolve_number(bound, latest) for bound in (criteria.first, criteria.last))
    if first > last:
        raise RpcError(
            INVALID_PARAMS, f"invalid block range params: fromBlock {first} > toBlock {last}"
        )
    if last > latest:
        raise RpcError(
            INVALID_PARAMS,
            f"block range extends beyond current head block: toBlock {last}, head {latest}",
        )
    if fork is not None and first <= fork.origin.block_number:
        last_remote = min(last, fork.origin.block_number)
        yield from _request_logs(fork, criteria, fromBlock=hex(first), toBlock=hex(last_remote))
        first = fork.origin.block_number + 1
    chain = node.chain
    for header in chain.iter_headers(first, last):
        if criteria.can_match_bloom(header.bloom):
            yield from filter_logs(chain.block_with_receipts(header), criteria)


def _request_logs(fork: RemoteFork, criteria: LogCriteria, **blocks: str) -> list[Json]:
    """Return the matching logs of blocks of the remote chain, unverified.

    Input:  blocks: the fields of a filter object that name the blocks.
    Raises: RpcError: the remote node's error, such as too many logs. RemoteFault: no answer, or no
        list.
    """
    form: Json = {
        **blocks,
        "topics": [
            None if wanted is None else [serializers.encode_word(topic) for topic in sorted(wanted)]
            for wanted in criteria.topics
        ],
    }
    if criteria.addresses:
        form["address"] = [serializers.encode_data(each) for each in sorted(criteria.addresses)]
    logs = request_remote(fork, "eth_getLogs", [form])
    if not isinstance(logs, list):
        raise RemoteFault(f"remote chain at {fork.host}: eth_getLogs: the result is not a list")
    return logs


def filter_logs(record: BlockRecord, criteria: LogCriteria) -> Iterator[Json]:
    """Yield the matching logs of a block."""
    before = 0
    for index, receipt in enumerate(record.receipts):
        if receipt.logs:
            yield from filter(criteria.matches, serializers.serialize_logs(record, index, before))
            before += len(receipt.logs)
