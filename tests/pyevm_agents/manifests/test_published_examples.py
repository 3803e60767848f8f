"""The published examples pass their schemas; spoiled in any member, they are refused by its name.

Each problem has the place, the value, the rule and the next step.
"""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pyevm_agents.manifests.documents import DocumentKind, load_schema
from pyevm_agents.manifests.validation import format_path, validate_document
from tests.pyevm_agents.manifests.documents_of_tests import REGISTRY, read_example

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Place = tuple[str | int, ...]

ERC8004 = DocumentKind.REGISTRATION
REMOVED = object()
OTHERS: tuple[object, ...] = (None, True, 7, -0.5, "a text", ["a text"], {"a": "text"})
"""One value of each type of JSON."""


@pytest.mark.parametrize("kind", DocumentKind)
def test_a_plain_validator_accepts_the_published_example(kind: DocumentKind) -> None:
    """The schema is for everybody: it needs no code of ours."""
    jsonschema.Draft202012Validator(load_schema(kind)).validate(read_example(kind))


def spoil(form: dict[str, Any], place: Sequence[str | int], value: object) -> dict[str, Any]:
    """Return a document with another value at a place, or with none."""
    spoiled = copy.deepcopy(form)
    *parents, last = place
    target: Any = spoiled
    for each in parents:
        target = target[each]
    if value is REMOVED:
        del target[last]
    else:
        target[last] = value
    return spoiled


def list_problems(kind: DocumentKind, place: Sequence[str | int], value: object) -> list[str]:
    return [str(each) for each in validate_document(spoil(read_example(kind), place, value), kind)]


TYPE = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
CAIP10 = (
    "must be namespace:chainId:identityRegistry, such as eip155:1:0x and 40 hexadecimal digits; "
    "correct it"
)
AGENT_ID = "must be an integer from 0 to 2^256 - 1; correct it"
CHECKSUM = "must have the checksum of EIP-55; compare it with its source; a digit may be wrong"
TEXT = "must be a text that is not empty; correct it"
UNIQUE = "must have no two equal entries; correct it"
AT_0 = ("registrations", 0)


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (["type"], REMOVED, "type: must be there; add it"),
        (["type"], TYPE[:-1] + "2", f'type "{TYPE[:-1]}2": must be "{TYPE}"; correct it'),
        (["name"], REMOVED, "name: must be there; add it"),
        (["name"], "", 'name "": must be a text that is not empty; correct it'),
        (["description"], REMOVED, "description: must be there; add it"),
        (["image"], REMOVED, "image: must be there; add it"),
        (["image"], "icon.png", 'image "icon.png": must be a URI with its scheme; correct it'),
        (["services"], REMOVED, "services: must be there; add it"),
        (["services"], {}, "services {}: must be a list; correct it"),
        (["services", 1], "A2A", 'services[1] "A2A": must be an object; correct it'),
        (["services", 1, "name"], REMOVED, "services[1].name: must be there; add it"),
        (["services", 1, "endpoint"], REMOVED, "services[1].endpoint: must be there; add it"),
        (
            ["services", 1, "endpoint"], 80,
            "services[1].endpoint 80: must be a text that is not empty; correct it",
        ),
        (["services", 3, "skills"], "x", 'services[3].skills "x": must be a list; correct it'),
        (
            ["services", 3, "domains"], [1],
            "services[3].domains[0] 1: must be a text that is not empty; correct it",
        ),
        (["x402Support"], "no", 'x402Support "no": must be true or false; correct it'),
        (["x402Support"], 0, "x402Support 0: must be true or false; correct it"),
        (["active"], None, "active null: must be true or false; correct it"),
        (["registrations"], {}, "registrations {}: must be a list; correct it"),
        ([*AT_0, "agentId"], REMOVED, "registrations[0].agentId: must be there; add it"),
        (
            [*AT_0, "agentId"], "22",
            f'registrations[0].agentId "22": {AGENT_ID}',
        ),
        (
            [*AT_0, "agentId"], -1,
            f"registrations[0].agentId -1: {AGENT_ID}",
        ),
        (
            [*AT_0, "agentId"], 2**256,
            f"registrations[0].agentId {2**256}: {AGENT_ID}",
        ),
        (
            [*AT_0, "agentRegistry"], REMOVED,
            "registrations[0].agentRegistry: must be there; add it",
        ),
        *(
            ([*AT_0, "agentRegistry"], each, f'registrations[0].agentRegistry "{each}": {CAIP10}')
            for each in (
                REGISTRY, f"eip155:{REGISTRY}", f"eip155:0:{REGISTRY}", f"eip155:one:{REGISTRY}",
                f"EIP155:1:{REGISTRY}", f"eip155:1:{REGISTRY[:-1]}", f"eip155:1:{REGISTRY[2:]}",
                f"eip155:1:{REGISTRY} ", "{namespace}:{chainId}:{identityRegistry}",
            )
        ),
        (
            [*AT_0, "agentRegistry"], f"eip155:1:{REGISTRY[:-1]}F",
            f'registrations[0].agentRegistry "eip155:1:{REGISTRY[:-1]}F": {CHECKSUM}',
        ),
        (
            ["supportedTrust"], "reputation",
            'supportedTrust "reputation": must be a list; correct it',
        ),
        (
            ["supportedTrust", 1], {"protocol": "erc-8004"},
            f'supportedTrust[1] {{"protocol": "erc-8004"}}: {TEXT}',
        ),
        (
            ["supportedTrust", 1], "reputation",
            'supportedTrust ["reputation", "reputation", "tee-attestation"]: ' + UNIQUE,
        ),
    ],
)  # fmt: skip
def test_a_spoiled_example_of_erc8004_is_refused_by_its_field(
    place: Sequence[str | int], value: object, problem: str
) -> None:
    assert list_problems(ERC8004, place, value) == [problem]


