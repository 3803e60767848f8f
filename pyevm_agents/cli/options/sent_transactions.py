"""The transactions of one command: announced to people when mined, or all as JSON."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eth_utils import encode_hex, to_checksum_address

from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.cli.options.types import format_request, format_time
from pyevm_agents.cli.output import StatusLine, out, print_json
from pyevm_agents.client.accounts import (
    AccountNonces,
    RevertedError,
    SendingAccount,
    SentTransaction,
    TransactionOrigin,
)
from pyevm_agents.display import pluralize
from pyevm_agents.errors import AgentsError, NotDoneError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyevm_agents.client.logs import MinedLog

ADVICE = {
    "BudgetNotReleasable": "its client may release it earlier, and does at the end of a run",
    "BudgetNotUsable": "it was released before, or never opened",
    "CallerNotAllowed": "the agent's owner allows callers by setCaller",
    "InsufficientGas": "pass more gas by --gas",
    "InsufficientStake": "call `pyevm-agents oracle stake` first, or ask for less",
    "NoSubscription": "the agent's owner sets one: `pyevm-agents oracle subscription add-consumer "
    "--pay-runs`",
    "NotPerson": "sign with the key of the person whom the tool asks",
    "NotSubscriptionOwner": "sign with the key of the subscription's owner",
    "NothingToRetry": "it waits for its answer, or its client has taken the answer",
    "NothingToWithdraw": "`pyevm-agents oracle status` shows what an account can claim",
    "OutOfRange": "pass a value in this range",
    "OwnableUnauthorizedAccount": "sign with the key of the contract's owner",
    "SubscriptionExhausted": "pay in by `pyevm-agents oracle subscription fund`",
    "SubscriptionNotUsable": "`pyevm-agents oracle status` lists the subscriptions and consumers",
    "TooEarly": "wait until the deadline is over",
    "TooLate": "the deadline is over",
    "UnknownCommitment": "it was answered or has expired; see `pyevm-agents oracle status`",
    "UnknownQuestion": "it was answered, has expired, or was never asked",
    "WrongValue": "the price changed in the meantime; try again",
}
"""The next step for errors of the contracts."""

TIME = re.compile(r"\b(?:deadline|releasableAt)=(\d+)")
REQUEST = re.compile(r"\brequestId=(\d+)")


class Announced(SendingAccount):
    """An account whose transactions are printed, with the next step where one reverts.

    A transaction without a purpose is not printed.
    """

    def __init__(self, account: SendingAccount, *, is_quiet: bool = False) -> None:
        """Send nothing yet. Input: is_quiet: whether nothing is printed before the end."""
        self.address = account.address
        self._account, self._is_quiet = account, is_quiet
        self._sent: list[tuple[str, SentTransaction]] = []

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self._account.chain_id

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the chain's first block."""
        return self._account.genesis_hash

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        return self._account.read_block_number()

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonces."""
        return self._account.read_nonces()

    def read(self, to: bytes, data: bytes, *, gas: int | None = None) -> bytes:
        """Call a contract without a transaction; return the output."""
        return self._account.read(to, data, gas=gas)

    def transact(  # noqa: PLR0913 - the fields of a transaction
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
        purpose: str = "",
    ) -> SentTransaction:
        """Send a transaction, wait until mined, and print the effects.

        Raises: NotDoneError: an agent undid the run. AgentsError: the transaction failed; the
            message has the next step.
        """
        with StatusLine() as status, explain_reverts():
            if out.is_terminal:
                status.show_status("waiting until the transaction is mined")
            sent = self._account.transact(
                to, data, value_wei=value_wei, gas=gas, nonce=nonce, purpose=purpose
            )
        if purpose and sent.contract is not None:
            purpose = f"Deployed {purpose} at {to_checksum_address(sent.contract)}"
        self._sent.append((purpose, sent))
        if purpose and not self._is_quiet:
            print_sent(purpose, sent)
        return sent

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Sequence[MinedLog]:
        """Return the logs of a contract from a block to the latest one, in order."""
        with StatusLine() as status:
            if out.is_terminal:
                status.show_status(f"searching the blocks from {first_block:,} on")
            return self._account.find_logs(contract, topics, first_block)

    def read_origin(self, transaction_hash: bytes) -> TransactionOrigin:
        """Return the sender of a mined transaction."""
        return self._account.read_origin(transaction_hash)

    def print_total(self) -> None:
        """Print the gas of all transactions."""
        total = sum(each.gas_used for _, each in self._sent)
        out.print(f"{pluralize(len(self._sent), 'transaction')}, {total:,} gas")

    def print_json(self, **members: object) -> None:
        """Print the members, the chain's ID and the transactions as JSON."""
        print_json(
            {
                **members,
                "chainId": self.chain_id,
                "transactions": [
                    {
                        "purpose": text,
                        "hash": encode_hex(each.hash),
                        "blockNumber": each.block_number,
                        "gasUsed": each.gas_used,
                    }
                    for text, each in self._sent
                ],
            }
        )


@contextmanager
def explain_reverts() -> Iterator[None]:
    """Add the next step to the error of a transaction that reverts.

    Raises: NotDoneError: an agent undid the run. AgentsError: another revert.
    """
    try:
        yield
    except RevertedError as error:
        if error.answer is not None:
            raise NotDoneError(describe_not_done(error.answer), error.answer) from error
        raise AgentsError(add_advice(error)) from error


def add_advice(error: RevertedError) -> str:
    """Return the message of a revert with times as dates, and the next step."""
    message = TIME.sub(lambda match: f"{match[0]} ({format_time(int(match[1]))})", str(error))
    message = REQUEST.sub(lambda match: f"requestId={format_request(int(match[1]))}", message)
    advice = ADVICE.get(error.name)
    return message if advice is None else f"{message}; {advice}"


def print_sent(text: str, sent: SentTransaction) -> None:
    """Print the effects of a transaction, the hash and the gas."""
    out.print(text, soft_wrap=True, markup=False)
    out.print(f"  [dim]transaction[/] 0x{sent.hash.hex()}, {sent.gas_used:,} gas", soft_wrap=True)
