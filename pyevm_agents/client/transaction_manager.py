"""Transactions of one key: nonces, fees, sending, and watching until they are final.

The rules:

* A signed transaction is on disk before it is sent.
* Every transaction ever signed with a nonce is watched: the first may be mined after a replacement.
* A transaction that is not mined is sent again when the node has lost it, and replaced with higher
  fees when blocks pass without it. Fees and the count of replacements are bounded.
* A nonce whose purpose is gone is used by a transfer of nothing, so that later ones are mined.
* A mined transaction whose block is removed waits again.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Self

import rlp

from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.client.signing import FeeBounds, Fees, quote_fees, sign_transaction
from pyevm_agents.client.transaction_store import Attempt, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import ChainClient, RemoteHeader
    from pyevm_agents.client.transaction_store import TransactionStore
    from pyevm_agents.client.worker_log import WorkerLog

FINAL_BLOCKS = 64
"""Blocks after which a mined transaction is not watched any more: two epochs of Ethereum."""

MAX_IN_FLIGHT = 16
"""Transactions that wait at once. Source: Chainlink's MaxInFlightTransactions."""

TRANSFER_GAS = 21_000
NEXT_FEE_PERMILLE = 1_125
"""A replacement's fees, in thousandths of the fees before. Nodes demand 1,100."""

MISSING_TICKS = 10
"""Looks at a used nonce without a receipt of ours, until somebody else's transaction is assumed."""

FIRST_LIST_BYTE = 0xC0
"""What a legacy transaction begins with, at least. Source: EIP-2718."""

