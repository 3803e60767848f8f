"""`--adapter` exists wherever `--model` does, and its errors name the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.options.models import adapter_option
from pyevm_agents.models import NO_ADAPTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.models import Adapter

ROLLBACK = Path(__file__).parents[4] / "chain_fixtures" / "rollback.json"


def commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from commands(command)


def test_every_command_that_names_a_models_file_names_an_adapter() -> None:
    options = {
        it.name: {option for one in it.params for option in one.opts}
        for it in commands(main)
        # Those take the name of a chain's model, not a file.
        if it.name not in {"set", "deploy", "deploy-agent"}
    }
    with_model = {name for name, names in options.items() if "--model" in names}
    with_adapter = {name for name, names in options.items() if "--adapter" in names}
    assert with_model == with_adapter - {"add"}, "the file is an argument of `model add`"
    workers = {"run", "arbitrate", "serve", "join", "judge"}
    assert with_model - workers == {
        *("bench", "demo", "estimate", "node", "record", "replay", "verify"),
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], None), (["--adapter", "none"], NO_ADAPTER), (["--adapter", "./none"], "./none")],
)
def test_none_is_the_model_as_it_is(arguments: list[str], expected: Adapter) -> None:
    found: list[Adapter] = []

    @click.command()
    @adapter_option
    def command(adapter: Adapter) -> None:
        found.append(adapter)

    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert found == [expected]


def test_a_missing_adapter_is_an_error_in_words(tmp_path: Path) -> None:
    for arguments in (
        ["demo", "--no-store"],
        ["record", "--scenario", "wallet", "-o", f"{tmp_path / 'it.json'}"],
        ["replay", f"{ROLLBACK}", "--recompute"],
    ):
        done = CliRunner().invoke(main, [*arguments, "--adapter", f"{tmp_path / 'it.gguf'}"])
        assert done.exit_code == 2, arguments
        words = "".join(done.output.splitlines())
        assert f"adapter file {tmp_path / 'it.gguf'} does not exist; check" in words
