"""`pyevm-agents models`, `schedule`, `estimate` and `script`: clients of a node's `agent_*`."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.cli.options.models import (
    adapter_option,
    is_given,
    numeric_models_option,
    open_numeric_models,
    require_single_model,
)
from pyevm_agents.cli.options.node import call_node, find_proxy, rpc_option
from pyevm_agents.cli.output import err, json_option, out, print_json, print_table
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.display import count_steps, pluralize, sanitize
from pyevm_agents.errors import AgentsError, NotDoneError
from pyevm_agents.rpc.codec import Limits, decode
from pyevm_agents.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyevm_agents.models import Adapter

LAST_PRECOMPILE = 0x1A
"""The numeric models' address; the executor and Ethereum's own precompiles are below."""

CALLBACK_OPTIONS = {
    "models": "--model",
    "adapter": "--adapter",
    "numeric_files": "--numeric-model",
    "threads": "--threads",
}
"""Options of `estimate` that only --callback has, by the names of their parameters."""

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
HASH = re.compile(r"0x[0-9a-fA-F]{64}")
DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def _validate_address(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not ADDRESS.fullmatch(value):
        raise click.BadParameter(f"{value!r}: not an address; must be 0x and 40 hexadecimal digits")
    return value


def _validate_calldata(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not DATA.fullmatch(value):
        raise click.BadParameter(
            f"{value!r}: not calldata; must be 0x and two hexadecimal digits per byte"
        )
    return value


def _parse_request_id(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> int | None:
    if value is None:
        return None
    if not HASH.fullmatch(value):
        raise click.BadParameter(
            f"{value!r}: not a request ID; must be 0x and 64 hexadecimal digits"
        )
    return int(value, 16)


@click.command(
    epilog="Example: pyevm-agents models --rpc http://127.0.0.1:8545",
)
@rpc_option
@json_option
def models(url: str, *, as_json: bool) -> None:
    """List the models that contracts of a node can use, numeric models last.

    Prints names, digests, limits and prices. With --json, lists the language models.
    """
    listing = call_node(url, "agent_models")
    if as_json:
        print_json(listing)
        return
    if not listing:
        out.print("No models: the chain has no executor at 0x19.")
    for item in listing:
        scripted = "  [yellow]replaced by a script[/]" if item["isScripted"] else ""
        out.print(f"[bold]{escape(sanitize(item['name']))}[/]{scripted}")
        _print_pairs(
            [
                ("aliases", ", ".join(map(sanitize, item["aliases"]))),
                ("sha256", item["digest"].removeprefix("0x")),
                ("context", f"{item['contextTokens']:,} tokens"),
                ("output", f"at most {item['maxOutputTokens']:,} tokens per inference"),
                (
                    "token gas",
                    (
                        f"{item['coldPromptTokenGas']:,} cold, {item['warmPromptTokenGas']:,} "
                        f"warm, {item['outputTokenGas']:,} output, "
                        f"{item['chooserTokenGas']:,} chooser"
                    ),
                ),
            ]
        )
    _print_numeric_models(call_node(url, "agent_numericModels"))


def _print_numeric_models(listing: Sequence[Mapping[str, Any]]) -> None:
    for item in listing:
        out.print(f"[bold]{escape(sanitize(item['name']))}[/]  numeric, at 0x1a")
        inputs, outputs = item["inputDecimals"], item["outputDecimals"]
        _print_pairs(
            [
                ("sha256", item["digest"].removeprefix("0x")),
                ("inputs", f"{len(inputs)}, with decimals {', '.join(map(str, inputs))}"),
                ("outputs", f"{len(outputs)}, with decimals {', '.join(map(str, outputs))}"),
                ("operations", f"{item['operations']:,}"),
                ("gas", f"{item['gas']:,} a call by name"),
            ]
        )


@click.command(
    epilog="Example: pyevm-agents schedule --json",
)
@rpc_option
@json_option
def schedule(url: str, *, as_json: bool) -> None:
    """Show the gas prices, limits and engine profile of a node's executor.

    `pyevm-agents models` shows the prices of tokens.
    """
    answer = call_node(url, "agent_schedule")
    if as_json:
        print_json(answer)
        return
    _print_pairs(
        [
            ("executor", answer["executor"] or "none: the chain has no models"),
            ("config", answer["configDigest"]),
            ("profile", sanitize(answer["profile"])),
        ]
    )
    for heading in ("gas", "limits"):
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
        table.add_column(heading.capitalize())
        table.add_column("", justify="right")
        for name, value in answer[heading].items():
            table.add_row(escape(name), f"{value:,}")
        out.print()
        print_table(table)


@click.command(
    cls=TextCommand,
    epilog="""\b
Examples:
  pyevm-agents estimate 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9 "Deposit 10 USDC"
  pyevm-agents estimate 0x5FbDB2315678afecb367f032d93F642f64180aa3 --data 0xd09de08a
  pyevm-agents estimate --callback 0x5FbDB2315678afecb367f032d93F642f64180aa3 "Deposit 10 USDC"
