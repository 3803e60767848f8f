"""Validation of documents: by their schemas, and by rules that no schema can state."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema
from eth_utils import is_checksum_address

from pyevm_agents.display import truncate
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import (
    KINDS_BY_FILE,
    LOG_SCHEMA,
    MANIFEST_SCHEMA,
    REGISTRATION_TYPE,
    DocumentKind,
    detect_kind,
    load_schema,
)
from pyevm_agents.manifests.log_digests import NO_DIGEST, compute_run_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.manifests.documents import Document

ROOT_PATH = "(document)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestProblem:
    """A member of a document that breaks a rule."""

    path: str
    """Place in the document, such as `services[0].url`."""

    value: str
    """The value as JSON, truncated; empty if there is none."""

    rule: str
    """The constraint, such as `must be an integer of at least 0`."""

    advice: str
    """The next step."""

    def __str__(self) -> str:
        """Return the problem on one line."""
        value = f" {self.value}" if self.value else ""
        return f"{self.path}{value}: {self.rule}; {self.advice}"


def validate_document(form: Document, kind: DocumentKind) -> tuple[ManifestProblem, ...]:
    """Return the problems of a document, in the order of the places; none for a valid document."""
    errors = _build_validator(kind).iter_errors(form)
    problems = [problem for error in errors for problem in _describe(error)]
    if not problems:  # The rules read members that the schema requires.
        problems = [*_check_addresses(form), *RULES[kind](form)]
    # A value may break two rules that have one wording: a type and its limit.
    return tuple(sorted(dict.fromkeys(problems), key=lambda each: _sort_key(each.path)))


def require_valid(form: Document, kind: DocumentKind, name: str) -> None:
    """Check a document. Input: the document; the kind; the name in the error.

    Raises: ConfigError: there are problems; the message has one a line.
    """
    problems = validate_document(form, kind)
    if problems:
        raise ConfigError("\n".join(f"{name}: {each}" for each in problems))


def require_kind(form: Document, file: Path) -> DocumentKind:
    """Return the kind of a document: by the contents, or else by the file's name.

    Input:  the document; the path.
    Raises: ConfigError: no known kind.
    """
    kind = detect_kind(form) or KINDS_BY_FILE.get(file.name)
    if kind is None:
        stated = ", ".join(
            f"{name} {_format_value(form[name])}" for name in ("type", "schema") if name in form
        )
        raise ConfigError(
            f"{file}: not a manifest: {stated or 'it has no type and no schema'}; type must be "
            f"{REGISTRATION_TYPE} for a registration document, or schema {MANIFEST_SCHEMA} for a "
            f"manifest, or {LOG_SCHEMA} for a log"
        )
    return kind


# -- schemas -- #


def _check_pattern(
    _validator: object, pattern: str, instance: object, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """Check a pattern. `$` is the end of the text, as in ECMAScript, and not before a line break.

    Source: JSON Schema 2020-12, section 6.4 of the core.
    """
    if not isinstance(instance, str):
        return
    if re.search(re.sub(r"\$(?=$|\))", r"\\Z", pattern), instance) is None:
        yield jsonschema.ValidationError("does not match")


_Validator: Any = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {"pattern": _check_pattern}
)


@cache
def _build_validator(kind: DocumentKind) -> Any:  # noqa: ANN401 - jsonschema has no types
    return _Validator(load_schema(kind))


def _describe(error: Any) -> Iterator[ManifestProblem]:  # noqa: ANN401 - jsonschema has no types
    """Yield the problems of an error of jsonschema."""
    path = [*error.absolute_path]
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            # jsonschema yields an error for each missing member.
            [name] = [name for name in missing if repr(name) == error.message.partition(" is")[0]]
            yield _miss(path, name)
        case "dependentRequired":
            for present, names in error.validator_value.items():
                if present in error.instance:
                    yield from (
                        _miss(path, name, reason=f" where {present} is")
                        for name in names
                        if name not in error.instance
                    )
        case "additionalProperties":
            known = [*error.schema["properties"]]
            for name in error.instance:
                if name not in known:
                    yield _reject_member(path, name, error.instance[name], known)
        case _:
            yield ManifestProblem(
                path=format_path(path),
                value=_format_value(error.instance),
                rule=_state_rule(error),
                advice="correct it",
            )


def _miss(path: Sequence[str | int], name: str, *, reason: str = "") -> ManifestProblem:
    return ManifestProblem(
        path=format_path([*path, name]), value="", rule=f"must be there{reason}", advice="add it"
    )


def _reject_member(
    path: Sequence[str | int], name: str, value: object, known: Sequence[str]
) -> ManifestProblem:
    close = get_close_matches(name, known, n=1)
    return ManifestProblem(
        path=format_path([*path, name]),
        value=_format_value(value),
        rule=f"not a member; must be one of {', '.join(known)}",
        advice=f"did you mean {close[0]}?" if close else "remove it",
    )


def _state_rule(error: Any) -> str:  # noqa: ANN401 - jsonschema has no types
    """Return the constraint that a value breaks."""
    limit = error.validator_value
    match error.validator:
        case "const":
            rule = f"be {_format_value(limit)}"
        case "enum":
            rule = f"be one of {', '.join(map(str, limit))}"
        case "uniqueItems":
            rule = "have no two equal entries"
        case "minItems":
            rule = "not be empty"
        case "maxLength":
            rule = f"have at most {limit} characters"
        case _:
            named = ARTICLES.get(str(limit), str(limit))
            rule = f"be {error.schema.get('description', named)}"
    return f"must {rule}"


ARTICLES = {
    "array": "a list", "boolean": "true or false", "integer": "an integer", "object": "an object",
    "string": "a text",
}  # fmt: skip
"""Types of JSON Schema, as people name them."""


def format_path(path: Sequence[str | int]) -> str:
    """Return a place in a document, such as `services[0].url`."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return text.removeprefix(".") or ROOT_PATH


