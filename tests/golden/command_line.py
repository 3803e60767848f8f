"""The command line: its commands, their options and arguments, exit statuses, keys of `--json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import FAULT_STATUS, MISTAKE_STATUS
from pyevm_agents.cli.interrupt import STOPPED_STATUS
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.models import ScriptedModel
from pyevm_agents.oracle.recomputation import ForkComputer, ModelOptions
from pyevm_agents.scenarios.setting import ScenarioSetting
from pyevm_agents.scenarios.wallet import IDEAL_SCRIPT
from pyevm_agents.scenarios.wallet_report import deploy_wallet, run_wallet
from tests.byte_model import ByteModel
from tests.golden.json_values import Json, structure_of
from tests.pyevm_agents.cli.agent_node import AgentNode
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import OracleChain, count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.models import Vocabulary


def collect_command_line(vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return names, options and machine-readable output; sentences of help are left out."""
    return {
        "commands": dict(_commands(main, click.Context(main, info_name="pyevm-agents"))),
        "exit statuses": {
            "a mistake of the user": MISTAKE_STATUS,
            "a failure of the engine or the output": FAULT_STATUS,
            "Ctrl-C": STOPPED_STATUS,
            **{words: _status(words) for words in FAILING},
        },
        "json": dict(_answers(vocabulary)),
    }


FAILING = ("bench --no-such-option", "replay no-such-file.json", "trace 0x12", "no-such-command")


def _commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, Mapping[str, object]]]:
    yield (
        context.command_path,
        {
            "is group": isinstance(command, click.Group),
            "hidden": command.hidden,
            "help options": context.help_option_names,
            # Without `--help`: click makes it once in a process, and "help options" has it.
            "parameters": [_parameter(one, context) for one in command.params],
        },
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, click.Context(inner, parent=context, info_name=name))


def _parameter(parameter: click.Parameter, context: click.Context) -> Mapping[str, object]:
    form: dict[str, object] = {
        "kind": parameter.param_type_name,
        "type": _type(parameter.type),
        "default": _default(parameter),
        "required": parameter.required,
        "nargs": parameter.nargs,
        "multiple": parameter.multiple,
        "environment": parameter.envvar,
        "metavar": parameter.make_metavar(context),
    }
    if isinstance(parameter, click.Option):
        form |= {
            "names": [*parameter.opts, *parameter.secondary_opts],
            "is flag": parameter.is_flag,
            "counts": parameter.count,
            "hidden": parameter.hidden,
            "prompts": bool(parameter.prompt),
            "shows its default": bool(parameter.show_default),
        }
    return form


def _type(kind: click.ParamType[Any]) -> Mapping[str, object]:
    form: dict[str, object] = {"name": kind.name}
    match kind:
        case click.Choice():
            form["choices"] = [*kind.choices]
        case click.IntRange() | click.FloatRange():
            form |= {"min": kind.min, "max": kind.max, "clamps": kind.clamp}
            form |= {"min is open": kind.min_open, "max is open": kind.max_open}
        case click.Path():
            form |= {"exists": kind.exists, "file": kind.file_okay, "folder": kind.dir_okay}
        case click.File():
            form["mode"] = kind.mode
    return form


def _default(parameter: click.Parameter) -> object:
    default = parameter.to_info_dict()["default"]
    if callable(default):
        return "computed"
    return default if default is None or isinstance(default, bool | int | float) else str(default)


def _status(words: str) -> int:
    return CliRunner().invoke(main, words.split()).exit_code


def _answers(vocabulary: Vocabulary) -> Iterator[tuple[str, Json]]:
    """Yield the structure of the commands' output with `--json`."""
    node = AgentNode()
    sent = str(node.ask("eth_sendTransaction", node.instruction()))
    agent, data = node.instruction()["to"], node.instruction()["data"]
    with node.served() as url:
        for name, words in {
            "models": ["models", "--json"],
            "schedule": ["schedule", "--json"],
            "trace": ["trace", sent, "--json"],
            "estimate": ["estimate", agent, "--data", data, "--json"],
            "export-replay": ["export-replay", sent, "--format", "json"],
        }.items():
            yield name, _printed([*words, "--rpc", url])
    node.node.close()
    yield from _oracle_answers()
    model = ScriptedModel(IDEAL_SCRIPT, vocabulary=vocabulary)
    chain = create_development_chain(model, vocabulary.profile_facts)
    setting = ScenarioSetting(chain=chain, model={"name": "", "digest": ""})
    yield "demo", structure_of(run_wallet(setting, deploy_wallet(setting)).serialize())
    fixture = Path(__file__).parents[2] / "chain_fixtures" / "rollback.json"
    yield "replay", _printed(["replay", str(fixture), "--json"])


def _oracle_answers() -> Iterator[tuple[str, Json]]:
    """Yield the structure of what is printed about an oracle's requests."""
    served, hosted = Served(), host(ByteModel(count_and_answer))
    with (
        pytest.MonkeyPatch.context() as patch,
        fake_remote(served) as remote,
        ForkComputer(remote.url, hosted) as computer,
    ):
        patch.setattr(ModelOptions, "open", lambda *_: hosted)
        chain = OracleChain(served.ask, remote.url)
        words = ["estimate", "--callback", chain.agent.address, "Add 7", "--json"]
        yield "estimate --callback", _printed([*words, "--rpc", remote.url])
        request = chain.ask_agent()
        sent = chain.submit(request, computer.compute(request))["transactionHash"]
        yield "verify", _printed(["verify", sent, "--json", "--rpc", remote.url])
        yield from _oracle_commands(remote.url, chain.sender)
    served.close()


def _oracle_commands(url: str, sender: str) -> Iterator[tuple[str, Json]]:
    """Yield the structure of the output of `oracle`'s commands: an oracle, an agent, a request."""
    options = ["--rpc", url, "--unlocked", sender, "--json"]
    terms = ["--challengeable", "--arbiter", sender, "--bond", "1ether", "--worker", sender]
    deployed = _run(["oracle", "deploy", *terms, *options])
    yield "oracle deploy", structure_of(deployed)
    chosen = ["--oracle", deployed["oracle"]]
    tool = ["--name", "Counter", "--base-prompt", "You count.", "--tool", "CounterTool"]
    agent = _run(["oracle", "deploy-agent", *tool, *chosen, *options])
    yield "oracle deploy-agent", structure_of(agent)
    asked = ["oracle", "ask", agent["agent"], "Add 7", "--no-wait"]
    yield "oracle ask", _printed([*asked, *options])
    account = ["--account", sender, "--rpc", url, "--json"]
    yield "oracle status", _printed(["oracle", "status", *chosen, *account])


def _printed(words: list[str]) -> Json:
    return structure_of(_run(words))


def _run(words: list[str]) -> Any:  # noqa: ANN401 - JSON
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
