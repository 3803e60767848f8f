"""`pyevm-agents oracle deploy-agent`: an agent made of options, without Solidity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import list_artifacts, load_artifact
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.types import ADDRESS, ADDRESS_TYPE, DURATION_TYPE
from pyevm_agents.cli.oracle.agent_options import (
    add_oracle_settings,
    build_model_option,
    iterations_option,
)
from pyevm_agents.cli.output import json_option, out
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.display import format_amount
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.oracle.contracts import AGENT_V1, open_oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.contract_intelligence.agent_deployment import OracleSettings

CALLBACK_GAS = 1_500_000
"""Enough for a tool of 500,000 gas, such as the wallet's, and the next request."""

EXAMPLES = """\b
Examples:
  pyevm-agents oracle deploy-agent --name Counter --base-prompt "You count." --tool CounterTool --oracle 0x5FbDB2315678afecb367f032d93F642f64180aa3 --keystore me.json
  pyevm-agents oracle deploy-agent --name Clerk --base-prompt-file prompt.txt --tool 0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512 --ask-human 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 --oracle 0x5FbD…0aa3 --keystore me.json
"""  # noqa: E501 - addresses


class ToolType(click.ParamType["bytes | Artifact"]):
    """A tool's address, or the name of a bundled contract that is one."""

    name = "tool"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | Artifact:
        """Return an address, or the contract that is to be deployed."""
        text = str(value)
        if ADDRESS.fullmatch(text) or text.startswith("0x"):
            return ADDRESS_TYPE.convert(text, param, ctx)
        tools = list_tools()
        if text not in tools:
            self.fail(
                f"{text!r}: not a tool; must be an address, or one of {', '.join(tools)}",
                param,
                ctx,
            )
        return load_artifact(text)


def list_tools() -> tuple[str, ...]:
    """Return the names of the bundled contracts that are tools and need no arguments."""
    own = ("CounterTool", "CounterToolV1", "TokenInfoTool")
    return tuple(name for name in list_artifacts() if name in own)


@click.command("deploy-agent", epilog=EXAMPLES)
@click.option("--name", required=True, metavar="NAME", help="The agent's name.")
@click.option(
    "--description", metavar="TEXT", help="What it does, for agents that use it.  [default: NAME]"
)
@click.option("--base-prompt", metavar="TEXT", help="Describes the agent's task to the model.")
@click.option(
    "--base-prompt-file", type=click.Path(path_type=Path), metavar="FILE",
    help="A text file with the base prompt.",
)  # fmt: skip
@click.option(
    "--input-description", default="the instruction", show_default=True, metavar="TEXT",
    help="Describes the prompt, for agents that use it.",
)  # fmt: skip
@click.option(
    "--tool", "tools", multiple=True, type=ToolType(), metavar="TOOL",
    help="A tool's address, or CounterTool, CounterToolV1 or TokenInfoTool, which is deployed. "
    "Repeatable.",
)  # fmt: skip
@click.option(
    "--erc-version", type=click.Choice(("1", "2")), default="2", show_default=True,
    help="The ERC's version. An agent of version 1 has its description as its prompt, and tools of "
    "version 1.",
)  # fmt: skip
@click.option(
    "--ask-human", "person", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="Add an AskHumanTool: the agent may ask this account, which answers by "
    "`pyevm-agents oracle respond`.",
)  # fmt: skip
@click.option(
    "--human-timeout", type=DURATION_TYPE, default="1d", show_default=True, metavar="TIME",
    help="With --ask-human: how long a question waits.",
)  # fmt: skip
@build_model_option("the workers have")
@iterations_option
@add_oracle_settings(callback_gas=CALLBACK_GAS)
@add_sender_options
@json_option
def deploy_agent(  # noqa: PLR0913 - one for each option
    sender: Sender,
    *,
    oracle_settings: OracleSettings,
    name: str,
    description: str | None,
    base_prompt: str | None,
    base_prompt_file: Path | None,
    input_description: str,
    tools: Sequence[bytes | Artifact],
    erc_version: str,
    person: bytes | None,
    human_timeout: int,
    model: str,
    iterations: int,
    as_json: bool,
) -> None:
    """Deploy a SimpleCallbackAgent: an agent with a prompt and tools, whose model workers run.

    With --erc-version 1, deploys a SimpleCallbackAgentV1.

    Every account may run the agent with own ether. The tools see the agent as the caller: add no
    tool that acts on assets of the agent.
    """
    is_v1 = erc_version == "1"
    if is_v1:
        _require_options_of_v1(description, base_prompt, base_prompt_file, person)
        prompts: tuple[str, ...] = ()
    else:
        prompts = (_read_prompt(base_prompt, base_prompt_file),)
    oracle = open_oracle(sender.client, oracle_settings.oracle)
    for tool in tools:
        _require_tool(sender, tool, is_v1=is_v1)
    sent = sender.account
    addresses = [
        tool if isinstance(tool, bytes) else sent.deploy(tool.encode_creation(), purpose=tool.name)
        for tool in tools
    ]
    if person is not None:
        arguments = (person, human_timeout, "AskHuman", "Ask a person when something is not clear")
        creation = load_artifact("AskHumanTool").encode_creation(*arguments)
        addresses.append(sent.deploy(creation, purpose="AskHumanTool"))
    contract = AGENT_V1 if is_v1 else "SimpleCallbackAgent"
    texts = (model, name, description or name, input_description, *prompts)
    creation = load_artifact(contract).encode_creation(
        oracle_settings.as_abi(), *texts, addresses, iterations
    )
    agent = RemoteContract(sender.client, contract, sent.deploy(creation, purpose=contract))
    cost = agent.read("costOfRun")
    if as_json:
        sent.print_json(
            agent=agent.checksum_address,
            oracle=oracle.checksum_address,
            tools=[to_checksum_address(each) for each in addresses],
            costOfRunWei=str(cost),
        )
        return
    sent.print_total()
    out.print(f"A run reserves {format_amount(cost)}; what it does not use is given back.")
    out.print(
        f'Ask it:  pyevm-agents oracle ask {agent.checksum_address} "…" --keystore FILE',
        soft_wrap=True,
    )


