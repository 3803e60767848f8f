"""Identity of a model and the engine: digest, build, canary, fingerprint; a folder of identities.

A chain needs a model's facts (digest and canary included) at genesis, but weights only for the
first generation that is not cached. Facts are cached under a key of all inputs, and compared with
the model when the weights are loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from pyevm_agents.models.llama.build_profile import BATCH_TOKENS, DECODING_RULES, EngineBuild

if TYPE_CHECKING:
    from pyevm_agents.models.engine_messages import FactsMessage
    from pyevm_agents.models.gguf.files import FileStamp


ENGINE_PACKAGES = ("llama_cpp", "llguidance")
"""Packages whose files determine an engine's results, in addition to our own models package."""

STAMPED_SUFFIXES = (".py", ".so", ".dylib", ".dll", ".pyd")

MAX_KEPT_ENTRIES = 64
"""Maximum entries of a folder, about 3 KB each; the oldest are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """Everything that determines the bits that an engine computes."""

    digest: bytes
    """See `ProfileFacts.digest`."""

    engine: str
    guidance: str
    build: EngineBuild
    facts: FactsMessage

    hardware: str = field(default="", compare=False)
    """Where the canary was computed (`canary.compute_hardware_digest`). It determines the bits, so
    other hardware computes the canary again."""

    def without_weights(self) -> EngineIdentity:
        """Return the identity that an engine reports with only the vocabulary loaded."""
        facts: FactsMessage = {**self.facts, "canary": ""}
        return EngineIdentity(
            digest=self.digest,
            engine=self.engine,
            guidance=self.guidance,
            build=self.build,
            facts=facts,
        )

    def describe_differences(self, other: EngineIdentity) -> str:
        """Return the names of the differences, joined by `and`."""
        mine, theirs = asdict(self), asdict(other)
        unnamed = {"facts", "hardware"}
        names = [name for name in mine if mine[name] != theirs[name] and name not in unnamed]
        facts, other_facts = mine["facts"], theirs["facts"]
        names += [name for name in facts if facts[name] != other_facts[name]]
        return " and ".join(name.replace("_", " ") for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsKey:
    """Everything that determines the facts of a model."""

    stamp: FileStamp
    vocabulary_only: bool
    context_tokens: int | None
    adapter_stamp: FileStamp | None = None

    def to_json(self) -> str:
        """Return the key and the engine's own stamp, as canonical JSON."""
        return json.dumps({**asdict(self), "engine": compute_engine_stamp()}, sort_keys=True)


class _StoredBuild(TypedDict):
    features: list[str]
    backends: list[str]
    machine: str


class _StoredIdentity(TypedDict):
    """JSON form of an `EngineIdentity`."""

    digest: str
    engine: str
    guidance: str
    build: _StoredBuild
    facts: FactsMessage
    hardware: str


class FactsFolder:
    """A folder with a small file for each model and engine. Several processes may share the folder.

    Unreadable entries are ignored, and write errors too: the facts are then computed again.
    """

    def __init__(self, folder: Path) -> None:
        """Use a folder, which need not exist yet."""
        self.folder = folder

    def read(self, key: FactsKey) -> EngineIdentity | None:
        """Return the identity stored under a key; None if missing or damaged."""
        text = key.to_json()
        try:
            checksum, _, body = self._path(text).read_text(encoding="utf-8").partition("\n")
            if hashlib.sha256(body.encode()).hexdigest() != checksum:
                return None
            form = json.loads(body)
            return _parse_identity(form["identity"]) if form["key"] == text else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, key: FactsKey, identity: EngineIdentity) -> None:
        """Store an identity atomically."""
        text = key.to_json()
        form = {**asdict(identity), "digest": identity.digest.hex()}
        body = json.dumps({"key": text, "identity": form}, sort_keys=True)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".facts-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}")
                Path(name).replace(self._path(text))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            self._drop_oldest()

    def drop(self, key: FactsKey) -> None:
        """Delete the identity stored under a key."""
        with suppress(OSError):
            self._path(key.to_json()).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def _drop_oldest(self) -> None:
        entries = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in entries[:-MAX_KEPT_ENTRIES]:
            path.unlink(missing_ok=True)


@cache
def compute_engine_stamp() -> str:
    """Return a digest of the sizes and modification times of all files of an engine."""
    folders = [Path(__file__).parents[1]]
    for package in ENGINE_PACKAGES:
        spec = find_spec(package)
        folders += [] if spec is None else map(Path, spec.submodule_search_locations or ())
    lines = [platform.machine(), platform.python_version()]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in STAMPED_SUFFIXES:
                status = path.stat()
                lines.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _parse_identity(form: _StoredIdentity) -> EngineIdentity:
    build = form["build"]
    return EngineIdentity(
        digest=bytes.fromhex(form["digest"]),
        engine=form["engine"],
        guidance=form["guidance"],
        build=EngineBuild(
            features=tuple(build["features"]),
            backends=tuple(build["backends"]),
            machine=build["machine"],
        ),
        facts=form["facts"],
        hardware=form["hardware"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """Facts of a model file and the engine, for the chain configuration."""

    digest: bytes
    """SHA-256 of the GGUF file, 32 bytes. With an adapter, SHA-256 of the digests of the model file
    and the adapter file: genesis and `modelId` refer to both together."""

    name: str
    """Name of the model in its file, or the name of the file. With an adapter, the adapter's."""

    architecture: str
    """Such as `llama`."""

    context_tokens: int
    vocabulary_tokens: int
    chat_prefix: str
    chat_middle: str
    chat_suffix: str

    fingerprint: str
    """Canonical JSON of everything else that affects results: versions, build, canary."""

    decoding: tuple[tuple[str, int], ...] = ()
    """The decoding rules that its adapter was trained for, sorted by name."""

    chooser: bytes = b""
    """SHA-256 of the file of the chooser that the adapter names, 32 bytes; empty for none."""


def build_profile_facts(path: Path, identity: EngineIdentity) -> ProfileFacts:
    """Build the facts of a file from the engine's identity.

    Input:
        path: the file whose name is used if the metadata have no name: the adapter, if there is
            one.

    Raises:
        ConfigError: the file's chat template does not render, or changes messages.
    """
    facts = identity.facts
    from pyevm_agents.models.decoding.chat_template import (  # noqa: PLC0415 - imports jinja2
        split_chat_template,
    )

    pieces = split_chat_template(
        facts["chat_template"],
        bos_text=facts["bos_text"],
        eos_text=facts["eos_text"],
        adds_bos=facts["adds_bos"],
    )
    fingerprint = {
        "batch_tokens": BATCH_TOKENS,
        "canary": facts["canary"],
        "context_tokens": facts["context_tokens"],
        "decoding": DECODING_RULES,
        "engine": identity.engine,
        "features": identity.build.numeric_features,
        "flash_attention": False,
        "grammar": identity.guidance,
        "profile": identity.build.profile,
        "repacked": facts["repacked"],
        "tiled_products": False,
    }
    return ProfileFacts(
        digest=identity.digest,
        name=facts["name"] or path.stem,
        architecture=facts["architecture"],
        context_tokens=facts["context_tokens"],
        vocabulary_tokens=facts["vocabulary_tokens"],
        chat_prefix=pieces.prefix,
        chat_middle=pieces.middle,
        chat_suffix=pieces.suffix,
        fingerprint=json.dumps(fingerprint, sort_keys=True, separators=(",", ":")),
        decoding=tuple((name, value) for name, value in facts["decoding"]),
        chooser=bytes.fromhex(facts["chooser"]),
    )