def _format_value(value: object) -> str:
    return truncate(json.dumps(value, ensure_ascii=True))


def _sort_key(path: str) -> list[tuple[int, str]]:
    """Sort indices as numbers."""
    return [
        (int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"[\[\].]", path)
    ]


# -- rules -- #


def _check_addresses(form: Document) -> Iterator[ManifestProblem]:
    """Yield the addresses in lower and upper case whose EIP-55 checksum is wrong."""
    for path, value in _iter_texts(form, ()):
        found = re.fullmatch(r"(?:eip155:[0-9]+:)?(0x[0-9a-fA-F]{40})", value)
        if found is None or found[1][2:] in {found[1][2:].lower(), found[1][2:].upper()}:
            continue
        if not is_checksum_address(found[1]):
            yield ManifestProblem(
                path=format_path(path),
                value=_format_value(value),
                rule="must have the checksum of EIP-55",
                advice="compare it with its source; a digit may be wrong",
            )


def _iter_texts(
    value: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _iter_texts(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _iter_texts(each, (*path, index))


def _check_registration(_form: Document) -> Iterator[ManifestProblem]:
    yield from ()


def _check_manifest(form: Document) -> Iterator[ManifestProblem]:
    yield from _check_unique(form["tools"], "tools", "name")
    writes = form["computeConstraints"]["maxOnchainWrites"]
    stated = form["safety"]["maxOnchainWritesPerRun"]
    if stated > writes:
        yield ManifestProblem(
            path="safety.maxOnchainWritesPerRun",
            value=str(stated),
            rule=f"must be at most computeConstraints.maxOnchainWrites, {writes}",
            advice="lower it, or raise the constraint",
        )


def _check_log(form: Document) -> Iterator[ManifestProblem]:
    yield from _check_unique(form["runs"], "runs", "runId")
    for index, run in enumerate(form["runs"]):
        yield from _check_run(run, f"runs[{index}]")
    yield from _check_chain(form)


def _check_run(run: Document, path: str) -> Iterator[ManifestProblem]:
    if run["endedAt"] < run["startedAt"]:
        yield ManifestProblem(
            path=f"{path}.endedAt",
            value=_format_value(run["endedAt"]),
            rule=f"must not be before startedAt, {run['startedAt']}",
            advice="correct one of them",
        )
    yield from _check_unique(run["plan"], f"{path}.plan", "stepId")
    planned = {step["stepId"] for step in run["plan"]}
    yield from _check_steps(run["plan"], f"{path}.plan", planned, "dependsOn")
    yield from _check_steps(run["steps"], f"{path}.steps", planned, "stepId")


def _check_steps(
    steps: Sequence[Document], path: str, planned: set[str], member: str
) -> Iterator[ManifestProblem]:
    for index, step in enumerate(steps):
        value = step.get(member, [])
        for each in [value] if isinstance(value, str) else value:
            if each not in planned:
                yield ManifestProblem(
                    path=f"{path}[{index}].{member}",
                    value=_format_value(each),
                    rule="must be a stepId of the plan",
                    advice="correct it, or add the step to the plan",
                )


def _check_chain(form: Document) -> Iterator[ManifestProblem]:
    """Yield the runs whose digests differ from those of the runs before them."""
    previous = NO_DIGEST
    for index, run in enumerate(form["runs"]):
        stated = run.get("previousDigest")
        if stated is not None and stated.lower() != previous:
            yield _report_digest(f"runs[{index}].previousDigest", stated, previous)
        previous = compute_run_digest(run)
    stated = form.get("lastDigest")
    if stated is not None and stated.lower() != previous:
        yield _report_digest("lastDigest", stated, previous)


def _report_digest(path: str, stated: str, computed: str) -> ManifestProblem:
    return ManifestProblem(
        path=path,
        value=_format_value(stated),
        rule=f"must be the digest of the run before, {computed}",
        advice="the log was changed after it was written; restore it from the store of runs",
    )


def _check_unique(entries: Sequence[Document], path: str, member: str) -> Iterator[ManifestProblem]:
    seen: set[object] = set()
    for index, entry in enumerate(entries):
        if entry[member] in seen:
            yield ManifestProblem(
                path=f"{path}[{index}].{member}",
                value=_format_value(entry[member]),
                rule="must be unique in the list",
                advice="give it another one",
            )
        seen.add(entry[member])


RULES: Mapping[DocumentKind, Any] = {
    DocumentKind.MANIFEST: _check_manifest,
    DocumentKind.LOG: _check_log,
    DocumentKind.REGISTRATION: _check_registration,
    DocumentKind.OPENFI_REGISTRATION: _check_registration,
}
"""Rules beside the schema, by the kind of document."""
