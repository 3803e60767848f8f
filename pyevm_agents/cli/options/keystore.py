"""Options for a key: an encrypted keystore, and the place of the password."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.client.keystore import open_keystore, read_keystore
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

MAX_PASSWORD_BYTES = 1 << 12

password_file_option = click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ETH_PASSWORD",
    show_envvar=True,
    help="A file with the keystore's password.  [default: prompt]",
)
keystore_option = click.option(
    "--keystore",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="ETH_KEYSTORE",
    show_envvar=True,
    required=True,
    help="Keystore file of the key that signs; `pyevm-agents oracle key new` makes one.",
)


def add_keystore_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--keystore` and `--password-file` to a command, which gets the key as `key`."""
    return add_option_group(command, "key", unlock, (keystore_option, password_file_option))


def unlock(keystore: Path, password_file: Path | None) -> PrivateKey:
    """Return a keystore's key; prompt for the password without a password file.

    Raises: ConfigError: no such file, not a keystore, or another password.
    """
    read_keystore(keystore)  # Its errors come before the question.
    return open_keystore(keystore, read_password(password_file, f"Password of {keystore}"))


def read_password(password_file: Path | None, prompt: str, *, confirm: bool = False) -> str:
    """Return the password in a file, without the end of the line; without a file, prompt.

    Raises: ConfigError: the file can't be read.
    """
    if password_file is None:
        try:
            return str(click.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True))
        except click.Abort as error:
            if sys.stdin is not None and sys.stdin.isatty():
                raise
            raise ConfigError(
                "no password: standard input has ended; pass --password-file FILE"
            ) from error
    try:
        with password_file.open(encoding="utf-8") as file:
            return file.read(MAX_PASSWORD_BYTES).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{password_file}: password can't be read: {reason}") from error