""",
)
@click.argument("to", metavar="TO", required=False, callback=_validate_address)
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option("--data", metavar="HEX", callback=_validate_calldata, help="Calldata.")
@click.option(
    "--instruct", metavar="TEXT", help="The same as PROMPT; excludes --data and --callback."
)
@click.option(
    "--from", "sender", metavar="ADDRESS", callback=_validate_address,
    help="The sender.  [default: the node's first account]",
)  # fmt: skip
@click.option(
    "--value", type=click.IntRange(0), default=0, show_default=True, metavar="WEI",
    help="Ether to send, in wei.",
)  # fmt: skip
@click.option(
    "--callback", is_flag=True,
    help="Estimate the callback gas of a run of the CallbackAgent TO with PROMPT, on a fork.",
)  # fmt: skip
@click.option(
    "--request", "request_id", metavar="ID", callback=_parse_request_id,
    help="With --callback: go on with this request, which waits for its answer.",
)  # fmt: skip
@click.option(
    "--model", "models", metavar="MODEL", multiple=True,
    help="With --callback: a model that answers; see `pyevm-agents node`.",
)  # fmt: skip
@adapter_option
@numeric_models_option
@click.option(
    "-j", "--threads", type=click.IntRange(1, 512), metavar="N",
    help="With --callback: threads of the engine.",
)  # fmt: skip
@rpc_option
@json_option
def estimate(  # noqa: PLR0913 - one for each option
    to: str | None,
    prompt: str | None,
    url: str,
    *,
    callback: bool,
    request_id: int | None,
    models: tuple[str, ...],
    adapter: Adapter,
    numeric_files: Mapping[str, str],
    threads: int | None,
    data: str | None,
    instruct: str | None,
    sender: str | None,
    value: int,
    as_json: bool,
) -> None:
    """Estimate the lowest gas limit with which a transaction to TO succeeds.

    TO is an agent that is given PROMPT, by `instruct(string)` or else by the ERC's `run`, or any
    address with --data.

    Also prints the gas of the EVM, of prompts and of output. The inference is cached: the
    transaction itself takes no further inference.

    With --callback, TO is an agent whose model runs off the chain, by an oracle: the run is
    simulated on a fork, and each step's callback gas is printed, before anything is sent.

    The exit status is 4 if the agent does not do the task; the answer is printed.
    """
    if callback or request_id is not None:
        _require_callback_options(to, prompt, request_id)
        from pyevm_agents.cli import callback_estimate  # noqa: PLC0415 - slow to import

        estimated = callback_estimate.estimate_callback(
            url,
            agent=to,
            prompt=prompt or "",
            sender=sender,
            request_id=request_id,
            models=models,
            adapter=adapter,
            threads=threads,
            numeric_models=open_numeric_models(numeric_files),
        )
        callback_estimate.print_estimate(estimated, as_json=as_json)
        if estimated.is_not_done:
            raise SystemExit(NOT_DONE_STATUS)
        return
    _require_no_callback_options()
    if to is None:
        raise click.UsageError("Missing argument 'TO'.")
    text = prompt if instruct is None else instruct
    _require_single_way({"PROMPT": prompt, "--instruct": instruct, "--data": data})
    if text is not None:
        data = _encode_instruction(url, to, text)
    try:
        costs = _estimate_transaction(url, to, data, sender, value)
    except NotDoneError:
        raise
    except AgentsError as error:
        if text is None or not _is_callback_agent(url, to):
            raise
        raise AgentsError(
            f"{to}: a CallbackAgent, whose model runs off the chain; add --callback"
        ) from error
    _print_costs(costs, as_json=as_json)


def _require_no_callback_options() -> None:
    context = click.get_current_context()
    for name, option in CALLBACK_OPTIONS.items():
        if is_given(context, name):
            raise click.UsageError(
                f"{option} needs --callback; without it the node's own models answer"
            )


def _require_single_way(ways: Mapping[str, str | None]) -> None:
    given = [name for name, each in ways.items() if each is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other; omit one")


def _encode_instruction(url: str, address: str, text: str) -> str:
    """Return the calldata that gives an agent an instruction."""
    from pyevm_agents.cli.agent_entry import find_entry  # noqa: PLC0415 - slow to import
    from pyevm_agents.client.json_rpc import RemoteClient  # noqa: PLC0415 - slow to import

    with closing(RemoteClient(url, proxy=find_proxy(url))) as client:
        return "0x" + find_entry(client, bytes.fromhex(address[2:])).encode(text).hex()


def _is_callback_agent(url: str, address: str) -> bool:
    from pyevm_agents.client.contract import RemoteContract  # noqa: PLC0415 - slow to import
    from pyevm_agents.client.json_rpc import RemoteClient  # noqa: PLC0415 - slow to import

    with closing(RemoteClient(url, proxy=find_proxy(url))) as client:
        contract = RemoteContract(client, "OwnedCallbackAgent", bytes.fromhex(address[2:]))
        return contract.supports("IAgentOracleClient")


def _estimate_transaction(
    url: str, to: str, data: str | None, sender: str | None, value: int
) -> dict[str, Any]:
    """Return a node's estimate of a transaction."""
    sender = sender or next(iter(call_node(url, "eth_accounts")), None)
    transaction = {"from": sender, "to": to, "data": data or "0x", "value": hex(value)}
    try:
        given = {name: each for name, each in transaction.items() if each is not None}
        costs: dict[str, Any] = call_node(url, "agent_estimate", given)
    except NotDoneError:
        raise
    except AgentsError as error:
        if data is not None:
            raise
        raise AgentsError(f"{error}; no calldata: give a PROMPT or --data HEX") from error
    _warn_of_missing_code(url, to, data or "0x")
    return costs


