"""`pyevm-agents model`: the user's models, each under a name that other commands accept."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.options.models import adapter_option
from pyevm_agents.cli.output import StatusLine, out
from pyevm_agents.config import ChainConfig
from pyevm_agents.display import sanitize
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import add_models, normalize_model_name
from pyevm_agents.model_registry.registry import (
    BUILT_IN,
    ModelChoice,
    RegisteredFile,
    RegisteredModel,
    open_registry,
)
from pyevm_agents.models.gguf.files import resolve_path
from pyevm_agents.models.gguf.summary import ModelSummary, read_summary
from pyevm_agents.models.llama.model import DEFAULT_PREFIX_CACHE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import ModelProfile
    from pyevm_agents.models import Adapter

MEGABYTE = 1_000_000
UNKNOWN = "not specified in the file"

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """A model's files and the profile in genesis."""

    summary: ModelSummary
    path: Path
    adapter: Path | None
    profile: ModelProfile
    """Name, digest, context and chat template, as a chain has them."""

    @property
    def memory_bytes(self) -> int | None:
        """Size of the weights and of a full context; None if not known from the header."""
        per_token = self.summary.state_bytes_per_token
        if per_token is None:
            return None
        adapter_bytes = 0 if self.adapter is None else self.adapter.stat().st_size
        state_bytes = per_token * self.profile.context_tokens
        return self.summary.size_bytes + adapter_bytes + state_bytes

    def to_form(self) -> dict[str, object]:
        """Return the report as a JSON object."""
        summary, profile = self.summary, self.profile
        return {
            "name": profile.name,
            "aliases": [*profile.aliases],
            "path": str(self.path),
            "adapter": None if self.adapter is None else str(self.adapter),
            "sha256": profile.digest.hex(),
            "sizeBytes": summary.size_bytes,
            "architecture": summary.architecture,
            "parameters": summary.parameters,
            "quantisation": summary.quantisation or None,
            "licence": summary.licence or None,
            "licenceLink": summary.licence_link or None,
            "contextTokens": profile.context_tokens,
            "trainedContextTokens": summary.trained_context_tokens,
            "chatTemplate": {
                "prefix": profile.chat_prefix,
                "middle": profile.chat_middle,
                "suffix": profile.chat_suffix,
            },
            "memoryBytes": self.memory_bytes,
        }


ADD_EXAMPLES = """\b
Examples:
  pyevm-agents model add qwen2.5-1.5b-instruct-q4_0.gguf --name qwen
  pyevm-agents model add qwen --adapter trader.gguf --name trader
  pyevm-agents node --model qwen --model trader
"""


@click.command(epilog=ADD_EXAMPLES)
@click.argument("base", required=False, metavar="[FILE]")
@click.option("--name", metavar="NAME", help="Its name.  [default: the name in the file]")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME",
    help="Another model ID on chains that have this model. Repeatable.",
)  # fmt: skip
@adapter_option
@click.option(
    "--context", "context_tokens", type=click.IntRange(1), metavar="N",
    help="Context length in tokens.  [default: as trained, at most 8,192]",
)  # fmt: skip
@click.option("--replace", "may_replace", is_flag=True, help="Replace a model of this name.")
@json_option
def add(  # noqa: PLR0913 - one for each option
    base: str | None,
    *,
    name: str | None,
    aliases: tuple[str, ...],
    adapter: Adapter,
    context_tokens: int | None,
    may_replace: bool,
    as_json: bool,
) -> None:
    """Load FILE as a node would, print the facts, and keep the model under a name.

    FILE is a GGUF model, or the name of a model whose file is used; without FILE, the installed
    model's. The file stays where it is. A file that can't be the model of a chain is refused.
    """
    if base is None and adapter is None:
        raise click.UsageError("missing FILE; without one, pass --adapter for the installed model")
    registry = open_registry()
    if name is not None:
        registry.require_free(name, may_replace=may_replace)
    choice = ModelChoice() if base is None else registry.resolve(base)
    if choice.path is not None and not resolve_path(choice.path).exists():
        raise ConfigError(f"model file {choice.path} does not exist; check the path")
    choice = ModelChoice(
        path=choice.path,
        adapter=choice.adapter if adapter is None else adapter,
        context_tokens=context_tokens or choice.context_tokens,
        name=name,
        aliases=aliases,
    )
    report = _load_report(choice)
    name = report.profile.name
    registered = RegisteredModel(
        name=name,
        base=RegisteredFile.from_path(report.path),
        adapter=None
        if report.adapter is None
        else RegisteredFile.from_path(report.adapter, "adapter"),
        aliases=aliases,
        context_tokens=choice.context_tokens,
    )
    registry.add(registered, may_replace=may_replace)
    if as_json:
        click.echo(json.dumps(report.to_form(), indent=2, ensure_ascii=False))
        return
    _print_report(report)
    out.print(f"\nAdded. Use it: [bold]pyevm-agents node --model {escape(name)}[/]", soft_wrap=True)


