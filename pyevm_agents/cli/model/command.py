"""`pyevm-agents model`: the table of commands."""

from __future__ import annotations

import click

from pyevm_agents.cli.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "add": LazyCommand("model.names", "Check a GGUF file and give it a name."),
    "convert": LazyCommand("model.convert", "Make an integer model of a float one."),
    "inspect": LazyCommand("model.inspect:inspect_file", "Show a numeric model's file."),
    "list": LazyCommand("model.names:list_models", "List the models."),
    "remove": LazyCommand("model.names", "Remove a model's name."),
    "show": LazyCommand("model.names", "Show a model's facts."),
    "solidity": LazyCommand("model.solidity", "Write a numeric model as Solidity."),
}


@click.group(cls=LazyGroup, commands=COMMANDS)
def model() -> None:
    """Keep GGUF models under names, which `--model` and `--agent-model` accept.

    The names are in the file models.json in the user's data folder. `pyevm-agents models` lists the
    models of a running node. `inspect` shows an ONNX file, which `--numeric-model` accepts.
    """
