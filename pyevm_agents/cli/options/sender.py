"""The node and the account that signs, as options of commands."""

from __future__ import annotations

from contextlib import closing, contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.cli.options.keystore import password_file_option, unlock
from pyevm_agents.cli.options.node import rpc_option
from pyevm_agents.cli.options.sent_transactions import Announced
from pyevm_agents.cli.options.signing import (
    chain_id_option,
    choose_chain,
    max_fee_option,
    require_chain,
    tell_cost,
)
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.client.accounts import NodeAccount
from pyevm_agents.client.json_rpc import RemoteClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth_keys.datatypes import PrivateKey
    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.client.signing import FeeBounds

RETRIES = 2
"""A node that is not there is reported after 1.5 s."""

RUN_SECONDS = 3_600.0
"""How long a request waits that runs a model in the node, which has a limit of its own."""

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


class Sender:
    """The node of a command, and the account that signs."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: RemoteClient,
        open_signer: Callable[[], PrivateKey | Address],
        *,
        url: str,
        chain_id: int | None = None,
        bounds: FeeBounds | None = None,
        is_quiet: bool = False,
    ) -> None:
        """Open no account yet.

        Input:
            client: the node.
            open_signer: returns the key, maybe after a prompt for a password, or an unlocked
                address.
            url: the node's URL.
            chain_id: the chain that the node must have; None for any, and a key of this machine
                signs for it by `choose_chain`.
            bounds: the most that a transaction may pay; None for the default.
            is_quiet: whether no transaction is printed when mined.
        """
        self.client, self.url = client, url
        self._chain_id, self._bounds = chain_id, bounds
        self._open_signer, self._is_quiet = open_signer, is_quiet
        self.known: KnownContracts = BUNDLED
        """Contracts whose errors reasons name. Set it before the account is used."""

    @cached_property
    def account(self) -> Announced:
        """The account that signs. The first use may prompt for a password."""
        signer, chain_id = self._open_signer(), self._chain_id
        if not isinstance(signer, bytes):
            address = signer.public_key.to_canonical_address()
            chain_id = choose_chain(self.client, chain_id, address)
        elif chain_id is not None:
            require_chain(self.client, chain_id)
        account = NodeAccount(
            self.client,
            signer,
            known=self.known,
            chain_id=chain_id,
            bounds=self._bounds,
            tell=tell_cost,
        )
        return Announced(account, is_quiet=self._is_quiet)

    @contextmanager
    def wait_for_runs(self) -> Iterator[Sender]:
        """Yield a sender whose requests wait as long as a run of a model takes."""
        with closing(
            RemoteClient(
                self.url, retries=RETRIES, timeout_seconds=RUN_SECONDS, repeats_timeouts=False
            )
        ) as client:
            patient = Sender(
                client,
                self._open_signer,
                url=self.url,
                chain_id=self._chain_id,
                bounds=self._bounds,
                is_quiet=self._is_quiet,
            )
            patient.known = self.known
            yield patient


def add_client_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--rpc-url` to a command, which gets the node as `client`."""

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        with closing(RemoteClient(values.pop("url"), retries=RETRIES)) as client:
            command(*arguments, **values, client=client)

    return rpc_option(run)


def add_sender_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--rpc-url` and the account's options to a command, which gets a `sender`."""

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:  # noqa: ANN401 - the command's own
        keystore: Path | None = values.pop("keystore")
        password_file: Path | None = values.pop("password_file")
        unlocked: Address | None = values.pop("unlocked")
        chain_id: int | None = values.pop("chain_id")
        bounds: FeeBounds | None = values.pop("max_fee")
        _require_account(keystore, unlocked)

        def open_signer() -> PrivateKey | Address:
            if unlocked is not None:
                return unlocked
            assert keystore is not None  # noqa: S101 - checked above
            return unlock(keystore, password_file)

        url = values.pop("url")
        with closing(RemoteClient(url, retries=RETRIES)) as client:
            is_quiet = bool(values.get("as_json"))
            sender = Sender(
                client, open_signer, url=url, chain_id=chain_id, bounds=bounds, is_quiet=is_quiet
            )
            command(*arguments, **values, sender=sender)

    options = (keystore_option, password_file_option, unlocked_option)
    for option in reversed((rpc_option, *options, chain_id_option, max_fee_option)):
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
