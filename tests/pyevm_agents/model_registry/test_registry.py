"""The registry of models: names, files that changed, a damaged file, several processes."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from precompiles.decoding_rules import ALL_JUDGE, SURE, DecodingRules
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import (
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
    FREE_MODEL_NAME,
    STRICT_MODEL_NAME,
)
from pyevm_agents.model_registry.registry import (
    BUILT_IN,
    ModelChoice,
    ModelRegistry,
    RegisteredFile,
    RegisteredModel,
    build_profiles,
    locate_registry,
)
from pyevm_agents.models import NO_ADAPTER, ProfileFacts
from pyevm_agents.models.gguf.files import FREE_ADAPTER, combine_digests

FACTS = ProfileFacts(
    digest=bytes(32),
    name="File's Name",
    architecture="llama",
    context_tokens=100,
    vocabulary_tokens=10,
    chat_prefix="",
    chat_middle="",
    chat_suffix="",
    fingerprint="{}",
)


def write(path: Path, content: bytes = b"") -> Path:
    """Write a file that passes for GGUF: a header without tensors and entries."""
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16) + content)
    return path


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    return ModelRegistry(tmp_path / "data" / "models.json")


@pytest.fixture
def registered(tmp_path: Path) -> RegisteredModel:
    return RegisteredModel(name="qwen", base=RegisteredFile.from_path(write(tmp_path / "q.gguf")))


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    tail = Path("pyevm-agents/models.json")
    assert locate_registry({"XDG_DATA_HOME": "/data"}, "linux") == "/data" / tail
    home = Path("/home/somebody")
    for value in ("", "relative"):
        named = {"XDG_DATA_HOME": value}
        assert locate_registry(named, "linux") == home / ".local/share" / tail
        assert locate_registry(named, "darwin") == home / "Library/Application Support" / tail


def test_a_model_with_all_settings_is_read_as_written(
    registry: ModelRegistry, registered: RegisteredModel, tmp_path: Path
) -> None:
    assert registry.read() == {}
    adapter = RegisteredFile.from_path(write(tmp_path / "lora.gguf", b"a"), "adapter")
    whole = replace(registered, adapter=adapter, aliases=("a", "b"), context_tokens=77)
    registry.add(whole)
    assert registry.read() == {"qwen": whole}
    assert whole.digest == combine_digests(registered.base.sha256, adapter.sha256)
    assert registry.resolve("qwen") == ModelChoice(
        path=registered.base.path,
        adapter=adapter.path,
        context_tokens=77,
        name="qwen",
        aliases=("a", "b"),
    )


def test_names_are_installed_models_registered_ones_or_files(
    registry: ModelRegistry,
    registered: RegisteredModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry.add(registered)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "plain")
    write(tmp_path / "qwen")
    assert registry.resolve(DEFAULT_MODEL_NAME) == ModelChoice()
    assert registry.resolve(BASE_MODEL_NAME) == ModelChoice(adapter=NO_ADAPTER)
    free = registry.resolve(FREE_MODEL_NAME)
    assert free == ModelChoice(adapter=FREE_ADAPTER, name=FREE_MODEL_NAME)
    assert registry.resolve("qwen").path == registered.base.path
    assert registry.resolve("qwen").adapter is NO_ADAPTER
    for path in ("./qwen", "missing.gguf", "plain"):
        assert registry.resolve(path) == ModelChoice(path=path)


def test_the_free_models_adapter_is_installed_and_has_the_free_format() -> None:
    with BUILT_IN[FREE_MODEL_NAME].open() as model:
        profile = BUILT_IN[FREE_MODEL_NAME].build_profile(model.profile_facts, common_aliases=())
        assert model.adapter == FREE_ADAPTER
    assert profile.name == FREE_MODEL_NAME
    assert not DecodingRules.parse(profile.decoding).short_format


def test_the_strict_model_is_the_default_one_with_higher_thresholds() -> None:
    with BUILT_IN[STRICT_MODEL_NAME].open() as model:
        facts = model.profile_facts
    strict = BUILT_IN[STRICT_MODEL_NAME].build_profile(facts, common_aliases=())
    default = BUILT_IN[DEFAULT_MODEL_NAME].build_profile(facts, common_aliases=())
    assert strict.name == STRICT_MODEL_NAME
    assert replace(strict, name=default.name, decoding=default.decoding) == default
    rules = dict(strict.decoding)
    assert rules.keys() == {*dict(default.decoding), SURE}
    assert all(rules[name] > value for name, value in default.decoding if name in ALL_JUDGE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwenn", "no model 'qwenn', and no file; did you mean qwen?"),
        ("smollm2-135m", "did you mean smollm2-135m-"),
        ("zzz", "`pyevm-agents model list` lists the models"),
    ],
)
def test_an_unknown_name(
    registry: ModelRegistry, registered: RegisteredModel, name: str, expected: str
) -> None:
    registry.add(registered)
    with pytest.raises(ConfigError, match=expected):
        registry.resolve(name)
    with pytest.raises(ConfigError, match="no registered model"):
        registry.remove(name)


@pytest.mark.parametrize("name", ["", "a b", "0xab", ".a", "x" * 65, "a.gguf", "a/b", *BUILT_IN])
def test_an_invalid_or_installed_name(
    registry: ModelRegistry, registered: RegisteredModel, name: str
) -> None:
    with pytest.raises(ConfigError, match=r"model name .*: (must be|belongs)"):
        registry.add(replace(registered, name=name))
    assert registry.read() == {}


def test_a_taken_name_is_replaced_on_request_only(
    registry: ModelRegistry, registered: RegisteredModel
) -> None:
    registry.add(registered)
    other = replace(registered, context_tokens=5)
    with pytest.raises(ConfigError, match="model name qwen: is taken; pass another with --name"):
        registry.add(other)
    registry.add(other, may_replace=True)
    assert registry.get("qwen") == other
    assert registry.remove("qwen") == other
    assert registry.read() == {}
    assert other.base.path.exists()


def test_a_file_that_changed_or_is_gone_is_reported(
    registry: ModelRegistry, registered: RegisteredModel
) -> None:
    registry.add(registered)
    path = registered.base.path
    os.utime(path, ns=(1, 1))
    assert registered.state == "ready", "another time alone is no change"
    assert registry.resolve("qwen").path == path
    for content in (b"longer", b""):
        write(path, content)
        path.write_bytes(path.read_bytes()[:-1] + b"!")
        assert registered.state == "changed"
        with pytest.raises(ConfigError, match=r"model qwen: its model file .* changed since"):
            registry.resolve("qwen")
    path.unlink()
    assert registered.state == "missing"
    with pytest.raises(ConfigError, match=r"does not exist any more; restore it, or add another"):
        registry.resolve("qwen")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 1, "models": {"a": {}}}',
        '{"version": 1, "models": {"a": 5}}',
        b"\xff",
    ],
)
def test_a_damaged_registry(registry: ModelRegistry, text: str | bytes) -> None:
    assert registry.path is not None
    registry.path.parent.mkdir()
    registry.path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=r"model registry .* is damaged; delete it and add"):
        registry.read()
    assert registry.resolve("./file") == ModelChoice(path="./file"), "files need no registry"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"qwen": {', '"q n": {'),
        ('"path": "/', '"path": "'),
        ('"sizeBytes": ', '"sizeBytes": 0.5, "": '),
        ('"mtimeNs": ', '"mtimeNs": "", "": '),
        ('"sha256": "', '"sha256": "00'),
        ('"aliases": [', '"aliases": "a", "": ['),
        ('"aliases": [', '"aliases": ["a b",'),
        ('"contextTokens": ', '"contextTokens": "", "": '),
    ],
)
def test_a_damaged_entry(
    registry: ModelRegistry, registered: RegisteredModel, old: str, new: str
) -> None:
    registry.add(replace(registered, aliases=("a",), context_tokens=5))
    assert registry.path is not None
    text = registry.path.read_text()
    assert text.count(old) == 1
    registry.path.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=r"model registry .* is damaged; delete it and add"):
        registry.read()


def test_a_registry_that_cannot_be_read_or_written(
    tmp_path: Path, registered: RegisteredModel
) -> None:
    file = write(tmp_path / "file")
    for path in (file / "models.json", tmp_path):
        with pytest.raises(ConfigError, match=r"can't be read: .*; check its permissions, or set"):
            ModelRegistry(path).read()
    with pytest.raises(ConfigError, match=r"can't be written: .*; set XDG_DATA_HOME to another"):
        ModelRegistry(file / "models.json").add(registered)


def test_a_registry_of_another_version(registry: ModelRegistry) -> None:
    assert registry.path is not None
    registry.path.parent.mkdir()
    registry.path.write_text(json.dumps({"version": 2, "models": {}}))
    with pytest.raises(ConfigError, match="has version 2: this version of pyevm-agents has"):
        registry.read()


def test_without_a_home_folder(registered: RegisteredModel) -> None:
    nowhere = ModelRegistry(None)
    assert nowhere.read() == {}
    with pytest.raises(ConfigError, match="set XDG_DATA_HOME to a folder"):
        nowhere.add(registered)


def test_no_addition_of_several_at_once_is_lost(
    registry: ModelRegistry, registered: RegisteredModel
) -> None:
    names = [f"model{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        [*pool.map(lambda name: registry.add(replace(registered, name=name)), names)]
    assert [*registry.read()] == sorted(names)


def test_the_first_model_of_a_chain_has_the_aliases_that_no_other_claims() -> None:
    choices = (
        ModelChoice(),
        ModelChoice(name="second", aliases=("default",)),
        ModelChoice(name="third"),
    )
    first, second, third = build_profiles(choices, [FACTS] * 3)
    assert (first.name, first.aliases) == ("file-s-name", ("llama_model_3",))
    assert (second.name, second.aliases) == ("second", ("default",))
    assert (third.name, third.aliases) == ("third", ())
    first, named = build_profiles((ModelChoice(), ModelChoice(name="default")), [FACTS] * 2)
    assert (first.aliases, named.name) == (("llama_model_3",), "default")
