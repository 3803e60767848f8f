"""A block of a remote chain, opened to be continued by a local chain."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import orjson
import rlp

from precompiles.spec import HASH_BYTES
from pyevm_agents.client.json_rpc import (
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_SECONDS,
    MAX_BATCH,
    RemoteClient,
    RemoteError,
    Request,
    split,
)
from pyevm_agents.config.optional_sections import ForkOrigin
from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.forking.cache import AnswerCache
from pyevm_agents.forking.headers import HeaderMismatchError, decode_header, parse_header
from pyevm_agents.forking.remembered_state import RememberedState
from pyevm_agents.forking.state_reader import StateReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from eth.abc import BlockHeaderAPI

HEADER_KEY, PROOFS_KEY, RESULT_PREFIX = b"header", b"proofs", b"r"
YES, NO = b"\x01", b"\x00"
REMOTES_FILE = "remotes.sqlite3"
NUMBER_BYTES = 8
MAX_BLOCK_NUMBER = 2**63 - 1

MAX_KEPT_RESULT_BYTES = 2**24
"""Longer results of `RemoteFork.request_lasting` are not kept: the receipts of a block are shorter,
its traces may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFork:
    """An open fork block: header, state, and the rest of the chain by `request`."""

    origin: ForkOrigin
    """Chain ID, number and hash, as the chain config has them."""

    header: BlockHeaderAPI
    """The header, whose hash is that of `origin`."""

    state: RememberedState
    """The state after the block."""

    client: RemoteClient
    reader: StateReader
    cache: AnswerCache

    @property
    def host(self) -> str:
        """Host and port of the remote node."""
        return self.client.host

    @property
    def is_verified(self) -> bool:
        """Whether the state that is read is checked against the header, by Merkle proofs."""
        return self.reader.is_verified

    def request(self, method: str, params: Sequence[object]) -> object:
        """Call a method of the remote node; return the unverified JSON result.

        Raises: RemoteError: the node's error response. RemoteFault: no answer.
        """
        return self.client.request(method, params)

    def request_lasting(self, method: str, params: Sequence[object]) -> object:
        """Call a method whose result never changes, as `request` does; keep the result.

        A result of null is not kept: the node may have the object later.

        Raises: see `request`.
        """
        stored = self.cache.get(_get_result_key(method, params))
        if stored is None:
            return self._keep(method, params, self.client.request(method, params))
        kept: object = orjson.loads(stored)
        return kept

    def prefetch_lasting(self, requests: Iterable[Request]) -> None:
        """Keep the results of requests as `request_lasting` does, many in a round trip.

        The node's error responses are not kept.

        Raises: RemoteFault: no answer.
        """
        by_key = {_get_result_key(*each): each for each in requests}
        missing = [each for key, each in by_key.items() if self.cache.get(key) is None]
        for some in split(missing, MAX_BATCH):
            for request, result in zip(some, self.client.request_all(some), strict=True):
                if not isinstance(result, RemoteError):
                    self._keep(*request, result)

    def _keep(self, method: str, params: Sequence[object], result: object) -> object:
        """Keep a result unless null or long; return the result, or the one that was kept first."""
        encoded = orjson.dumps(result)
        if result is None or len(encoded) > MAX_KEPT_RESULT_BYTES:
            return result
        kept: object = orjson.loads(self.cache.put(_get_result_key(method, params), encoded))
        return kept

    def close(self) -> None:
        """Close the connections and the cache."""
        self.client.close()
        self.cache.close()


def open_fork(  # noqa: PLR0913 - keyword arguments
    url: str,
    *,
    block_number: int | None = None,
    chain_id: int | None = None,
    retries: int = DEFAULT_RETRIES,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    cache_folder: Path | None = None,
) -> RemoteFork:
    """Open a block of a remote chain.

    With a block number and a cache that has the block, no request is sent.

    Input:
        url: HTTP URL of a node.
        block_number: of the fork block; by default the node's latest block, and if negative, so
            many blocks before that.
        chain_id: of the remote chain, which must have it; by default not checked.
        retries: how often a request is repeated that found no server, or a busy one.
        timeout_seconds: how long one try of a request may take.
        cache_folder: folder of the caches; None for a temporary one.

    Raises:
        ConfigError: an invalid value, or another chain ID.
        RemoteFault: the node does not answer, has no state of the block, or states a wrong hash;
            the cache can't be used.
    """
    if block_number is not None and abs(block_number) > MAX_BLOCK_NUMBER:
        raise ConfigError(
            f"fork block number {block_number}: must be -{MAX_BLOCK_NUMBER} to {MAX_BLOCK_NUMBER}"
        )
    client = RemoteClient(url, retries=retries, timeout_seconds=timeout_seconds)
    remotes = AnswerCache(None if cache_folder is None else cache_folder / REMOTES_FILE)
    try:
        opener = _Opener(client, remotes, hashlib.sha256(url.encode()).digest(), cache_folder)
        if block_number is not None and block_number < 0:
            block_number = opener.count_back(-block_number)
        origin, header = opener.find_block(block_number)
        _require_chain_id(chain_id, origin, client.host)
        return opener.open_block(origin, header)
    except BaseException:
        client.close()
        raise
    finally:
        remotes.close()


def _get_result_key(method: str, params: Sequence[object]) -> bytes:
    question = json.dumps([method, params], sort_keys=True)
    return RESULT_PREFIX + hashlib.sha256(question.encode()).digest()


