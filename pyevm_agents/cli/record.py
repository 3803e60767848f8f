"""`pyevm-agents record`: a scenario on the real model, written as a fixture."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from pyevm_agents.cli.screen import Watch, out
from pyevm_agents.fixtures import write_fixture
from pyevm_agents.models import LlamaModel
from pyevm_agents.scenarios import SCENARIOS, record_scenario


@click.command()
@click.option(
    "--scenario",
    "names",
    type=click.Choice([*SCENARIOS, "all"]),
    multiple=True,
    required=True,
    help="What to record; can be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="The file to write, or a folder: then each scenario's file has its name.",
)
@click.option(
    "--model",
    "model_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A GGUF model.  [default: SmolLM2-135M-Instruct, installed with this package]",
)
@click.option("--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine.")
def record(
    names: tuple[str, ...], output: Path, model_path: Path | None, threads: int | None
) -> None:
    """Record a chain: genesis, blocks, every generation, and what came of them.

    The file can be checked by anyone, without the model: `pyevm-agents replay FILE`.
    """
    wanted = tuple(SCENARIOS) if "all" in names else tuple(dict.fromkeys(names))
    if len(wanted) > 1 and not output.is_dir():
        raise click.UsageError(f"{output} is no folder; several scenarios need one")
    watch = Watch()
    with watch, LlamaModel(model_path, threads=threads, progress=watch.progress) as model:
        facts = model.profile_facts
        for name in wanted:
            watch.say(f"recording {name}")
            source = "The model that the configuration names computed every generation."
            fixture = record_scenario(name, model, facts, source=source)
            path = output / f"{name}.json" if output.is_dir() else output
            write_fixture(fixture, path)
            watch.stop()
            size = path.stat().st_size
            steps, blocks = len(fixture.steps), len(fixture.blocks)
            told = f"{path}: {blocks} blocks, {steps} generations, {size:,} bytes"
            out.print(escape(told), soft_wrap=True)
