"""The options of `council deploy` for a source of reputation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.sent_transactions import ADVICE
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.council.messages import NOBODY
from pyevm_agents.council.reputation import (
    SOMEBODY,
    choose_registries,
    encode_reputation,
    encode_wiring,
    require_reputation,
)
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyevm_agents.cli.options.sender import Sender

NEW = "new"
"""In place of the address of a CouncilReputation: a new one is deployed."""


class ReputationType(click.ParamType["bytes | str"]):
    """The address of a CouncilReputation, or `new`."""

    name = "reputation"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | str:
        """Return an address, or `NEW`."""
        return NEW if value == NEW else ADDRESS_TYPE.convert(value, param, ctx)


_OPTIONS = (
    click.option(
        "--reputation", type=ReputationType(), metavar="new|ADDRESS",
        help="A CouncilReputation, on the registries of ERC-8004: a new one, or one that this "
        "account deployed. It is wired to the council.  [default: nobody's counts]",
    ),
    click.option(
        "--client", "clients", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="With --reputation new: whose feedback and questions count. Repeatable.",
    ),
    click.option(
        "--identity-registry", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="With --reputation new: ERC-8004's registry of identities.  [default: the chain's]",
    ),
    click.option(
        "--feedback-registry", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="With --reputation new: ERC-8004's registry of feedback.  [default: the chain's]",
    ),
)  # fmt: skip


class ReputationChoice:
    """The source of a new council's reputation, if any."""

    def __init__(
        self,
        reputation: bytes | str | None,
        clients: Sequence[bytes] = (),
        identity_registry: bytes | None = None,
        feedback_registry: bytes | None = None,
    ) -> None:
        """Input: the values of the options. Raises: click.UsageError: they do not fit together."""
        self._reputation, self._clients = reputation, clients
        self._registries = identity_registry, feedback_registry
        given = {
            "--client": clients,
            "--identity-registry": identity_registry,
            "--feedback-registry": feedback_registry,
        }
        names = [name for name, value in given.items() if value]
        if reputation != NEW and names:
            raise click.UsageError(f"{names[0]}: needs --reputation new")
        if reputation == NEW and not clients:
            raise click.UsageError(
                "--reputation new: needs --client ADDRESS, whose feedback and questions count; "
                "without any nobody ever has a score"
            )

    @property
    def is_given(self) -> bool:
        """Whether somebody's reputation counts."""
        return self._reputation is not None

    def deploy_council(
        self, sender: Sender, encode: Callable[[bytes], bytes], purpose: str
    ) -> tuple[bytes, bytes]:
        """Deploy a council, with a source of reputation that is wired to it.

        Everything is checked before anything is sent.

        Input:  encode: returns the council's creation code for a source, `NOBODY` for none.
        Output: the council; the source, `NOBODY` without one.
        Raises: ConfigError: the source is none, or can't be wired; or no council has these rules.
        """
        source, creation = NOBODY, b""
        if self._reputation == NEW:
            registries = choose_registries(sender.client, *self._registries)
            creation = encode_reputation(registries, self._clients)
        elif isinstance(self._reputation, bytes):
            source = self._reputation
            require_reputation(sender.client, sender.account, source)
        # The constructor does not call the source, so that anybody stands for a new one.
        _require_rules(sender, encode(SOMEBODY if creation else source))
        if creation:
            source = sender.account.deploy(creation, purpose="CouncilReputation")
        oracle = sender.account.deploy(encode(source), purpose=purpose)
        if source != NOBODY:
            said = "Wired the CouncilReputation to the council"
            sender.account.transact(source, encode_wiring(oracle), purpose=said)
        return oracle, source


add_reputation_options = partial(
    add_option_group, parameter="reputation", build=ReputationChoice, options=_OPTIONS
)


def _require_rules(sender: Sender, creation: bytes) -> None:
    """Check that a council can have these rules. Raises: ConfigError: the contract refuses them."""
    form = {"from": to_checksum_address(sender.account.address), "data": "0x" + creation.hex()}
    try:
        sender.client.request("eth_estimateGas", [form])
    except RemoteError as error:
        if not error.revert_data:
            raise
        reason = decode_revert(error.revert_data)
        advice = ADVICE.get(reason.partition("(")[0], "pass other rules")
        raise ConfigError(f"no council has these rules: {reason}; {advice}") from error