@pytest.mark.parametrize("name", ["x402Support", "active", "registrations", "supportedTrust"])
def test_a_member_that_erc8004_leaves_out_may_be_missing(name: str) -> None:
    assert list_problems(ERC8004, [name], REMOVED) == []


def iter_places(value: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """Yield every place of a document with its value, except its root."""
    if place:
        yield place, value
    if isinstance(value, dict):
        for name, each in value.items():
            yield from iter_places(each, (*place, name))
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from iter_places(each, (*place, index))


@pytest.mark.parametrize("kind", DocumentKind)
def test_a_value_of_another_type_is_refused_at_every_place(kind: DocumentKind) -> None:
    places = [*iter_places(read_example(kind))]
    assert len(places) > 20
    for place, value in places:
        for other in OTHERS:
            if type(other) is type(value):
                continue
            shown = f"{format_path(place)} {json.dumps(other)}: must be "
            problems = list_problems(kind, place, other)
            assert [each.startswith(shown) for each in problems] == [True], (shown, problems)
            assert problems[0].partition("; ")[2], "no next step"


@pytest.mark.parametrize("kind", DocumentKind)
def test_a_member_that_is_required_is_missed_at_every_place(kind: DocumentKind) -> None:
    """Which members those are, the schema says; at least half of them."""
    refused = accepted = 0
    for place, _ in iter_places(read_example(kind)):
        if isinstance(place[-1], int):
            continue
        problems = list_problems(kind, place, REMOVED)
        refused, accepted = refused + bool(problems), accepted + (not problems)
        missed = rf"{re.escape(format_path(place))}: must be there( where \w+ is)?; add it"
        assert [bool(re.fullmatch(missed, each)) for each in problems] in ([], [True]), place
    assert refused > accepted


@pytest.mark.parametrize("kind", [each for each in DocumentKind if each is not ERC8004])
def test_an_unknown_member_is_refused_in_every_object(kind: DocumentKind) -> None:
    """ERC-8004's form is open; the seed's is closed, so that a misspelt member is found."""
    for place, value in [((), read_example(kind)), *iter_places(read_example(kind))]:
        if not isinstance(value, dict):
            continue
        [problem] = list_problems(kind, (*place, "extra"), 1)
        assert problem.startswith(
            f"{format_path((*place, 'extra'))} 1: not a member; must be one of"
        )