def _require_chain_id(wanted: int | None, origin: ForkOrigin, host: str) -> None:
    if wanted not in {None, origin.chain_id}:
        raise ConfigError(
            f"fork chain id {wanted}: the chain at {host} has {origin.chain_id}; omit "
            "--fork-chain-id, or set the id of the local chain with --chain-id"
        )


class _Opener:
    """The steps from a URL to an open fork."""

    def __init__(
        self, client: RemoteClient, remotes: AnswerCache, url_hash: bytes, folder: Path | None
    ) -> None:
        self._client = client
        self._remotes = remotes
        self._url_hash = url_hash
        self._folder = folder

    def count_back(self, blocks: int) -> int:
        """Return the number of the block that is so many blocks before the latest one.

        Raises: ConfigError: the chain has fewer blocks. RemoteFault: no answer.
        """
        latest = self._ask_for_block(None)[0].block_number
        if blocks > latest:
            raise ConfigError(
                f"fork block number -{blocks}: must be at least -{latest}, as the latest block is "
                f"{latest}"
            )
        return latest - blocks

    def find_block(self, number: int | None) -> tuple[ForkOrigin, BlockHeaderAPI | None]:
        """Return the origin of a fork, and the header if the node was queried."""
        if number is not None and (stored := self._remotes.get(self._get_key(number))) is not None:
            chain_id = int.from_bytes(stored[:-HASH_BYTES], "big")
            block_hash = stored[-HASH_BYTES:]
            origin = ForkOrigin(chain_id=chain_id, block_number=number, block_hash=block_hash)
            return origin, None
        try:
            return self._ask_for_block(number)
        except RemoteFault as error:
            if number is None and (known := self._remotes.list_suffixes(self._url_hash)):
                newest = int.from_bytes(known[-1], "big")
                hint = f"block {newest} is in the cache: --fork-block-number {newest}"
                raise RemoteFault(f"{error}; {hint}") from error
            raise

    def open_block(self, origin: ForkOrigin, header: BlockHeaderAPI | None) -> RemoteFork:
        """Open the cache of a block, and the fork."""
        cache = AnswerCache(self._get_path(origin))
        try:
            stored = cache.get(HEADER_KEY)
            if stored is not None:
                header = decode_header(stored)
            elif header is None:  # Its file was deleted.
                origin, header = self._ask_for_block(origin.block_number)
            reader = StateReader(
                self._client,
                header,
                on_reorganized=partial(_forget, self._folder, self._get_key(origin.block_number)),
                has_proofs=cache.get(PROOFS_KEY) != NO,
            )
            if stored is None:
                reader.probe()
                cache.put(PROOFS_KEY, YES if reader.is_verified else NO)
                cache.put(HEADER_KEY, rlp.encode(header))
                self._remember(origin)
        except BaseException:
            cache.close()
            raise
        return RemoteFork(
            origin=origin,
            header=header,
            state=RememberedState(reader, cache, header),
            client=self._client,
            reader=reader,
            cache=cache,
        )

    def _ask_for_block(self, number: int | None) -> tuple[ForkOrigin, BlockHeaderAPI]:
        method, name = "eth_getBlockByNumber", "latest" if number is None else hex(number)
        requests = [Request("eth_chainId", []), Request(method, [name, False])]
        chain_id_text, block = self._client.request_all(requests)
        for request, result in zip(requests, (chain_id_text, block), strict=True):
            if isinstance(result, RemoteError):
                problem = f"error {result.code}: {result.message}"
                raise self._client.build_fault(request.method, problem, "check the URL") from result
        if not isinstance(block, dict):
            raise self._client.build_fault(
                method,
                f"it has no block {'latest' if number is None else number}",
                "pass the number of one that it has with --fork-block-number",
            )
        try:
            header = parse_header(block)
            chain_id = int(str(chain_id_text), 16)
        except HeaderMismatchError as error:
            problem = f"block {name}: {error}: it lies, or its chain is not Ethereum's kind"
            raise self._client.build_fault(method, problem, "pass another URL") from error
        except ValueError as error:
            problem = f"{str(chain_id_text)[:80]!r} is no chain id"
            raise self._client.build_fault("eth_chainId", problem, "pass another URL") from error
        if number not in {None, header.block_number}:
            problem = f"it answers block {header.block_number}, not {number}"
            raise self._client.build_fault(method, problem, "pass another URL")
        origin = ForkOrigin(
            chain_id=chain_id, block_number=header.block_number, block_hash=bytes(header.hash)
        )
        return origin, header

    def _remember(self, origin: ForkOrigin) -> None:
        size = (origin.chain_id.bit_length() + 7) // 8
        key = self._get_key(origin.block_number)
        self._remotes.delete(key)  # The block may have replaced another one.
        self._remotes.put(key, origin.chain_id.to_bytes(size, "big") + origin.block_hash)

    def _get_key(self, number: int) -> bytes:
        return self._url_hash + number.to_bytes(NUMBER_BYTES, "big")

    def _get_path(self, origin: ForkOrigin) -> Path | None:
        if self._folder is None:
            return None
        name = f"{origin.chain_id}-{origin.block_number}-{origin.block_hash.hex()}.sqlite3"
        return self._folder / name


def _forget(folder: Path | None, key: bytes) -> None:
    """Delete a block's hash from the remotes' cache: the number has another block now."""
    if folder is not None:
        with closing(AnswerCache(folder / REMOTES_FILE)) as remotes:
            remotes.delete(key)
