"""Cached facts are used between processes, and compared with the loaded model."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompiles.language_model import Segment
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import CachingModel, LlamaModel, Progress, Vocabulary
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.gguf.files import (
    FileStamp,
    find_default_model,
    hash_model,
)
from pyevm_agents.models.llama import engine
from pyevm_agents.models.llama import identity as facts
from pyevm_agents.models.llama.canary import compute_hardware_digest
from pyevm_agents.models.llama.identity import EngineIdentity, FactsFolder, FactsKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pyevm_agents.models.conftest import MakeRequest

KEY = FactsKey(
    stamp=FileStamp("/models/a.gguf", 100, 200, 300), vocabulary_only=False, context_tokens=None
)
TEXT = (Segment(text="some words"),)


pytestmark = pytest.mark.usefixtures("reduced_default")


@pytest.fixture
def identity(reduced_llama: LlamaModel) -> EngineIdentity:
    return reduced_llama.engine.identity


@pytest.fixture
def folder(tmp_path: Path) -> FactsFolder:
    return FactsFolder(tmp_path / "not" / "there")


def test_what_is_written_is_read(folder: FactsFolder, identity: EngineIdentity) -> None:
    assert folder.read(KEY) is None
    folder.write(KEY, identity)
    assert folder.read(KEY) == identity
    folder.drop(KEY)
    folder.drop(KEY)
    assert folder.read(KEY) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, context_tokens=256),
        replace(KEY, vocabulary_only=True),
        replace(KEY, stamp=replace(KEY.stamp, path="/models/b.gguf")),
        replace(KEY, stamp=replace(KEY.stamp, size_bytes=101)),
        replace(KEY, stamp=replace(KEY.stamp, mtime_ns=201)),
        replace(KEY, stamp=replace(KEY.stamp, inode=301)),
        replace(KEY, adapter_stamp=KEY.stamp),
    ],
)
def test_another_file_or_setting_has_facts_of_its_own(
    folder: FactsFolder, identity: EngineIdentity, other: FactsKey
) -> None:
    folder.write(KEY, identity)
    assert folder.read(other) is None


def test_another_engine_has_facts_of_its_own(
    folder: FactsFolder, identity: EngineIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(KEY, identity)
    monkeypatch.setattr(facts, "compute_engine_stamp", lambda: "another build")
    assert folder.read(KEY) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(position=st.integers(0, 3000), bit=st.integers(0, 7), is_cut=st.booleans())
def test_a_file_that_is_not_whole_is_as_good_as_none(
    folder: FactsFolder, identity: EngineIdentity, position: int, bit: int, *, is_cut: bool
) -> None:
    folder.write(KEY, identity)
    (path,) = folder.folder.iterdir()
    content = bytearray(path.read_bytes())
    position %= len(content)
    if is_cut:
        del content[position:]
    else:
        content[position] ^= 1 << bit
    path.write_bytes(content)
    assert folder.read(KEY) is None
    folder.write(KEY, identity)
    assert folder.read(KEY) == identity


def test_a_folder_that_can_not_be_written_is_done_without(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = FactsFolder(tmp_path / "file")
    folder.write(KEY, identity)
    assert folder.read(KEY) is None
    folder.drop(KEY)


def test_the_oldest_go(
    folder: FactsFolder, identity: EngineIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MAX_KEPT_ENTRIES", 3)
    keys = [replace(KEY, context_tokens=number) for number in range(1, 6)]
    for key in keys:
        folder.write(key, identity)
    assert [folder.read(key) is not None for key in keys] == [False, False, True, True, True]
    assert len(list(folder.folder.iterdir())) == 3


def test_the_engine_is_stamped_by_its_libraries() -> None:
    assert len(facts.compute_engine_stamp()) == 64
    assert all(find_spec(name) for name in facts.ENGINE_PACKAGES)


def test_with_kept_facts_nothing_is_loaded_before_a_generation(
    tmp_path: Path, reduced_llama: LlamaModel, make_request: MakeRequest
) -> None:
    with LlamaModel(threads=1, kept_facts=tmp_path) as first:
        assert first.engine.process_id is None
        assert first.profile_facts == reduced_llama.profile_facts
    reports: list[Progress] = []
    with LlamaModel(threads=1, kept_facts=tmp_path, progress=reports.append) as second:
        assert second.profile_facts == reduced_llama.profile_facts
        assert second.engine.process_id is None
        assert reports == []
        assert second.tokenize(TEXT) == reduced_llama.tokenize(TEXT)
        assert "check" not in {report.phase for report in reports}
        request = make_request(max_tokens=5)
        assert second.generate(request) == reduced_llama.generate(request)
    phases = [report.phase for report in reports]
    assert list(dict.fromkeys(phases)) == ["start", "load", "prompt", "output"]
    assert [report.is_loading for report in reports] == [
        phase not in {"prompt", "output"} for phase in phases
    ]
    loads = [report for report in reports if report.phase == "load"]
    assert {(report.done, report.total) for report in loads} >= {(0, 100), (100, 100)}


@pytest.mark.parametrize("hardware", ["", "another"])
def test_a_canary_of_other_hardware_is_computed_again(
    tmp_path: Path, identity: EngineIdentity, hardware: str
) -> None:
    altered(tmp_path, replace(identity, hardware=hardware))
    checks: list[bool] = []
    for _ in range(2):
        reports: list[Progress] = []
        with LlamaModel(threads=1, kept_facts=tmp_path, progress=reports.append) as model:
            model.engine.ask(EngineRequest(operation="logits", tokens=[5]))
            assert model.engine.identity == identity
        checks.append("check" in {report.phase for report in reports})
    assert checks == [True, False]


def test_the_hardware_is_the_processor_and_the_loaded_libraries(tmp_path: Path) -> None:
    library, process = tmp_path / "libm.so.6", tmp_path / "proc"
    (process / "self").mkdir(parents=True)

    def compute(processor: str, content: bytes, path: Path = library) -> str:
        library.write_bytes(content)
        os.utime(library, ns=(0, 0))
        (process / "cpuinfo").write_text(f"model name\t: {processor}\ncpu MHz\t: {id(object())}\n")
        (process / "self" / "maps").write_text(f"7f00-7f01 r-xp 00000000 08:01 12  {path}\n")
        return compute_hardware_digest(process)

    first = compute("A", b"1")
    assert first == compute("A", b"2"), "its size and time are the same"
    assert len({first, compute("B", b"1"), compute("A", b"12")}) == 3
    assert compute("A", b"1", tmp_path / "libm.so.6 (deleted)") == ""
    assert compute_hardware_digest(tmp_path / "no proc") == ""


@pytest.mark.slow
def test_what_is_remembered_needs_no_weights(tmp_path: Path, make_request: MakeRequest) -> None:
    request = make_request(max_tokens=5)
    reports: list[Progress] = []
    with (
        LlamaModel(threads=1, kept_facts=tmp_path) as first,
        LlamaModel(threads=1, kept_facts=tmp_path, progress=reports.append) as second,
    ):
        profile = first.profile_facts
        remembering = CachingModel(first, digest=profile.digest, fingerprint=profile.fingerprint)
        generation = remembering.generate(request)
        remembering.model = second
        assert remembering.tokenize(request.segments) == request.prompt_tokens
        assert remembering.generate(request) == generation
    phases = {report.phase for report in reports}
    assert phases <= {"start", "load"}, "neither the file was read nor the weights checked"


@pytest.mark.slow
def test_a_vocabulary_keeps_facts_as_well(tmp_path: Path, vocabulary: Vocabulary) -> None:
    for _ in range(2):
        with Vocabulary(vocabulary.path, adapter=vocabulary.adapter, kept_facts=tmp_path) as kept:
            assert kept.profile_facts == vocabulary.profile_facts
            assert kept.tokenize(TEXT) == vocabulary.tokenize(TEXT)
    assert kept.engine.process_id is None


def altered(folder: Path, identity: EngineIdentity) -> None:
    """Store other facts for the default model, intact and for this engine."""
    key = FactsKey(
        stamp=FileStamp.from_path(LlamaModel().path), vocabulary_only=False, context_tokens=None
    )
    FactsFolder(folder).write(key, identity)


@pytest.mark.parametrize("what", ["canary", pytest.param("digest", marks=pytest.mark.slow)])
def test_kept_facts_that_the_weights_belie_are_a_fault_and_go(
    tmp_path: Path, identity: EngineIdentity, what: str
) -> None:
    wrong = (
        replace(identity, digest=bytes(32))
        if what == "digest"
        else replace(identity, facts={**identity.facts, "canary": "00" * 32}, hardware="another")
    )
    altered(tmp_path, wrong)
    with LlamaModel(threads=1, kept_facts=tmp_path) as model:
        assert model.profile_facts.digest == wrong.digest
        model.tokenize(TEXT)
        with pytest.raises(
            EngineFault, match=f"differs from its entry in {tmp_path}: different {what}. The"
        ):
            model.engine.ask(EngineRequest(operation="logits", tokens=[5]))
    assert list(tmp_path.iterdir()) == []
    with LlamaModel(threads=1, kept_facts=tmp_path) as model:
        assert model.engine.identity == identity


def test_kept_facts_that_the_vocabulary_belies_are_a_fault(
    tmp_path: Path, identity: EngineIdentity
) -> None:
    altered(tmp_path, replace(identity, facts={**identity.facts, "eos_text": "</s>"}))
    with (
        LlamaModel(threads=1, kept_facts=tmp_path) as model,
        pytest.raises(EngineFault, match="different eos text"),
    ):
        model.tokenize(TEXT)


def test_kept_facts_of_an_unfit_build_are_refused(tmp_path: Path, identity: EngineIdentity) -> None:
    build = replace(identity.build, features=(*identity.build.features, "LLAMAFILE"))
    altered(tmp_path, replace(identity, build=build))
    with (
        LlamaModel(threads=1, kept_facts=tmp_path) as model,
        pytest.raises(ConfigError, match="LLAMAFILE is on"),
    ):
        _ = model.profile_facts


@pytest.mark.slow
def test_a_file_changed_since_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    shutil.copyfile(find_default_model(), path)
    with Vocabulary(path, kept_facts=tmp_path / "facts") as model:
        before = model.profile_facts
    with path.open("ab") as file:
        file.write(b"!")
    with Vocabulary(path, kept_facts=tmp_path / "facts") as model:
        assert model.profile_facts.digest != before.digest
    with Vocabulary(path, kept_facts=tmp_path / "facts") as model:
        _ = model.profile_facts
        path.unlink()
        with pytest.raises(EngineFault, match="can't be restarted: model file"):
            model.tokenize(TEXT)


def test_a_file_that_changes_after_it_was_hashed_is_not_loaded_as_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.gguf"
    shutil.copyfile(find_default_model(), path)

    def change_after(
        model: Path, adapter: Path | None, report: Callable[[int, int], None]
    ) -> bytes:
        found = hash_model(model, adapter, report)
        with path.open("ab") as file:
            file.write(b"!")
        return found

    monkeypatch.setattr(engine, "hash_model", change_after)
    with (
        Vocabulary(path) as model,
        pytest.raises(EngineFault, match="changed since its SHA-256 was computed"),
    ):
        _ = model.profile_facts


def test_a_file_that_changes_after_it_was_loaded_has_no_kept_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "model.gguf", tmp_path / "facts"
    path.symlink_to(find_default_model())
    load = engine.Engine._load  # noqa: SLF001 - the moment after it can't be reached otherwise

    def change_after(self: engine.Engine, **options: bool) -> object:
        loaded = load(self, **options)
        path.unlink()
        shutil.copyfile(find_default_model(), path)
        return loaded

    monkeypatch.setattr(engine.Engine, "_load", change_after)
    with Vocabulary(path, kept_facts=folder) as model:
        _ = model.profile_facts
    key = FactsKey(stamp=FileStamp.from_path(path), vocabulary_only=True, context_tokens=None)
    assert len(list(folder.iterdir())) == 1
    assert FactsFolder(folder).read(key) is None