def _read_prompt(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise click.UsageError("pass either --base-prompt TEXT or --base-prompt-file FILE")
    if file is None:
        return text or ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{file}: can't be read: {reason}") from error


def _require_options_of_v1(
    description: str | None, base_prompt: str | None, file: Path | None, person: bytes | None
) -> None:
    """Check the options that an agent of version 1 has in place of those of version 2.

    Raises: click.UsageError.
    """
    if base_prompt is not None or file is not None:
        raise click.UsageError(
            "--base-prompt: must be omitted with --erc-version 1; pass the prompt as --description"
        )
    if description is None:
        raise click.UsageError("--erc-version 1: must be with --description TEXT, its prompt")
    if person is not None:
        raise click.UsageError(
            "--ask-human: must be omitted with --erc-version 1, as AskHumanTool is of version 2; "
            "deploy a ToolV2AsV1 of it, and pass its address as --tool"
        )


def _require_tool(sender: Sender, tool: bytes | Artifact, *, is_v1: bool) -> None:
    """Check that a contract has a tool's metadata, and is of the agent's version of the ERC.

    Raises: ConfigError: no metadata, or another version.
    """
    if isinstance(tool, bytes):
        name, has_v1 = str(to_checksum_address(tool)), _require_metadata(sender, tool)
    else:
        name, has_v1 = tool.name, tool.name.endswith("V1")
    if has_v1 == is_v1:
        return
    adapter = "ToolV2AsV1" if is_v1 else "ToolV1AsV2"
    raise ConfigError(
        f"--tool {name}: must be of version {1 if is_v1 else 2} of the ERC, by its "
        f"supportsInterface (ERC-165); deploy a {adapter} of it and pass its address"
    )


def _require_metadata(sender: Sender, address: bytes) -> bool:
    """Return whether a tool is of version 1. Raises: ConfigError: the contract is no tool."""
    require_code(sender.client, address)
    tool = RemoteContract(sender.client, "IERCAgentToolV1", address)
    try:
        tool.read_all([(each, ()) for each in ("name", "description", "inputDescription")])
    except AgentsError as error:
        raise ConfigError(
            f"--tool {tool.checksum_address}: not a tool (IERCAgentTool): its metadata can't be "
            "read"
        ) from error
    return tool.supports("IERCAgentToolV1")
