"""Forms of commitments: as the contracts compute them, found out, and never paid for blindly."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.council.commitments import (
    CommitmentForm,
    CommitmentPlace,
    compute_commitment,
    find_form,
)
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.council.council_chain import CouncilChain
from tests.pyevm_agents.council.living import KEYS
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable

AGENT = KEYS[0].public_key.to_canonical_address()
PLACE = CommitmentPlace(chain_id=31_337, oracle=b"\5" * 20, request_id=7, agent=AGENT)
BOUND, PLAIN, PACKED = CommitmentForm


@pytest.mark.parametrize("form", [BOUND, PLAIN])
def test_the_local_commitment_is_that_of_the_contract(form: CommitmentForm) -> None:
    served = Served()
    with fake_remote(served) as remote:
        chain = CouncilChain(served.ask, remote.url, has_plain_commitments=form is PLAIN)
        place = CommitmentPlace(
            chain_id=int(chain.ask_node("eth_chainId"), 16),
            oracle=chain.canonical,
            request_id=7,
            agent=AGENT,
        )
        local = compute_commitment(form, place, b"yes", 2**255 + 1)
        name = to_checksum_address(AGENT)
        assert local == chain.read("commitmentOf", 7, name, b"yes", 2**255 + 1)
        with closing(CouncilClient(chain.url, chain.canonical)) as client:
            found = client.find_commitment_form(place.chain_id, None)
            assert (found.form, found.is_sure) == (form, True)
            chain.ask()
            [view] = client.read_views([1])
            taken = [
                each
                for each in CommitmentForm
                if client.takes_form(place.chain_id, view.request, AGENT, each)
            ]
            assert taken == [form]
    served.close()


def states(form: CommitmentForm) -> Callable[[bytes, int], bytes]:
    return lambda answer, nonce: compute_commitment(form, PLACE, answer, nonce)


@pytest.mark.parametrize(
    ("stated", "taken", "form", "is_sure"),
    [
        (BOUND, None, BOUND, True),
        (PACKED, None, PACKED, True),
        (None, {PLAIN}, PLAIN, True),
        (None, {BOUND}, BOUND, True),
        (None, {PACKED}, PACKED, True),
        (None, None, PLAIN, False),
    ],
)
def test_what_the_oracle_says_or_takes_is_the_form(
    stated: CommitmentForm | None,
    taken: set[CommitmentForm] | None,
    form: CommitmentForm,
    is_sure: bool,
) -> None:
    ask = (lambda *_: None) if stated is None else states(stated)
    found = find_form(PLACE, ask, lambda each: None if taken is None else each in taken)
    assert (found.form, found.is_sure) == (form, is_sure)


def test_an_oracle_that_takes_no_known_form_gets_no_bond() -> None:
    with pytest.raises(ConfigError):
        find_form(PLACE, lambda *_: b"\0" * 32, lambda _: False)