@click.command("list")
@json_option
def list_models(*, as_json: bool) -> None:
    """List the installed models and those that were added, with the state of their files.

    Numeric models that this package contains are last.
    """
    from pyevm_agents.models.numeric import SHIPPED  # noqa: PLC0415 - imports onnx and NumPy

    models = open_registry().read()
    if as_json:
        forms = [
            {
                "name": each.name,
                "sha256": each.digest.hex(),
                "path": str(each.base.path),
                "adapter": None if each.adapter is None else str(each.adapter.path),
                "sizeBytes": each.base.size_bytes,
                "aliases": [*each.aliases],
                "contextTokens": each.context_tokens,
                "state": each.state,
            }
            for each in models.values()
        ]
        form = {"installed": [*BUILT_IN], "added": forms, "numeric": [*SHIPPED]}
        click.echo(json.dumps(form, indent=2))
        return
    width = max(map(len, (*BUILT_IN, *models, *SHIPPED)))
    for name in BUILT_IN:
        out.print(f"[bold]{name:<{width}}[/]  installed")
    for each in models.values():
        adapter = "" if each.adapter is None else f" with {each.adapter.path}"
        files = escape(sanitize(f"{each.base.path}{adapter}"))
        out.print(
            f"[bold]{escape(each.name):<{width}}[/]  {each.state:<9}  {each.digest.hex()[:12]}  "
            f"[dim]{files}[/]",
            soft_wrap=True,
        )
    for name in SHIPPED:
        out.print(f"[bold]{name:<{width}}[/]  numeric, for --numeric-model and `model inspect`")


@click.command()
@click.argument("name")
@json_option
def show(name: str, *, as_json: bool) -> None:
    """Show the facts of a model: digest, size, licence, chat template, memory.

    NAME is a name that `pyevm-agents model list` prints, or a GGUF file.
    """
    from pyevm_agents.models.numeric import SHIPPED  # noqa: PLC0415 - imports onnx and NumPy

    if name in SHIPPED:
        raise ConfigError(f"{name}: a numeric model; show it with `pyevm-agents model inspect`")
    report = _load_report(open_registry().resolve(name))
    if as_json:
        click.echo(json.dumps(report.to_form(), indent=2, ensure_ascii=False))
    else:
        _print_report(report)


@click.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a model's name. The file stays."""
    removed = open_registry().remove(name)
    path = escape(sanitize(str(removed.base.path)))
    out.print(f"Removed {escape(name)}. Its file stays: {path}", soft_wrap=True)


def _load_report(choice: ModelChoice) -> ModelReport:
    """Return a model's report; loads the model unless the facts are cached.

    Raises: ConfigError: the file can't be the model of a chain.
    """
    watch = StatusLine()
    with (
        watch,
        choice.open(kept_facts=get_facts_folder(), progress=watch.on_progress) as llama,
    ):
        facts = llama.profile_facts
        watch.stop()
        name = choice.name or normalize_model_name(facts)
        profile = replace(choice, name=name).build_profile(facts, common_aliases=())
        config = add_models(ChainConfig(), [(profile, facts)])  # Rejects an invalid profile.
        return ModelReport(
            summary=read_summary(llama.path),
            path=llama.path,
            adapter=llama.adapter,
            profile=config.models[0],
        )


def _print_report(report: ModelReport) -> None:
    summary, profile = report.summary, report.profile
    out.print(f"[bold]{escape(profile.name)}[/]")
    licence = " ".join(filter(None, (summary.licence, summary.licence_link)))
    pairs = [
        ("file", str(report.path)),
        ("adapter", "none" if report.adapter is None else str(report.adapter)),
        ("aliases", ", ".join(profile.aliases) or "none"),
        ("sha256", profile.digest.hex()),
        (
            "model",
            (
                f"{summary.architecture}, {summary.parameters / MEGABYTE:,.0f} million parameters, "
                f"quantisation {summary.quantisation or UNKNOWN}"
            ),
        ),
        ("size", f"{summary.size_bytes / MEGABYTE:,.0f} MB"),
        (
            "context",
            f"{profile.context_tokens:,} tokens of {summary.trained_context_tokens:,} trained",
        ),
        ("memory", _describe_memory(report)),
        ("rules", ", ".join(f"{rule} {value:,}" for rule, value in profile.decoding) or "none"),
        ("chooser", profile.chooser.hex() or "none"),
        ("licence", licence or UNKNOWN),
        ("chat prefix", json.dumps(profile.chat_prefix, ensure_ascii=False)),
        ("chat middle", json.dumps(profile.chat_middle, ensure_ascii=False)),
        ("chat suffix", json.dumps(profile.chat_suffix, ensure_ascii=False)),
    ]
    for label, text in pairs:
        out.print(f"  [dim]{label:<12}[/] {escape(sanitize(text))}", soft_wrap=True)


def _describe_memory(report: ModelReport) -> str:
    cache = f"at most {DEFAULT_PREFIX_CACHE_BYTES / MEGABYTE:,.0f} MB of cached prompts"
    if report.memory_bytes is None:
        return (
            f"{report.summary.size_bytes / MEGABYTE:,.0f} MB of weights, its context, and {cache}"
        )
    return f"{report.memory_bytes / MEGABYTE:,.0f} MB with a full context, and {cache}"
