"""Every answer of REST and every tool of MCP has a schema with members, and answers fit theirs."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from pyevm_agents.control.results import RunResult, TypedData
from pyevm_agents.lifecycle.statuses import Phase
from tests.golden.golden_files import read

DOCUMENT: Any = read("openapi")
GOLDEN: Any = read("control_plane")
OPERATIONS = {
    (method.upper(), path): operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def has_members(schema: Any) -> bool:  # noqa: ANN401 - a JSON Schema
    """Return whether a schema names members: of an object, or of the items of a list."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return has_members(DOCUMENT["components"]["schemas"][name])
    if "anyOf" in schema:
        return all(map(has_members, schema["anyOf"]))
    return has_members(schema["items"]) if "items" in schema else bool(schema.get("properties"))


def find_operation(line: str) -> Any:  # noqa: ANN401 - of the document
    """Return the operation of a request line of the golden file; None for a wrong method."""
    _, method, target = line.split()
    words = target.partition("?")[0].split("/")
    for (each, path), operation in OPERATIONS.items():
        parts = path.split("/")
        if each == method and len(parts) == len(words):
            pairs = zip(parts, words, strict=True)
            if all(part == word or part.startswith("{") for part, word in pairs):
                return operation
    return None


@pytest.mark.parametrize("key", OPERATIONS, ids=" ".join)
def test_an_operation_answers_with_members_and_was_recorded(key: tuple[str, str]) -> None:
    operation = OPERATIONS[key]
    for status, response in operation["responses"].items():
        assert has_members(response["content"]["application/json"]["schema"]), status
    assert any(find_operation(line) is operation for line in GOLDEN["REST"])


@pytest.mark.parametrize("line", GOLDEN["REST"])
def test_a_recorded_answer_fits_the_schema_of_its_status(line: str) -> None:
    answer, operation = GOLDEN["REST"][line], find_operation(line)
    if operation is None:
        assert answer["status"] == 405
        return
    content = operation["responses"][str(answer["status"])]["content"]
    schema = {**content["application/json"]["schema"], "components": DOCUMENT["components"]}
    if answer["body"] != "…":
        jsonschema.validate(json.loads(answer["body"]), schema)


@pytest.mark.parametrize("name", GOLDEN["tools"])
def test_a_tool_states_its_members_and_its_recorded_answers_fit(name: str) -> None:
    schema = GOLDEN["tools"][name]["outputSchema"]
    assert schema["type"] == "object"
    assert schema.get("properties") or all(each["properties"] for each in schema["anyOf"])
    uses = [form for use, form in GOLDEN["MCP"].items() if use.split()[1] == name]
    assert uses
    for form in uses:
        if not form["isError"]:
            jsonschema.validate(form["structuredContent"], schema)


def test_a_run_is_read_back_from_its_json() -> None:
    bodies = [each["body"] for each in GOLDEN["REST"].values() if '"phases":' in each["body"]]
    runs = [RunResult.model_validate_json(each) for each in bodies]
    assert {each.phase for run in runs for each in run.phases} == {*Phase}
    assert [each.model_dump_json(by_alias=True) for each in runs] == bodies


def test_typed_data_keeps_its_domain_and_refuses_others() -> None:
    adapter = TypeAdapter(TypedData)
    domain = {"name": "runs", "version": "1", "chainId": 1}
    zero = "0x" + "00" * 32
    message = {"taskId": zero, "runId": zero, "digest": zero, "trace": zero, "expiry": 1}
    form = {"types": {}, "primaryType": "DryRun", "domain": domain, "message": message}
    treasury = {**form, "domain": {**domain, "verifyingContract": "0x" + "00" * 20}}
    for each in (form, treasury):
        assert adapter.validate_python(each).model_dump(mode="json", by_alias=True) == each
    for wrong in ({**domain, "salt": zero}, {"name": "runs"}):
        with pytest.raises(ValidationError):
            adapter.validate_python({**form, "domain": wrong})
