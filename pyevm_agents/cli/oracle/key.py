"""`pyevm-agents oracle key`: encrypted keystores."""

from __future__ import annotations

import re
from pathlib import Path

import click
from eth_keys.datatypes import PrivateKey

from pyevm_agents.cli.options.keystore import password_file_option, read_password, unlock
from pyevm_agents.cli.output import err
from pyevm_agents.client.keystore import create_keystore, read_keystore_address, refuse_existing
from pyevm_agents.errors import ConfigError

PRIVATE_KEY = re.compile(r"(?:0x)?[0-9a-fA-F]{64}")
GROUP_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1: keys are below."""

keystore_argument = click.argument("file", type=click.Path(path_type=Path), metavar="FILE")


@click.group()
def key() -> None:
    """Make and show encrypted keystores, in the format of geth, cast and eth_account."""


@key.command(
    "new",
    short_help="Write a new key to an encrypted keystore.",
    epilog="""\b
Examples:
  pyevm-agents oracle key new worker.json
  pyevm-agents oracle key new worker.json --password-file password.txt
""",
)
@keystore_argument
@password_file_option
def create_key(file: Path, password_file: Path | None) -> None:
    """Write a new random key to the encrypted keystore FILE; print the address.

    An existing file is not overwritten. Without the password the key is lost.
    """
    refuse_existing(file)
    _write_key(file, password_file)


@key.command(
    "import",
    short_help="Write a private key to an encrypted keystore.",
    epilog="Example: pyevm-agents oracle key import worker.json",
)
@keystore_argument
@password_file_option
def import_key(file: Path, password_file: Path | None) -> None:
    """Prompt for a private key, and write the encrypted keystore FILE; print the address.

    An existing file is not overwritten.
    """
    refuse_existing(file)
    text = str(click.prompt("Private key", hide_input=True, err=True))
    if not PRIVATE_KEY.fullmatch(text) or not 0 < int(text, 16) < GROUP_ORDER:
        raise ConfigError("not a private key; must be 0x and 64 hexadecimal digits")
    _write_key(file, password_file, PrivateKey(bytes.fromhex(text.removeprefix("0x"))))


def _write_key(file: Path, password_file: Path | None, secret: PrivateKey | None = None) -> None:
    password = read_password(password_file, f"Password for {file}", confirm=True)
    if not password:
        raise ConfigError(f"{password_file}: has no password; write one into its first line")
    click.echo(create_keystore(file, password, secret))
    err.print(f"Wrote {file}. Keep it and its password.", soft_wrap=True, markup=False)


@key.command(
    "show",
    short_help="Print the address of a keystore.",
    epilog="Example: pyevm-agents oracle key show worker.json",
)
@keystore_argument
@password_file_option
def show_key(file: Path, password_file: Path | None) -> None:
    """Print the address of the keystore FILE.

    Prompts for the password if the file does not state the address, as cast's don't, and if
    --password-file is given.
    """
    address = None if password_file is not None else read_keystore_address(file)
    if address is None:
        address = unlock(file, password_file).public_key.to_checksum_address()
    click.echo(address)
