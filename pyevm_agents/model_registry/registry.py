"""The user's models by name: a JSON file that commands and the test kit read.

No rule reads the registry: a chain gets the models' files, and genesis the digests.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.config import DIGEST_BYTES
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import (
    ALIASES,
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
    FREE_MODEL_NAME,
    STRICT_MODEL_NAME,
    STRICT_RULES,
    build_model_profile,
)
from pyevm_agents.models import NO_ADAPTER, LlamaModel
from pyevm_agents.models.gguf.files import (
    FREE_ADAPTER,
    FileStamp,
    combine_digests,
    hash_file,
    hash_model,
    resolve_path,
)
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from precompiles.language_model import ModelProfile
    from pyevm_agents.models import Adapter, ProfileFacts, Progress
    from pyevm_agents.models.gguf.files import Role

VERSION = 1
"""Version of the file's form."""

FILE_NAME = "models.json"

MODEL_SUFFIX = ".gguf"

NAME = re.compile(r"(?!0[xX])[0-9A-Za-z][0-9A-Za-z_.\-]{0,63}")
"""Names of models. Source: `ChainConfig`."""


def locate_registry(environment: Mapping[str, str], platform: str) -> Path | None:
    """Return the path of the user's registry; None if the user has no home folder.

    Input:
        environment: variables of the process.
        platform: as `sys.platform`.
    """
    named = environment.get("XDG_DATA_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "pyevm-agents" / FILE_NAME
    try:
        home = Path.home()
    except RuntimeError:
        return None
    data = (
        home / "Library" / "Application Support"
        if platform == "darwin"
        else home / ".local" / "share"
    )
    return data / "pyevm-agents" / FILE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that a user selects: files, settings, and the name on a chain."""

    path: Path | str | None = None
    """A GGUF file; None for the default model."""

    adapter: Adapter = None
    """As `LlamaModel`'s."""

    context_tokens: int | None = None
    """Context length; None for the model's own."""

    name: str | None = None
    """Name on the chain; None for the one in the file."""

    aliases: tuple[str, ...] = ()
    """Other model IDs on the chain."""

    rules: tuple[tuple[str, int], ...] = ()
    """Decoding rules in place of the adapter's, by name."""

    def with_adapter(self, adapter: Adapter) -> ModelChoice:
        """Return this model with another adapter, under the adapter's name; None: no change."""
        if adapter is None:
            return self
        return ModelChoice(path=self.path, adapter=adapter, context_tokens=self.context_tokens)

    def open(
        self,
        *,
        threads: int | None = None,
        context_tokens: int | None = None,
        kept_facts: Path | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> LlamaModel:
        """Open the model, which is loaded on first use.

        Input:
            context_tokens: context length; None for the choice's.

        Raises:
            ConfigError: a file or an option is invalid.
        """
        return LlamaModel(
            self.path,
            adapter=self.adapter,
            threads=threads,
            context_tokens=context_tokens or self.context_tokens,
            kept_facts=kept_facts,
            progress=progress,
        )

    def compute_digest(self) -> bytes:
        """Return the digest of the files, 32 bytes, as genesis has it. Nothing is loaded.

        Raises:
            ConfigError: a file is invalid.
        """
        with self.open() as model:
            return hash_model(model.path, model.adapter)

    def build_profile(
        self, facts: ProfileFacts, *, common_aliases: tuple[str, ...] = ALIASES
    ) -> ModelProfile:
        """Return the model's profile for genesis, with the own name and aliases, if any."""
        profile = build_model_profile(facts)
        name = self.name or profile.name
        aliases = dict.fromkeys((*self.aliases, *common_aliases))
        return replace(
            profile,
            name=name,
            aliases=tuple(each for each in aliases if each != name),
            decoding=tuple(sorted((dict(profile.decoding) | dict(self.rules)).items())),
        )


def build_profiles(
    choices: Sequence[ModelChoice], facts: Sequence[ProfileFacts]
) -> tuple[ModelProfile, ...]:
    """Return the profiles of a chain's models.

    The first one has the aliases of a development chain that no other model claims.
    """
    claimed = {model_id for each in choices[1:] for model_id in (each.name, *each.aliases)}
    common_aliases = tuple(alias for alias in ALIASES if alias not in claimed)
    return tuple(
        choice.build_profile(each, common_aliases=() if index else common_aliases)
        for index, (choice, each) in enumerate(zip(choices, facts, strict=True))
    )


BUILT_IN = {
    DEFAULT_MODEL_NAME: ModelChoice(),
    STRICT_MODEL_NAME: ModelChoice(name=STRICT_MODEL_NAME, rules=STRICT_RULES),
    FREE_MODEL_NAME: ModelChoice(adapter=FREE_ADAPTER, name=FREE_MODEL_NAME),
    BASE_MODEL_NAME: ModelChoice(adapter=NO_ADAPTER),
}
"""The installed models: the default one, with its adapter, the same with a stricter judge, with the
adapter of the free format, and without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredFile:
    """A file in the state at registration."""

    path: Path
    size_bytes: int
    mtime_ns: int
    sha256: bytes

    @classmethod
    def from_path(
        cls,
        path: Path,
        role: Role = "model",
        report: Callable[[int, int], None] | None = None,
    ) -> RegisteredFile:
        """Hash a file.

        Input:
            report: callback, called with the bytes done and the total bytes.

        Raises:
            ConfigError: the file is missing, unreadable, or not GGUF.
        """
        sha256 = hash_file(path, report, role)
        stamp = FileStamp.from_path(path)
        return cls(path=path, size_bytes=stamp.size_bytes, mtime_ns=stamp.mtime_ns, sha256=sha256)

    @property
    def state(self) -> str:
        """`ready`, `missing`, or `changed`. A file of another time is hashed."""
        try:
            stamp = FileStamp.from_path(self.path)
        except OSError:
            return "missing"
        if (stamp.size_bytes, stamp.mtime_ns) == (self.size_bytes, self.mtime_ns):
            return "ready"
        if stamp.size_bytes != self.size_bytes:
            return "changed"
        try:
            return "ready" if hash_file(self.path) == self.sha256 else "changed"
        except ConfigError:
            return "changed"

    def require_unchanged(self, name: str, role: Role) -> None:
        """Check that the file is the registered one; another time alone is no change.

        Raises:
            ConfigError: missing, or with another content.
        """
        problems = {"missing": "does not exist any more", "changed": "changed since it was added"}
        if (state := self.state) in problems:
            raise ConfigError(
                f"model {name}: its {role} file {self.path} {problems[state]}; restore it, or add "
                f"another with `pyevm-agents model add FILE --name {name} --replace`"
            )

    def to_form(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "path": str(self.path),
            "sizeBytes": self.size_bytes,
            "mtimeNs": self.mtime_ns,
            "sha256": self.sha256.hex(),
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> RegisteredFile:
        """Parse the JSON form.

        Raises:
            KeyError, TypeError, ValueError: another value.
        """
        path, sha256 = Path(form["path"]), bytes.fromhex(form["sha256"])
        size_bytes, mtime_ns = form["sizeBytes"], form["mtimeNs"]
        if not path.is_absolute() or len(sha256) != DIGEST_BYTES:
            raise ValueError("path: must be absolute; sha256: must be 32 bytes")
        if not isinstance(size_bytes, int) or not isinstance(mtime_ns, int):
            raise TypeError("sizeBytes and mtimeNs: must be whole numbers")
        return cls(path=path, size_bytes=size_bytes, mtime_ns=mtime_ns, sha256=sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredModel:
    """A model in the registry."""

    name: str
    base: RegisteredFile
    """The model's file, which several names may share."""

    adapter: RegisteredFile | None = None
    aliases: tuple[str, ...] = ()
    context_tokens: int | None = None
    """Context length; None for the model's own."""

    @property
    def digest(self) -> bytes:
        """The digest that genesis has, 32 bytes."""
        if self.adapter is None:
            return self.base.sha256
        return combine_digests(self.base.sha256, self.adapter.sha256)

    @property
    def state(self) -> str:
        """`ready`, `changed` or `missing`: the worst of both files."""
        states = {each.state for each in (self.base, self.adapter) if each is not None}
        return next(state for state in ("missing", "changed", "ready") if state in states)

    @property
    def choice(self) -> ModelChoice:
        """The files and settings, unchecked."""
        return ModelChoice(
            path=self.base.path,
            adapter=NO_ADAPTER if self.adapter is None else self.adapter.path,
            context_tokens=self.context_tokens,
            name=self.name,
            aliases=self.aliases,
        )

    def require_unchanged(self) -> None:
        """Check that the files are the registered ones.

        Raises:
            ConfigError: one is missing or has another content.
        """
        self.base.require_unchanged(self.name, "model")
        if self.adapter is not None:
            self.adapter.require_unchanged(self.name, "adapter")

    def to_form(self) -> dict[str, object]:
        """Return the JSON form, without unset members."""
        form: dict[str, object] = {"base": self.base.to_form()}
        if self.adapter is not None:
            form["adapter"] = self.adapter.to_form()
        if self.aliases:
            form["aliases"] = [*self.aliases]
        if self.context_tokens is not None:
            form["contextTokens"] = self.context_tokens
        return form

    @classmethod
    def from_form(cls, name: str, form: Mapping[str, Any]) -> RegisteredModel:
        """Parse the JSON form.

        Raises:
            KeyError, TypeError, ValueError: another value.
        """
        aliases, context_tokens = form.get("aliases", []), form.get("contextTokens")
        if not isinstance(aliases, list) or not all(map(NAME.fullmatch, (name, *aliases))):
            raise ValueError("name and aliases: must be names")
        if context_tokens is not None and not isinstance(context_tokens, int):
            raise TypeError("contextTokens: must be a whole number")
        adapter = form.get("adapter")
        return cls(
            name=name,
            base=RegisteredFile.from_form(form["base"]),
            adapter=None if adapter is None else RegisteredFile.from_form(adapter),
            aliases=tuple(aliases),
            context_tokens=context_tokens,
        )


class ModelRegistry:
    """The registry's file. Several processes may share the file."""

    def __init__(self, path: Path | None) -> None:
        """Use a file, which need not exist yet; None for a user without home folder."""
        self.path = path

    def read(self) -> dict[str, RegisteredModel]:
        """Return the models by name, in alphabetical order.

        Raises:
            ConfigError: the file is damaged, unreadable, or of another version.
        """
        if self.path is None:
            return {}
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(
                f"model registry {self.path} can't be read: {error.strerror}; check its "
                "permissions, or set XDG_DATA_HOME to another folder"
            ) from error
        try:
            form = parse_json(text)
            version, forms = form["version"], form["models"]
            if version == VERSION:
                return {
                    name: RegisteredModel.from_form(name, forms[name]) for name in sorted(forms)
                }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"model registry {self.path} is damaged; delete it and add the models again"
            ) from error
        raise ConfigError(
            f"model registry {self.path} has version {version!r}: this version of pyevm-agents has "
            f"version {VERSION}; use the version that wrote it, or delete it and add the models "
            "again"
        )

    def get(self, name: str) -> RegisteredModel:
        """Return a model.

        Raises:
            ConfigError: the name is unknown, or the registry is damaged.
        """
        models = self.read()
        if name not in models:
            raise ConfigError(f"there is no registered model {name!r}{_suggest(name, models)}")
        return models[name]

    def require_free(self, name: str, *, may_replace: bool = False) -> None:
        """Check that a name is valid and free.

        Raises:
            ConfigError: the name is invalid or taken.
        """
        if not NAME.fullmatch(name) or name.lower().endswith(MODEL_SUFFIX):
            raise ConfigError(
                f"model name {name!r}: must be 1 to 64 letters, digits, '_', '.', '-', the first a "
                f"letter or digit, not beginning with 0x and not ending with {MODEL_SUFFIX}"
            )
        if name in BUILT_IN:
            raise ConfigError(f"model name {name}: belongs to an installed model; pass another")
        if name in self.read() and not may_replace:
            raise ConfigError(
                f"model name {name}: is taken; pass another with --name, or --replace"
            )

    def add(self, model: RegisteredModel, *, may_replace: bool = False) -> None:
        """Add a model.

        Raises:
            ConfigError: the name is invalid or taken, or the file can't be written.
        """
        with self._locked():
            self.require_free(model.name, may_replace=may_replace)
            self._write({**self.read(), model.name: model})

    def remove(self, name: str) -> RegisteredModel:
        """Remove and return a model. The files stay.

        Raises:
            ConfigError: the name is unknown, or the file can't be written.
        """
        with self._locked():
            if name in BUILT_IN:
                raise ConfigError(f"model {name} is installed with the package, not registered")
            removed = self.get(name)
            models = self.read()
            del models[name]
            self._write(models)
        return removed

    def resolve(self, text: str) -> ModelChoice:
        """Return the model of a name or a file's path.

        A text with a path separator or the suffix `.gguf` is a path. Any other is the name of an
        installed or a registered model, or else a file.

        Raises:
            ConfigError: the name is unknown, or the files changed since registration.
        """
        if "/" in text or text.lower().endswith(MODEL_SUFFIX):
            return ModelChoice(path=text)
        if text in BUILT_IN:
            return BUILT_IN[text]
        models = self.read()
        if text in models:
            models[text].require_unchanged()
            return models[text].choice
        if not text or resolve_path(text).exists():
            return ModelChoice(path=text)
        raise ConfigError(
            f"there is no model {text!r}, and no file{_suggest(text, (*BUILT_IN, *models))}"
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the registry's lock, so that no other process's change is lost."""
        if self.path is None:
            raise ConfigError("this user has no home folder; set XDG_DATA_HOME to a folder")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_suffix(".lock").open("w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"model registry {self.path} can't be written: {error.strerror}; set "
                "XDG_DATA_HOME to another folder"
            ) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, models: Mapping[str, RegisteredModel]) -> None:
        assert self.path is not None  # noqa: S101 - `_locked` has checked it
        forms = {name: models[name].to_form() for name in sorted(models)}
        text = json.dumps({"version": VERSION, "models": forms}, indent=2) + "\n"
        write_atomically(self.path, text.encode())


def open_registry() -> ModelRegistry:
    """Return the registry of the user whose process this is."""
    return ModelRegistry(locate_registry(os.environ, sys.platform))


def _suggest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return the end of an error about an unknown name: the closest name, or where names are."""
    near = get_close_matches(name, [*known], n=1)
    return f"; did you mean {near[0]}?" if near else "; `pyevm-agents model list` lists the models"
