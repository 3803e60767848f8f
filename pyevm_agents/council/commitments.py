"""Forms of commitments: what an oracle hashes, and how the form of an oracle is found out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_abi.packed import encode_packed
from eth_utils import keccak

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable


class CommitmentForm(Enum):
    """What is hashed. Values are words for people."""

    BOUND = "keccak256(abi.encode(chain ID, oracle, request, agent, answer, nonce))"
    """Of one agent: nobody can copy it. Source: `CouncilSubmissions.commitmentOf`."""

    PLAIN = "keccak256(abi.encode(answer, nonce))"
    """Source: ERC-8033, RECOMMENDED."""

    PACKED = "keccak256(abi.encodePacked(answer, nonce))"

    @property
    def option(self) -> str:
        """The form's name on the command line."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentPlace:
    """Whose commitment it is, and where."""

    chain_id: int
    oracle: bytes
    request_id: int
    agent: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownForm:
    """A form, and why it is taken to be the oracle's."""

    form: CommitmentForm
    source: str
    """In words: `as its commitmentOf says`."""

    is_sure: bool
    """Whether the oracle itself was asked or tried."""


PROBE_ANSWER, PROBE_NONCE = b"probe", 1
"""What an oracle's own function is asked about: an answer of nobody."""


def compute_commitment(
    form: CommitmentForm, place: CommitmentPlace, answer: bytes, nonce: int
) -> bytes:
    """Return the commitment to an answer.

    Computed here: a call would reveal the answer to the node.
    """
    if form is CommitmentForm.BOUND:
        types = ["uint256", "address", "uint256", "address", "bytes", "uint256"]
        values = (place.chain_id, place.oracle, place.request_id, place.agent, answer, nonce)
        return bytes(keccak(encode(types, values)))
    pack = encode if form is CommitmentForm.PLAIN else encode_packed
    return bytes(keccak(pack(["bytes", "uint256"], [answer, nonce])))


def find_form(
    place: CommitmentPlace,
    ask: Callable[[bytes, int], bytes | None],
    try_form: Callable[[CommitmentForm], bool | None],
) -> KnownForm:
    """Return the form of an oracle's commitments.

    Input:
        ask: returns what the oracle's `commitmentOf` says; None without such a function.
        try_form: returns whether an oracle takes a commitment and its reveal, simulated; None where
            that can't be tried.

    Raises: ConfigError: all forms were tried, and none is taken.
    """
    stated = ask(PROBE_ANSWER, PROBE_NONCE)
    for form in CommitmentForm:
        if stated == compute_commitment(form, place, PROBE_ANSWER, PROBE_NONCE):
            return KnownForm(form=form, source="as its commitmentOf says", is_sure=True)
    forms = (CommitmentForm.PLAIN, CommitmentForm.BOUND, CommitmentForm.PACKED)
    for form in forms:
        is_taken = try_form(form)
        if is_taken is None:
            break
        if is_taken:
            source = "as a simulated commitment and reveal show"
            return KnownForm(form=form, source=source, is_sure=True)
    else:
        names = ", ".join(each.option for each in forms)
        raise ConfigError(
            f"commitments: the oracle takes none of the forms {names}, by simulated reveals, so a "
            "bond would be lost"
        )
    return KnownForm(
        form=CommitmentForm.PLAIN,
        source="the form that ERC-8033 recommends: the oracle states none, and none could be tried",
        is_sure=False,
    )
