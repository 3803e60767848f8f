"""What the commands of `oracle` share: the node, the account that signs, and sent transactions."""

from __future__ import annotations

import re
from contextlib import closing, contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.cli.options.keystore import password_file_option, unlock
from pyevm_agents.cli.options.types import ADDRESS_TYPE, format_request, format_time
from pyevm_agents.cli.output import StatusLine, out
from pyevm_agents.cli.rpc_client import rpc_option
from pyevm_agents.client.accounts import KeyAccount, RevertedError, UnlockedAccount
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.errors import AgentsError, NotDoneError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.client.accounts import SendingAccount, SentTransaction

RETRIES = 2
"""A node that is not there is reported after 1.5 s."""

RUN_SECONDS = 3_600.0
"""How long a request waits that runs a model in the node, which has a limit of its own."""

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

unlocked_option = click.option(
    "--unlocked",
    type=ADDRESS_TYPE,
    metavar="ADDRESS",
    help="Instead of a keystore: an account for which the node signs, as anvil does.",
)
keystore_option = click.option(
    "--keystore",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ETH_KEYSTORE",
    show_envvar=True,
    help="Keystore file of the account that signs and pays.",
)
oracle_option = click.option(
    "--oracle",
    "oracle_address",
    type=ADDRESS_TYPE,
    metavar="ADDRESS",
    envvar="AGENT_ORACLE",
    show_envvar=True,
    required=True,
    help="The oracle's address.",
)
from_block_option = click.option(
    "--from-block",
    "first_block",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Where to start to search for events; the oracle's first block.",
)

json_option: Callable[..., Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)


class OracleSession:
    """A node and an account on its chain."""

    def __init__(
        self,
        client: RemoteClient,
        open_account: Callable[[RemoteClient], SendingAccount],
        *,
        url: str,
    ) -> None:
        """Input: the node; opens the account, which may ask for a password; the node's URL."""
        self.client, self._open_account, self.url = client, open_account, url
        self.known: KnownContracts = BUNDLED
        """Contracts whose errors reasons name. Set it before the account is used."""

    @cached_property
    def account(self) -> SendingAccount:
        """The account that signs. The first use may ask for a password."""
        account = self._open_account(self.client)
        account.known = self.known
        return account

    @contextmanager
    def wait_for_runs(self) -> Iterator[OracleSession]:
        """Yield this session with requests that wait as long as a run of a model takes."""
        with closing(
            RemoteClient(
                self.url, retries=RETRIES, timeout_seconds=RUN_SECONDS, repeats_timeouts=False
            )
        ) as client:
            patient = OracleSession(client, self._open_account, url=self.url)
            patient.known = self.known
            yield patient

    def send(
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
    ) -> SentTransaction:
        """Send a transaction and wait until it is mined. Input: as `SendingAccount.transact`.

        Raises: AgentsError: it failed; the message says what to do.
        """
        account = self.account
        with StatusLine() as status, explain_reverts():
            if out.is_terminal:
                status.show_status("waiting until the transaction is mined")
            return account.transact(to, data, value_wei=value_wei, gas=gas, nonce=nonce)


@contextmanager
def explain_reverts() -> Iterator[None]:
    """Add the next step to the error of a transaction that reverts.

    Raises: NotDoneError: an agent undid its run. AgentsError: another revert.
    """
    try:
        yield
    except RevertedError as error:
        if error.answer is not None:
            raise NotDoneError(describe_not_done(error.answer), error.answer) from error
        raise AgentsError(add_advice(error)) from error


def add_advice(error: RevertedError) -> str:
    """Return the message of a revert with its times as dates, and the next step."""
    message = TIME.sub(lambda match: f"{match[0]} ({format_time(int(match[1]))})", str(error))
    message = REQUEST.sub(lambda match: f"requestId={format_request(int(match[1]))}", message)
    advice = ADVICE.get(error.name)
    return message if advice is None else f"{message}; {advice}"


def add_client_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--rpc-url` to a command, which gets the node as `client`."""

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        with closing(RemoteClient(values.pop("remote").url, retries=RETRIES)) as client:
            command(*arguments, **values, client=client)

    return rpc_option(run)


def add_sender_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--rpc-url` and the account's options to a command, which gets a `session`."""

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        keystore: Path | None = values.pop("keystore")
        password_file: Path | None = values.pop("password_file")
        unlocked: Address | None = values.pop("unlocked")
        _require_account(keystore, unlocked)

        def open_account(client: RemoteClient) -> SendingAccount:
            if unlocked is not None:
                return UnlockedAccount(client, unlocked)
            assert keystore is not None  # noqa: S101 - checked above
            return KeyAccount(client, unlock(keystore, password_file))

        url = values.pop("remote").url
        with closing(RemoteClient(url, retries=RETRIES)) as client:
            command(*arguments, **values, session=OracleSession(client, open_account, url=url))

    for option in (unlocked_option, password_file_option, keystore_option, rpc_option):
        run = option(run)
    return run


def _require_account(keystore: Path | None, unlocked: bytes | None) -> None:
    """Check that one account is given. The command line wins over the environment.

    Raises: click.UsageError.
    """
    source = click.get_current_context().get_parameter_source("keystore")
    if unlocked is not None and keystore is not None and source == ParameterSource.COMMANDLINE:
        raise click.UsageError("--keystore and --unlocked exclude each other; omit one")
    if unlocked is None and keystore is None:
        raise click.UsageError(
            "no account; pass --keystore FILE (`pyevm-agents oracle key new FILE` makes one), or "
            "--unlocked ADDRESS of a development node"
        )


def print_sent(text: str, sent: SentTransaction) -> None:
    """Print what a transaction did, its hash and its gas."""
    out.print(text, soft_wrap=True, markup=False)
    out.print(f"  [dim]transaction[/] 0x{sent.hash.hex()}, {sent.gas_used:,} gas", soft_wrap=True)
