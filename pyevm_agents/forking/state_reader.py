"""Reads of a remote chain's state at the fork block: nothing is remembered here.

The block is named by hash (EIP-1898), so no answer can be of another block. A node that does not
take hashes gets the number, together with a request for the hash at that number.

Where the node answers `eth_getProof`, accounts and slots are checked against the header's state
root. A node may keep proofs of recent blocks alone; then plain values are requested.

While anvil mines, answers about the head are of the state in between. A request whose answer does
not fit the state root is therefore repeated, after a pause.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from eth_hash.auto import keccak
from eth_utils import encode_hex

from precompiles import spec
from pyevm_agents.client.json_rpc import MAX_BATCH, RemoteError, Request
from pyevm_agents.forking.headers import HeaderMismatchError, parse_header
from pyevm_agents.forking.proofs import (
    MAX_NONCE,
    MAX_WORD,
    ProofError,
    verify_account,
    verify_slots,
)
from pyevm_agents.state.remote_state import RemoteAccount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.errors import RemoteFault

Value = TypeVar("Value")

MAX_ANCESTORS = 256
"""Blocks below the fork block that BLOCKHASH sees."""

HEADERS_IN_BATCH = 32
ACCOUNTS_IN_BATCH = MAX_BATCH // 3
SLOTS_IN_BATCH = MAX_BATCH

REFUSED_CODES = frozenset({-32600, -32602})
"""Codes of a node that does not take a block by hash: invalid request, invalid params."""

REFUSED = re.compile(r"invalid argument|cannot unmarshal|invalid type|expected", re.IGNORECASE)
PRUNED = re.compile(
    r"missing trie node|header not found|block not found|unknown block|prun|archive|historical|"
    r"state .{0,80}(?:not|un)\s?available|out of range|no state|resource not found",
    re.IGNORECASE,
)
"""Messages of geth, Erigon, Nethermind, reth and anvil without the state of a block, or without the
block (EIP-1474's -32001)."""

UNFIT_DELAYS_SECONDS = (0.1, 0.2, 0.4, 0.8)
"""Delays before an answer that does not fit is asked for again, as often as the client's retries
allow: longer than a node mines a block."""

NO_ARCHIVE = "pass the URL of an archive node, or a later block with --fork-block-number"
FORK_AGAIN = "fork again, at an older block"
LIES = "pass the URL of another node"
UNFIT = f"{LIES}; a local node whose state was changed without a block has to mine one first"


class StateReader:
    """Reads the state of one block from a remote node. Thread-safe."""

    def __init__(
        self,
        client: RemoteClient,
        header: BlockHeaderAPI,
        *,
        on_reorganized: Callable[[], None],
        has_proofs: bool = True,
    ) -> None:
        """Create a reader, without a request.

        Input:
            client: the client.
            header: the fork block's header, with the right hash.
            on_reorganized: called when the node has another block at the fork block's number.
            has_proofs: the outcome of an earlier `probe`.
        """
        self._client = client
        self._header = header
        self._on_reorganized = on_reorganized
        self._takes_hashes = True
        self._has_proofs = has_proofs

    @property
    def is_verified(self) -> bool:
        """Whether reads are checked against the state root, by Merkle proofs."""
        return self._has_proofs

    def probe(self) -> None:
        """Find out whether the node has the block's state, and proofs that fit the state root.

        Raises: RemoteFault: the node has no state of the block, or does not answer.
        """
        if self._has_proofs:
            try:
                self._repeat(lambda: self._read_proof(spec.EXECUTOR_ADDRESS, []))
            except _UnfitError:
                self._has_proofs = False
        if not self._has_proofs:
            self._read([Request("eth_getBalance", [encode_hex(spec.EXECUTOR_ADDRESS)])])

    def read_accounts(self, addresses: Sequence[Address]) -> list[RemoteAccount | None]:
        """Return accounts, in one round trip; None for one that does not exist.

        Input:  at most `ACCOUNTS_IN_BATCH` addresses.
        Raises: RemoteFault: the node does not answer, or lies.
        """
        accounts = None
        if self._has_proofs:
            try:
                accounts = self._repeat(lambda: self._read_proven_accounts(addresses))
            except _UnfitError as error:
                raise self._build_lie(error) from error
        if accounts is None:
            accounts = self._read_plain_accounts(addresses)
        return [account if any(account) else None for account in accounts]

    def read_slots(self, address: Address, slots: Sequence[int]) -> list[int]:
        """Return the values of an account's slots, in one round trip.

        Input:  at most `SLOTS_IN_BATCH` slots.
        Raises: RemoteFault: the node does not answer, or lies.
        """
        keys = [f"0x{slot:064x}" for slot in slots]
        if self._has_proofs:
            try:
                values = self._repeat(lambda: self._read_proven_slots(address, keys, slots))
            except _UnfitError as error:
                raise self._build_lie(error) from error
            if values is not None:
                return values
        method = "eth_getStorageAt"
        plain = self._read([Request(method, [encode_hex(address), key]) for key in keys])
        return [self._parse_quantity(method, value) for value in plain]

    def read_ancestors(self, child: BlockHeaderAPI, last: int) -> list[BlockHeaderAPI]:
        """Return the headers below a header, down to a number; each is the child's parent.

        Input:  child: of the remote chain, with a checked hash. last: number of the lowest header.
        Raises: RemoteFault: the node does not answer, or the headers are no chain.
        """
        headers = [child]
        while (number := headers[-1].block_number) > last:
            lowest = max(last, number - HEADERS_IN_BATCH)
            requests = [
                Request("eth_getBlockByNumber", [hex(each), False])
                for each in range(number - 1, lowest - 1, -1)
            ]
            for block in self._require(requests, self._client.request_all(requests)):
                headers.append(self._parse_parent(block, headers[-1]))
        return headers[1:]

    def _parse_parent(self, block: object, child: BlockHeaderAPI) -> BlockHeaderAPI:
        number = child.block_number - 1
        problem = f"block {number} is not the parent of block {child.block_number}"
        try:
            header = parse_header(block if isinstance(block, dict) else {})
        except HeaderMismatchError as error:
            problem, header = f"block {number}: {error}", None
        if header is None or header.hash != child.parent_hash:
            raise self._client.build_fault("eth_getBlockByNumber", problem, LIES)
        return header

    def _read_proven_accounts(self, addresses: Sequence[Address]) -> list[RemoteAccount] | None:
        """Return accounts with proofs; None if the node has no proofs any more."""
        names = [encode_hex(address) for address in addresses]
        proofs = [Request("eth_getProof", [name, []]) for name in names]
        codes = [Request("eth_getCode", [name]) for name in names]
        results = self._ask([*proofs, *codes])
        proven, code_texts = results[: len(names)], results[len(names) :]
        if any(isinstance(proof, RemoteError) for proof in proven):
            self._has_proofs = False
            return None
        self._require(codes, code_texts)
        return [
            self._verify_account(address, proof, code_text)
            for address, proof, code_text in zip(addresses, proven, code_texts, strict=True)
        ]

    def _verify_account(self, address: Address, proof: object, code_text: object) -> RemoteAccount:
        code = self._parse_data("eth_getCode", code_text)
        try:
            account = verify_account(proof, self._header.state_root, address)
        except ProofError as error:
            raise _UnfitError("eth_getProof", address, str(error)) from error
        if keccak(code) != account.code_hash:
            problem = f"its code is not that of the code hash 0x{account.code_hash.hex()}"
            raise _UnfitError("eth_getCode", address, problem)
        return RemoteAccount(account.nonce, account.balance_wei, code)

    def _read_plain_accounts(self, addresses: Sequence[Address]) -> list[RemoteAccount]:
        methods = ("eth_getTransactionCount", "eth_getBalance", "eth_getCode")
        requests = [
            Request(method, [encode_hex(address)]) for address in addresses for method in methods
        ]
        values = iter(self._read(requests))
        return [
            RemoteAccount(
                self._parse_quantity(methods[0], nonce),
                self._parse_quantity(methods[1], balance),
                self._parse_data(methods[2], code),
            )
            for nonce, balance, code in zip(values, values, values, strict=True)
        ]

    def _read_proven_slots(
        self, address: Address, keys: Sequence[str], slots: Sequence[int]
    ) -> list[int] | None:
        """Return the values of slots with proofs; None if the node has no proofs any more."""
        proof = self._read_proof(address, keys)
        if proof is None:
            return None
        try:
            owner = verify_account(proof, self._header.state_root, address)
            return verify_slots(proof, owner, slots)
        except ProofError as error:
            raise _UnfitError("eth_getProof", address, str(error)) from error

    def _read_proof(self, address: Address, keys: Sequence[str]) -> object | None:
        """Return the result of `eth_getProof`, checked for the account; None if refused."""
        [proof] = self._ask([Request("eth_getProof", [encode_hex(address), list(keys)])])
        if isinstance(proof, RemoteError):
            self._has_proofs = False
            return None
        try:
            verify_account(proof, self._header.state_root, address)
        except ProofError as error:
            raise _UnfitError("eth_getProof", address, str(error)) from error
        return proof

    def _repeat(self, read: Callable[[], Value]) -> Value:
        """Return the result of a read, repeated while answers do not fit the state root.

        Raises: _UnfitError: no answer fits.
        """
        for delay in UNFIT_DELAYS_SECONDS[: self._client.retries]:
            try:
                return read()
            except _UnfitError as error:
                self._client.wait(delay, error.method)
        return read()

    # -- requests about the block -- #

    def _read(self, requests: Sequence[Request]) -> list[object]:
        return self._require(requests, self._ask(requests))

    def _require(self, requests: Sequence[Request], results: list[object]) -> list[object]:
        """Return results without errors.

        Raises: RemoteFault: one result is an error.
        """
        for request, result in zip(requests, results, strict=True):
            if isinstance(result, RemoteError):
                raise self._diagnose(request.method, result) from result
        return results

    def _ask(self, requests: Sequence[Request]) -> list[object]:
        """Return results or errors of requests, to which the fork block is added."""
        if self._takes_hashes:
            block = {"blockHash": encode_hex(self._header.hash)}
            results = self._client.request_all([_add_block(each, block) for each in requests])
            if not all(_is_refusal(each) for each in results):
                return results
            by_number = self._ask_by_number(requests)
            # A node that refuses the number as well refuses the method, not the hash.
            self._takes_hashes = all(isinstance(each, RemoteError) for each in by_number)
            return by_number
        return self._ask_by_number(requests)

    def _ask_by_number(self, requests: Sequence[Request]) -> list[object]:
        number = hex(self._header.block_number)
        check = Request("eth_getBlockByNumber", [number, False])
        results = self._client.request_all(
            [*(_add_block(each, number) for each in requests), check]
        )
        self._require_unchanged(results.pop())
        return results

    def _require_unchanged(self, block: object) -> None:
        """Require that the node's block at the fork block's number is the fork block.

        Raises: RemoteFault: another block.
        """
        stated = block.get("hash") if isinstance(block, dict) else None
        if stated != encode_hex(self._header.hash):
            self._on_reorganized()
            found = f"now has the hash {stated}" if stated else "is unknown now"
            raise self._client.build_fault(
                "eth_getBlockByNumber",
                f"block {self._header.block_number} was reorganized: it had the hash "
                f"{encode_hex(self._header.hash)} and {found}",
                FORK_AGAIN,
            )

    def _diagnose(self, method: str, error: RemoteError) -> RemoteFault:
        """Return the fault of an error response.

        Raises: RemoteFault: the fork block is not on the node's chain any more.
        """
        number = self._header.block_number
        if PRUNED.search(error.message):
            check = Request("eth_getBlockByNumber", [hex(number), False])
            self._require_unchanged(self._client.request_all([check])[0])
            problem = f"it has no state of block {number} ({error.message}): it is no archive node"
            return self._client.build_fault(method, problem, NO_ARCHIVE)
        problem = f"error {error.code}: {error.message}"
        return self._client.build_fault(method, problem, "check that the node is in order")

    def _build_lie(self, error: _UnfitError) -> RemoteFault:
        block, address = f"block {self._header.block_number}", encode_hex(error.address)
        return self._client.build_fault(
            error.method,
            f"the answer for {address} does not fit the state root of {block}: {error}",
            UNFIT,
        )

    def _parse_quantity(self, method: str, value: object) -> int:
        number = int.from_bytes(self._parse_data(method, value, is_quantity=True), "big")
        most = MAX_NONCE if method == "eth_getTransactionCount" else MAX_WORD
        if number > most:
            problem = f"{number.bit_length()} bits are more than those of {most}"
            raise self._client.build_fault(method, problem, LIES)
        return number

    def _parse_data(self, method: str, value: object, *, is_quantity: bool = False) -> bytes:
        text = value.removeprefix("0x") if isinstance(value, str) else None
        try:
            if text is None:
                raise ValueError  # noqa: TRY301 - the same message
            return bytes.fromhex(text.zfill(len(text) + len(text) % 2) if is_quantity else text)
        except ValueError as error:
            shown = repr(value)[:80]
            raise self._client.build_fault(method, f"{shown} is not hexadecimal", LIES) from error


class _UnfitError(Exception):
    """An answer that does not fit the state root."""

    def __init__(self, method: str, address: Address, problem: str) -> None:
        super().__init__(problem)
        self.method = method
        self.address = address


def _add_block(request: Request, block: object) -> Request:
    return Request(request.method, [*request.params, block])


def _is_refusal(result: object) -> bool:
    """Return whether an error may be about the form of the block rather than about its state."""
    return (
        isinstance(result, RemoteError)
        and not PRUNED.search(result.message)
        and (result.code in REFUSED_CODES or REFUSED.search(result.message) is not None)
    )
