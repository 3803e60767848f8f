"""Files that are not LoRA adapters, or would abort llama.cpp, are rejected before loading."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.adapters import adapter_bytes
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import NO_ADAPTER, LlamaModel
from pyevm_agents.models.gguf import files
from pyevm_agents.models.gguf.adapter import adapter_path, check_files, read_adapter
from pyevm_agents.models.gguf.files import combine_digests, find_default_adapter, find_default_model
from pyevm_agents.models.gguf.header import HEAD_BYTES
from pyevm_agents.models.llama.child_process import OWN_VARIABLES
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[4]
MATRIX = "blk.0.attn_q.weight"


def pair(
    name: str = MATRIX, down: tuple[int, ...] = (4, 576), up: tuple[int, ...] = (576, 4)
) -> dict[str, NDArray[np.float32]]:
    """Return an adapter's two tensors for a matrix of the default model."""
    chance = np.random.default_rng(5)
    return {
        f"{name}.lora_{side}": chance.standard_normal(shape, dtype=np.float32)
        for side, shape in (("a", down), ("b", up))
    }


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        LlamaModel(adapter=path)
    message = str(caught.value)
    assert f"adapter file {path} ({len(content):,} bytes)" in message
    return message


def test_an_adapter_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(adapter_bytes(pair()))
    found = read_adapter(path)
    assert (found.path, found.name, found.architecture) == (path, "mine", "llama")
    path.write_bytes(adapter_bytes(pair(), changes={"general.name": "Agent"}))
    assert read_adapter(path).name == "Agent"
    with pytest.raises(ConfigError, match=r"mine.gguf .* is for the architecture llama, but the "):
        found.require_architecture("qwen3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"general.type": "model"}, "is not an adapter: its general.type is 'model'; pass a model"),
        ({"general.type": None}, "is not an adapter: its general.type is ''; pass a model"),
        ({"general.type": 3}, "is not an adapter: its general.type is ''; pass a model"),
        ({"adapter.type": "control_vector"}, "adapter of type 'control_vector'; only"),
        ({"adapter.type": 1}, "adapter of type ''; only LoRA"),
        ({"adapter.alora.invocation_tokens": 1}, "adapter of type 'activated LoRA'"),
        ({"general.architecture": None}, "does not specify its architecture; convert it again"),
        ({"general.architecture": 1}, "does not specify its architecture; convert it again"),
        ({"adapter.lora.alpha": None}, "adapter.lora.alpha is None: must be"),
        ({"adapter.lora.alpha": 16}, "adapter.lora.alpha is 16: must be a float32"),
        ({"adapter.lora.alpha": "16"}, "adapter.lora.alpha is 16: must be a float32"),
        ({"adapter.lora.alpha": 0.0}, "adapter.lora.alpha is 0.0"),
        ({"adapter.lora.alpha": float("nan")}, "adapter.lora.alpha is nan"),
        (
            {"decoding.router_weight": 256},
            "there is no router any more. Remove it from the",
        ),
    ],
)
def test_entries_that_are_no_loras(
    tmp_path: Path, changes: Mapping[str, object], message: str
) -> None:
    assert message in refusal(tmp_path / "it.gguf", adapter_bytes(pair(), changes=changes))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "has no tensors, so it has no effect; leave it out"),
        (pair("token_embd.weight"), "'token_embd.weight.lora_a', which llama.cpp does not apply"),
        (
            pair("blk.0.attn_norm.weight"),
            "which llama.cpp does not apply; train adapters of linear layers",
        ),
        (
            pair("blk.0.ffn_norm.bias"),
            "which llama.cpp does not apply; train adapters of linear layers",
        ),
        ({"blk.0.attn_norm.weight": np.zeros(576, dtype=np.float32)}, "does not apply"),
        (pair(down=(2, 4, 576)), "of shape (576, 4, 2); only matrices are supported, not experts"),
        (pair(down=(576,)), "of shape (576,); only matrices are supported"),
        (pair(up=(576, 5)), "has no lora_a and lora_b of equal rank for 'blk.0.attn_q.weight'"),
        (
            {f"{MATRIX}.lora_a": np.zeros((4, 576), dtype=np.float32)},
            "has no lora_a and lora_b of equal rank",
        ),
        (pair(down=(0, 576), up=(576, 0)), "of shape (576, 0); only matrices are supported"),
    ],
)
def test_tensors_that_llama_cpp_would_not_apply(
    tmp_path: Path, tensors: Mapping[str, NDArray[np.float32]], message: str
) -> None:
    assert message in refusal(tmp_path / "it.gguf", adapter_bytes(tensors))


def test_numbers_of_another_type(tmp_path: Path) -> None:
    content = bytearray(adapter_bytes(pair(), kind="F32"))
    name = f"{MATRIX}.lora_b".encode()
    at = content.index(name) + len(name) + 4 + 2 * 8
    content[at] = 12  # Q4_K
    message = refusal(tmp_path / "it.gguf", bytes(content))
    assert f"unsupported ggml type 12 ('{MATRIX}.lora_b'); convert it to F32, F16, Q8_0" in message


