"""Descriptions of a machine and a model, and their gaps."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.measurement import machine as machine_module
from pyevm_agents.bench.measurement.machine import (
    count_file_parameters,
    describe_machine,
    describe_model,
    parse_processor,
)
from pyevm_agents.models.gguf.files import find_default_model

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


def test_this_machine_is_described() -> None:
    found = describe_machine()
    assert found.processor
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.memory_bytes > 2**28
    assert platform.system() in found.system
    assert found.python.endswith(platform.python_version())
    versions = dict(found.versions)
    assert versions["py-evm"] == metadata.version("py-evm")
    assert {"pyevm-agents", "llama-cpp-python"} <= versions.keys()


def test_nothing_tells_whose_machine_it_is() -> None:
    text = repr(describe_machine())
    assert platform.node() not in re.split(r"[^\w.-]+", text)
    assert str(Path.home()) not in text
    assert str(Path.cwd()) not in text


def test_packages_that_are_not_installed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "PACKAGES", ("py-evm", "no-such-package"))
    assert [name for name, _ in describe_machine().versions] == ["py-evm"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 7B13\nmodel name\t: Other\n", "AMD EPYC 7B13"),
        ("processor\t: 0\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 5\n", "Raspberry Pi 5"),
        ("processor : 0\nCPU part : 0xd0c\n", ""),
        ("model name :\n", ""),
        ("", ""),
    ],
)
def test_linux_names_the_processor(text: str, name: str) -> None:
    assert parse_processor(text) == name


def test_the_default_model_is_described(llama: LlamaModel) -> None:
    found = describe_model(llama)
    assert found.digest == llama.profile_facts.digest.hex()
    assert found.context_tokens == llama.profile_facts.context_tokens
    assert llama.adapter is not None
    files = llama.path.stat().st_size, llama.adapter.stat().st_size
    assert found.file_bytes == sum(files)
    assert found.parameters == count_file_parameters(llama.path) + count_file_parameters(
        llama.adapter
    )


def test_parameters_are_counted_in_the_file() -> None:
    # SmolLM2-135M says of itself: 30 layers of 576, a vocabulary of 49,152, one matrix for both.
    layer = 2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1_536 + 2 * 576
    assert count_file_parameters(find_default_model()) == 49_152 * 576 + 30 * layer + 576