KNOWN = re.compile(r"already (?:known|imported|exists|in )|known transaction", re.IGNORECASE)
NONCE_USED = re.compile(r"nonce (?:is )?too low|nonce.{0,40}(?:already|lower)", re.IGNORECASE)
UNDERPRICED = re.compile(r"underpriced|fee too low|max fee per gas less", re.IGNORECASE)
POOR = re.compile(r"insufficient (?:funds|balance)|enough funds|Insufficient", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeSettings(FeeBounds):
    """Bounds of a worker's fees."""

    bump_blocks: int = 3
    """Blocks without a transaction until it is replaced. Source: Chainlink's BumpThreshold."""

    max_bumps: int = 10
    """Replacements of one transaction."""

    @classmethod
    def within(cls, bounds: FeeBounds | None, **settings: int) -> Self:
        """Return settings with bounds that a person named; None for the default ones."""
        return cls(**({} if bounds is None else asdict(bounds)), **settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTransaction:
    """A call that is to be signed: the purpose and the gas."""

    kind: str
    key: tuple[bytes, bytes] | None
    to: bytes
    data: bytes
    gas: int
    value_wei: int = 0


class TransactionManager:
    """Signs, sends and watches the transactions of a key. For one thread."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: ChainClient,
        store: TransactionStore,
        key: PrivateKey,
        *,
        chain_id: int,
        log: WorkerLog,
        settings: FeeSettings | None = None,
    ) -> None:
        """Input: the node; the store; the key; the chain; where events go; bounds of fees."""
        self._client, self._store, self._key, self._log = client, store, key, log
        self._chain_id = chain_id
        self._settings = settings or FeeSettings()
        self._missing: dict[int, int] = {}
        self._refused: dict[bytes, str] = {}
        self._capped: set[int] = set()
        self._mined_nonce = 0
        self.address = bytes(key.public_key.to_canonical_address())
        self.sent_count = 0
        self.replaced_count = 0

    # -- what is mined -- #

    def watch(self, head: RemoteHeader) -> None:
        """Read which transactions are mined, and which are not any more."""
        self._mined_nonce = self._client.read_nonce(self.address)
        slots = self._store.list_slots()
        self._check_mined([slot for slot in slots if slot.is_mined])
        for slot in slots:
            if slot.is_mined:
                continue
            if slot.nonce < self._mined_nonce:
                self._find_mined(slot, head)
            else:
                self._missing.pop(slot.nonce, None)

    def _check_mined(self, slots: Sequence[Slot]) -> None:
        """Forget receipts whose blocks were removed."""
        numbers = sorted({slot.mined_number or 0 for slot in slots})
        headers = dict(zip(numbers, self._client.read_headers(numbers), strict=True))
        for slot in slots:
            header = headers[slot.mined_number or 0]
            if header is None or header.hash != slot.mined_block:
                self._read_again(slot)

    def _read_again(self, slot: Slot) -> None:
        """Read the receipt of a transaction whose block was removed."""
        [receipt] = self._client.read_receipts([slot.mined_hash or b""])
        waiting = replace(
            slot, mined_hash=None, mined_number=None, mined_block=None, succeeded=None
        )
        if receipt is not None:
            waiting = replace(
                slot,
                mined_number=receipt.block_number,
                mined_block=receipt.block_hash,
                succeeded=receipt.succeeded,
            )
        self._store.set_mined(waiting)
        if receipt is None:
            self._log.write("removed", nonce=slot.nonce, transaction=slot.mined_hash)

    def _find_mined(self, slot: Slot, head: RemoteHeader) -> None:
        attempts = self._store.list_attempts(slot.nonce)
        for receipt in self._client.read_receipts([each.hash for each in attempts]):
            if receipt is None:
                continue
            mined = replace(
                slot,
                mined_hash=receipt.hash,
                mined_number=receipt.block_number,
                mined_block=receipt.block_hash,
                succeeded=receipt.succeeded,
            )
            self._store.set_mined(mined)
            self._missing.pop(slot.nonce, None)
            self._capped.discard(slot.nonce)
            self._log.write(
                "mined",
                kind=slot.kind,
                request=slot.key,
                nonce=slot.nonce,
                transaction=receipt.hash,
                block=receipt.block_number,
                succeeded=receipt.succeeded,
                gas_used=receipt.gas_used,
            )
            return
        # A node behind a load balancer may lag.
        self._missing[slot.nonce] = self._missing.get(slot.nonce, 0) + 1
        if self._missing[slot.nonce] >= MISSING_TICKS:
            del self._missing[slot.nonce]
            self._store.drop_slot(slot.nonce)
            self._log.write("nonce_taken", nonce=slot.nonce, request=slot.key, block=head.number)

    # -- what waits -- #

    def list_waiting(self) -> list[Slot]:
        """Return the nonces without a mined transaction."""
        return [slot for slot in self._store.list_slots() if not slot.is_mined]

    @property
    def has_room(self) -> bool:
        """Whether one more transaction may wait."""
        return len(self.list_waiting()) < MAX_IN_FLIGHT

    def push(self, head: RemoteHeader, is_wanted: Callable[[Slot], bool]) -> None:
        """Send lost transactions again, replace those not mined, fill gaps.

        Input: is_wanted: whether the use of a nonce still has a purpose.
        """
        waiting = [slot for slot in self.list_waiting() if slot.nonce >= self._mined_nonce]
        self._fill_gaps(head)
        last = {slot.nonce: self._store.list_attempts(slot.nonce)[-1] for slot in waiting}
        known = self._client.knows_transactions([last[slot.nonce].hash for slot in waiting])
        for slot, is_known in zip(waiting, known, strict=True):
            attempt = last[slot.nonce]
            if slot.kind != "filler" and not is_wanted(slot):
                self._cancel(slot, attempt, head, is_known=is_known)
            elif head.number - attempt.signed_at >= self._settings.bump_blocks:
                self._bump(slot, attempt, head, is_known=is_known)
            elif not is_known:
                self._broadcast(slot, attempt, is_repeated=True)

    def _fill_gaps(self, head: RemoteHeader) -> None:
        """Use nonces below our last one that nothing uses: later ones would wait for ever."""
        nonces = {slot.nonce for slot in self._store.list_slots()}
        if not nonces:
            return
        for nonce in range(self._mined_nonce, max(nonces)):
            if nonce not in nonces:
                self._log.write("gap", nonce=nonce)
                slot = Slot(nonce=nonce, kind="filler", key=None)
                filler = self._plan_filler()
                self._sign_and_send(slot, filler, head, self._quote_fees(head, filler.gas))

    def _cancel(self, slot: Slot, attempt: Attempt, head: RemoteHeader, *, is_known: bool) -> None:
        """Replace a transaction without purpose by a transfer of nothing."""
        fees = self._raise_fees(attempt, head, TRANSFER_GAS)
        if fees is None:  # It fails and costs gas, but the nonces after it go on.
            if not is_known:
                self._broadcast(slot, attempt, is_repeated=True)
            return
        self._log.write("cancelled", request=slot.key, nonce=slot.nonce)
        filler = replace(slot, kind="filler", key=None)
        self._sign_and_send(filler, self._plan_filler(), head, fees)

    def _bump(self, slot: Slot, attempt: Attempt, head: RemoteHeader, *, is_known: bool) -> None:
        """Replace a transaction by itself with higher fees, within the bounds."""
        attempts = self._store.list_attempts(slot.nonce)
        planned = decode_planned(attempt.raw)
        fees = self._raise_fees(attempt, head, planned.gas)
        if fees is None or len(attempts) > self._settings.max_bumps:
            if slot.nonce not in self._capped:
                self._capped.add(slot.nonce)
                self._log.write("fee_capped", nonce=slot.nonce, fee=attempt.fee)
            if not is_known:
                self._broadcast(slot, attempt, is_repeated=True)
            return
        self._sign_and_send(slot, planned, head, fees)
        self.replaced_count += 1

    # -- signing and sending -- #

    def send(
        self, planned: PlannedTransaction, head: RemoteHeader, is_due: Callable[[], bool]
    ) -> None:
        """Sign a transaction with the next nonce, keep and send it.

        Input: is_due: whether the transaction still has a purpose, called before sending. Without
            one, `push` uses the nonce otherwise.
        """
        used = [slot.nonce for slot in self._store.list_slots()]
        nonce = max([self._client.read_nonce(self.address), *(each + 1 for each in used)])
        slot = Slot(nonce=nonce, kind=planned.kind, key=planned.key)
        attempt = self._sign(slot, planned, head, self._quote_fees(head, planned.gas))
        if is_due():
            self._broadcast(slot, attempt, is_repeated=False)

    def _sign_and_send(
        self, slot: Slot, planned: PlannedTransaction, head: RemoteHeader, fees: Fees
    ) -> None:
        attempt = self._sign(slot, planned, head, fees)
        self._broadcast(slot, attempt, is_repeated=False)

    def _sign(
        self, slot: Slot, planned: PlannedTransaction, head: RemoteHeader, fees: Fees
    ) -> Attempt:
        """Sign and keep a transaction."""
        form: dict[str, object] = {
            "chainId": self._chain_id,
            "nonce": slot.nonce,
            "to": planned.to,
            "value": planned.value_wei,
            "data": planned.data,
            "gas": planned.gas,
        }
        signed = sign_transaction(form, self._key, fees)
        attempt = Attempt(
            hash=bytes(signed.hash),
            nonce=slot.nonce,
            raw=bytes(signed.raw_transaction),
            fee=fees.fee,
            tip=fees.tip,
            signed_at=head.number,
        )
        self._store.add_attempt(slot, attempt)
        self._log.write(
            "signed",
            kind=slot.kind,
            request=slot.key,
            nonce=slot.nonce,
            transaction=attempt.hash,
            fee=fees.fee,
        )
        return attempt

    def _broadcast(self, slot: Slot, attempt: Attempt, *, is_repeated: bool) -> None:
        """Send a signed transaction. A refusal is noted: the next `push` tries again."""
        try:
            self._client.send_raw(attempt.raw)
        except RemoteError as error:
            if KNOWN.search(error.message):
                return
            reason = classify_refusal(error.message)
            if self._refused.get(attempt.hash) != reason:  # Said once, not each second.
                self._refused[attempt.hash] = reason
                self._log.write(
                    "refused",
                    nonce=slot.nonce,
                    transaction=attempt.hash,
                    reason=reason,
                    message=error.message,
                )
            return
        self._refused.pop(attempt.hash, None)
        self.sent_count += 1
        self._log.write(
            "resent" if is_repeated else "sent",
            kind=slot.kind,
            request=slot.key,
            nonce=slot.nonce,
            transaction=attempt.hash,
        )

    def _plan_filler(self) -> PlannedTransaction:
        return PlannedTransaction(
            kind="filler", key=None, to=self.address, data=b"", gas=TRANSFER_GAS
        )

    # -- fees -- #

    def _quote_fees(self, head: RemoteHeader, gas: int) -> Fees:
        """Return the fees of a new transaction with a gas limit, within the bounds."""
        return self._settings.cap(quote_fees(self._client, head), gas)

    def _raise_fees(self, attempt: Attempt, head: RemoteHeader, gas: int) -> Fees | None:
        """Return the fees of a replacement; None above the bounds."""
        fees = self._quote_fees(head, gas)
        least = fees._replace(
            fee=attempt.fee * NEXT_FEE_PERMILLE // 1000 + 1,
            tip=attempt.tip * NEXT_FEE_PERMILLE // 1000 + 1,
        )
        if self._settings.cap(least, gas) != least:
            return None
        fee = max(fees.fee, least.fee)
        return fees._replace(fee=fee, tip=min(max(fees.tip, least.tip), fee))


def decode_planned(raw: bytes) -> PlannedTransaction:
    """Return the call in a signed transaction."""
    is_typed = raw[0] < FIRST_LIST_BYTE
    fields = rlp.decode(raw[1:] if is_typed else raw)
    gas, to, value, data = fields[4:8] if is_typed else fields[2:6]
    return PlannedTransaction(
        kind="",
        key=None,
        to=bytes(to),
        data=bytes(data),
        gas=int.from_bytes(gas),
        value_wei=int.from_bytes(value),
    )


def classify_refusal(message: str) -> str:
    """Return why a node refuses a transaction."""
    for pattern, reason in (
        (NONCE_USED, "nonce used"),
        (UNDERPRICED, "underpriced"),
        (POOR, "low balance"),
    ):
        if pattern.search(message):
            return reason
    return "other"