@pytest.mark.parametrize("size_bytes", [0, 3, 20, 60, 200])
def test_an_adapter_cut_short(tmp_path: Path, size_bytes: int) -> None:
    message = refusal(tmp_path / "it.gguf", adapter_bytes(pair())[:size_bytes])
    assert "download it again" in message or "is not GGUF" in message


def test_a_missing_adapter_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"adapter file .*absent.gguf does not exist; check --ad"):
        LlamaModel(adapter=tmp_path / "absent.gguf")
    with pytest.raises(ConfigError, match=r"adapter .* is a directory"):
        LlamaModel(adapter=str(tmp_path))
    with pytest.raises(ConfigError, match="not a file name: ''; pass a path, or omit it"):
        LlamaModel(adapter="")


def test_a_model_is_no_adapter_and_an_adapter_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not an adapter: its general.type is 'model'"):
        LlamaModel(adapter=find_default_model())
    path = tmp_path / "adapter.gguf"
    path.write_bytes(adapter_bytes(pair()))
    with pytest.raises(
        ConfigError, match=r"model file .*adapter.gguf .*is an adapter, .*--model, .*--adapter"
    ):
        LlamaModel(path)
    check_files(find_default_model(), path)
    check_files(find_default_model(), None)


@pytest.mark.parametrize("count", [513, 2**31 - 1, 2**32 - 1])
def test_a_count_at_which_llama_cpp_aborts_is_refused(tmp_path: Path, count: int) -> None:
    model = find_default_model()
    with model.open("rb") as file:
        head = file.read(HEAD_BYTES)
    key = b"llama.block_count" + (4).to_bytes(4, "little")
    assert key + (30).to_bytes(4, "little") in head
    path = tmp_path / "model.gguf"
    for accepted in (512, count):
        changed = key + accepted.to_bytes(4, "little")
        path.write_bytes(head.replace(key + (30).to_bytes(4, "little"), changed))
        os.truncate(path, model.stat().st_size)
        if accepted == 512:
            check_files(path, None)
    with pytest.raises(ConfigError, match=rf"block_count {count:,}: must be at most 512; the file"):
        check_files(path, None)


def test_who_asks_for_nothing_gets_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DEFAULT_ADAPTER", tmp_path / "default.gguf")
    assert find_default_adapter() is None
    assert adapter_path(None, is_default_model=True) is None
    path = tmp_path / "default.gguf"
    path.write_bytes(adapter_bytes(pair()))
    assert adapter_path(None, is_default_model=True) == find_default_adapter() == path
    assert adapter_path(None, is_default_model=False) is None
    assert adapter_path(NO_ADAPTER, is_default_model=True) is None
    assert adapter_path("/a/b.gguf", is_default_model=False) == Path("/a/b.gguf")


def test_the_digest_is_that_of_both_digests() -> None:
    assert combine_digests(bytes(32), bytes([1]) * 32).hex() == (
        "5c85955f709283ecce2b74f1b1552918819f390911816e7bb466805a38ab87f3"
    )


def damaged(seed: int) -> bytes:
    """Return an adapter with a few altered bytes in its header."""
    chance = random.Random(seed)  # noqa: S311 - a seed, so that a failure comes again
    content = bytearray(adapter_bytes(pair() | pair("blk.29.attn_q.weight")))
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(24, 500)
        content[position] = chance.choice((0, 1, 2, 8, 255, content[position] ^ 1))
    return bytes(content)


@pytest.mark.slow
def test_no_damage_that_passes_aborts_llama_cpp(tmp_path: Path) -> None:
    for seed in range(300):
        (tmp_path / f"{seed:03}.gguf").write_bytes(damaged(seed))
    code = f"""
        import ctypes, llama_cpp
        from pathlib import Path
        from pyevm_agents.errors import ConfigError
        from pyevm_agents.models.gguf.adapter import read_adapter
        from pyevm_agents.models.llama.context import LlamaContext
        from pyevm_agents.models.gguf.files import find_default_model
        from pyevm_agents.models.llama.bindings import Llama

        llama = Llama(str(find_default_model()), vocabulary_only=False)
        refused = failed = applied = 0
        for path in sorted(Path({str(tmp_path)!r}).glob("*.gguf")):
            print(path.name, flush=True)
            try:
                adapter = read_adapter(path)
            except ConfigError:
                refused += 1
                continue
            try:
                llama.adapter = llama._load_adapter(adapter)
            except ConfigError:
                failed += 1
                continue
            context = LlamaContext(llama, threads=1, context_tokens=32)
            context.evaluate([5, 6])
            llama_cpp.llama_free(context._context)
            llama_cpp.llama_adapter_lora_free(llama.adapter)
            applied += 1
        assert refused > 50 and failed > 5 and applied > 5, (refused, failed, applied)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        env={**os.environ, **OWN_VARIABLES, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]