def _print_costs(costs: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(costs)
        return
    steps = costs.get("steps", costs["inferences"])  # Older nodes have no such field.
    out.print(f"[bold]{costs['gasLimit']:,}[/] gas: the lowest limit that succeeds")
    _print_pairs(
        [
            ("used", f"{costs['gasUsed']:,}, after refunds"),
            ("EVM", f"{costs['evmGas']:,}"),
            (
                "prompt",
                (
                    f"{costs['promptGas']:,} for {costs['coldTokens']:,} cold and "
                    f"{costs['warmTokens']:,} warm tokens"
                ),
            ),
            ("output", f"{costs['outputGas']:,} for {costs['outputTokens']:,} tokens"),
            ("run", count_steps(steps, steps - costs["inferences"])),
        ]
    )


def _require_callback_options(to: str | None, prompt: str | None, request_id: int | None) -> None:
    """Check that the options of `estimate --callback` fit together.

    Raises: click.UsageError.
    """
    context = click.get_current_context()
    require_single_model(context)
    for name, option in (("data", "--data"), ("instruct", "--instruct"), ("value", "--value")):
        if is_given(context, name):
            raise click.UsageError(f"{option} and --callback exclude each other; omit one")
    if request_id is None:
        if to is None or prompt is None:
            raise click.UsageError("--callback needs TO and PROMPT, or --request ID")
    elif to is not None or is_given(context, "sender"):
        raise click.UsageError("--request needs neither an agent nor --from; omit them")


def _warn_of_missing_code(url: str, to: str, data: str) -> None:
    """Warn about calldata for an address without code; precompiles have none either."""
    is_precompile = 0 < int(to, 16) <= LAST_PRECOMPILE
    if data != "0x" and not is_precompile and call_node(url, "eth_getCode", to, "latest") == "0x":
        err.print(f"Warning: {to} is not a contract; the calldata has no effect", soft_wrap=True)


@click.group()
def script() -> None:
    """Replace a node's model by a script, to mock the model from any language.

    The script's output is tokenized by the model and has the model's gas prices.
    """


STEPS_HELP = """\b
STEPS is a file with a JSON list, or - for standard input. A step is one of
  {"tool": "DeployTool", "arguments": {"asset": "USDC", "amount": 10}, "thought": "…"}
  {"answer": "Done.", "thought": "…"}
  "the model's output after `Thought:`, as it is"

\b
Example:
  echo '[{"answer": "Hello."}]' | pyevm-agents script set -
"""


@script.command("set", short_help="Replace the model by these steps.", epilog=STEPS_HELP)
@click.argument("steps", type=click.File("rb"), metavar="STEPS")
@click.option("--model", metavar="NAME", help="The model to replace.  [default: the first]")
@rpc_option
def set_script(steps: BinaryIO, url: str, *, model: str | None) -> None:
    """Replace the model by STEPS, one for each prompt, until `pyevm-agents script clear`."""
    script_steps = _read_script(steps)
    call_node(url, "agent_setScript", script_steps, model)
    out.print(
        f"Script of {pluralize(len(script_steps), 'step')} set. Remove it with "
        "`pyevm-agents script clear`.",
        soft_wrap=True,
    )


def _read_script(file: BinaryIO) -> list[Any]:
    """Read a script. The node validates the steps.

    Raises: click.UsageError: not a JSON list.
    """
    try:
        steps = decode(file.read(), Limits())
    except RpcError as error:
        raise click.UsageError(f"{file.name}: {error}") from error
    if not isinstance(steps, list):
        raise click.UsageError(f'{file.name}: not a list of steps, such as [{{"answer": "Done."}}]')
    return steps


@script.command(
    "clear",
    short_help="Restore the model.",
    epilog="Example: pyevm-agents script clear",
)
@click.option("--model", metavar="NAME", help="The model to restore.  [default: the first]")
@rpc_option
def clear_script(url: str, *, model: str | None) -> None:
    """Restore the model that a script replaced."""
    was_set = call_node(url, "agent_clearScript", model)
    out.print("Script removed." if was_set else "No script was set.")


def _print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    for name, text in pairs:
        out.print(f"  [dim]{name:<12}[/] {escape(text)}", soft_wrap=True)
