"""Validation: published examples pass, and each broken rule is named with its place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import DocumentKind, detect_kind, load_schema, parse_document
from pyevm_agents.manifests.validation import require_kind, validate_document
from tests.pyevm_agents.manifests.documents_of_tests import OWNER, build_run, read_example

if TYPE_CHECKING:
    from collections.abc import Sequence

MANIFEST, LOG = DocumentKind.MANIFEST, DocumentKind.LOG
ERC8004, OPENFI = DocumentKind.REGISTRATION, DocumentKind.OPENFI_REGISTRATION


@pytest.mark.parametrize("kind", DocumentKind)
def test_a_schema_is_a_schema(kind: DocumentKind) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema(kind))


@pytest.mark.parametrize("kind", DocumentKind)
def test_the_published_example_is_valid(kind: DocumentKind) -> None:
    form = read_example(kind)
    assert detect_kind(form) is kind
    assert validate_document(form, kind) == ()


@pytest.mark.parametrize(("kind", "other"), [(ERC8004, OPENFI), (OPENFI, ERC8004)])
def test_a_registration_document_of_one_form_is_not_of_the_other(
    kind: DocumentKind, other: DocumentKind
) -> None:
    assert validate_document(read_example(kind), other)


@pytest.mark.parametrize(
    "members",
    [
        {"services": []},
        {"services": [], "registrations": [], "supportedTrust": [], "custom": {"any": 1}},
        {"services": [{"name": "anything", "endpoint": "0x1234", "custom": True}]},
        {"registrations": [{"agentId": 2**255, "agentRegistry": "solana:5eykt4:8vSx1"}]},
    ],
)
def test_erc8004_leaves_services_and_members_open(members: dict[str, Any]) -> None:
    assert validate_document(read_example(ERC8004) | members, ERC8004) == ()


REMOVED = object()


def change(form: dict[str, Any], path: Sequence[str | int], value: object) -> dict[str, Any]:
    """Return a document with one value that is another one, or that is not there."""
    changed = copy.deepcopy(form)
    *parents, last = path
    place: Any = changed
    for each in parents:
        place = place[each]
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (MANIFEST, ["slug"], "My Agent", 'slug "My Agent": must be kebab-case'),
        (MANIFEST, ["slug"], "my-agent\n", 'slug "my-agent\\n": must be kebab-case'),
        (MANIFEST, ["version"], "1.0", 'version "1.0": must be a semantic version'),
        (MANIFEST, ["description"], REMOVED, "description: must be there; add it"),
        (MANIFEST, ["name"], "", 'name "": must be a text that is not empty'),
        (MANIFEST, ["ownerWallet"], "0x12", 'ownerWallet "0x12": must be 0x and 40 hexadecimal'),
        (MANIFEST, ["ownerWallet"], REMOVED, "ownerWallet: must be there where erc8004 is; add it"),
        (
            MANIFEST, ["ownerWallet"], OWNER[:-1] + "7",
            "must have the checksum of EIP-55; compare it with its source",
        ),
        (
            MANIFEST, ["safety", "requireDryRun"], True,
            ("safety.requireDryRun true: not a member; must be one of requiresDryRun, "
            "requiresVerification, maxOnchainWritesPerRun; did you mean requiresDryRun?"),
        ),
        (
            MANIFEST, ["safety", "maxOnchainWritesPerRun"], 6,
            ("safety.maxOnchainWritesPerRun 6: must be at most computeConstraints."
            "maxOnchainWrites, 5; lower it, or raise the constraint"),
        ),
        (MANIFEST, ["computeConstraints", "maxSteps"], 0, "must be an integer of at least 1"),
        (MANIFEST, ["computeConstraints", "maxSteps"], True, "computeConstraints.maxSteps true"),
        (MANIFEST, ["computeConstraints", "maxGasWei"], "1e18", "must be a decimal integer of wei"),
        (MANIFEST, ["capabilities"], ["x", "x"], "must have no two equal entries"),
        (MANIFEST, ["taskCategories"], [], "taskCategories []: must not be empty"),
        (
            MANIFEST, ["tools"], [{"name": "a", "description": "b"}] * 2,
            'tools[1].name "a": must be unique in the list',
        ),
        (MANIFEST, ["endpoints", "api"], "ftp://x", "must be a URL that begins with http://"),
        (MANIFEST, ["schema"], "v2", 'schema "v2": must be "https://openfi.dev/schemas/agent/v1"'),
        (OPENFI, ["services", 1, "kind"], "MCP", 'services[1].kind "MCP": must be one of web, mcp'),
        (OPENFI, ["services", 0, "url"], REMOVED, "services[0].url: must be there; add it"),
        (OPENFI, ["services"], {}, "services {}: must be a list; correct it"),
        (OPENFI, ["registrations", 0, "chainId"], "1", "must be an integer of at least 1"),
        (ERC8004, ["registrations", 0, "agentRegistry"], OWNER, "must be namespace:chainId:"),
        (ERC8004, ["registrations", 0, "agentRegistry"], "eip155:1:x", "must be namespace:"),
        (ERC8004, ["image"], "icon.png", 'image "icon.png": must be a URI with its scheme'),
        (ERC8004, ["active"], "yes", 'active "yes": must be true or false'),
        (
            LOG, ["runs", 0, "endedAt"], "2026-01-15T09:59:59.999Z",
            ('runs[0].endedAt "2026-01-15T09:59:59.999Z": must not be before startedAt, '
            "2026-01-15T10:00:00.000Z; correct one of them"),
        ),
        (LOG, ["runs", 0, "startedAt"], "2026-01-15", "must be a UTC time with milliseconds"),
        (LOG, ["runs", 0, "steps", 0, "stepId"], "step-9", "must be a stepId of the plan"),
        (LOG, ["runs", 0, "steps", 0, "status"], "done", "must be one of pending, running"),
        (LOG, ["runs", 0, "previousDigest"], "0x" + "11" * 32, "must be the digest of the run"),
        (LOG, ["lastDigest"], "0x" + "11" * 32, "lastDigest"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_its_place(
    kind: DocumentKind, path: Sequence[str | int], value: object, message: str
) -> None:
    problems = validate_document(change(read_example(kind), path, value), kind)
    assert [message in str(each) for each in problems] == [True], [*map(str, problems)]


def test_every_problem_is_named_in_the_order_of_its_place() -> None:
    runs = [build_run(f"run_{index}", goal=4, summary=3) for index in range(11)]
    form = read_example(LOG) | {"runs": runs}
    paths = [each.path for each in validate_document(form, LOG)]
    assert paths == [f"runs[{index}].{name}" for index in range(11) for name in ("goal", "summary")]


@pytest.mark.parametrize("path", [["agent"], ["runs"], ["runs", 0, "plan"]])
@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], [[]]])
def test_no_value_makes_validation_fail(path: list[str | int], value: object) -> None:
    validate_document(change(read_example(LOG), path, value), LOG)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: line 1, column 2: Expecting property name"),
        ("[]", "must be a JSON object"),
        ('{"a": 1, "a": 2}', "member 'a': must stand once in an object; remove one"),
        ('{"a": NaN}', "NaN: not a JSON number"),
        ('{"a": 1e999}', "1e999: not a JSON number"),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", "must nest at most 64 objects and lists"),
    ],
)
def test_a_text_that_is_no_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(text, "agent.json")
    assert str(caught.value).startswith("agent.json: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ('{"schema": "https://example.com"}', 'schema "https://example.com"'),
        ('{"type": 7}', "type 7"),
        ("{}", "it has no type and no schema"),
    ],
)
def test_a_document_of_no_known_kind_is_refused(text: str, stated: str) -> None:
    with pytest.raises(ConfigError) as caught:
        require_kind(json.loads(text), Path("x.json"))
    message = f"x.json: not a manifest: {stated}; type must be https://eips.ethereum.org/EIPS/"
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind", DocumentKind)
def test_a_document_without_its_type_is_of_the_kind_of_its_file(kind: DocumentKind) -> None:
    form = {**read_example(kind)}
    form.pop("type", None)
    form.pop("schema", None)
    assert require_kind(form, Path("folder") / kind.file_name) is kind
    assert [each.path for each in validate_document(form, kind)] in (["type"], ["schema"])
