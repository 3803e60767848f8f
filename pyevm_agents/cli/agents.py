"""`pyevm-agents models`, `schedule`, `estimate` and `script`: asking a node about agents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from rich.markup import escape
from rich.table import Table

from pyevm_agents.cli.output import err, out, print_table
from pyevm_agents.cli.rpc_client import RpcClient, json_option, print_json, rpc_option
from pyevm_agents.display import pluralize, sanitize
from pyevm_agents.rpc.codec import Limits, decode
from pyevm_agents.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST_PRECOMPILE = 0x19
"""The executor's address; Ethereum's own precompiles are below."""

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def _validate_address(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not ADDRESS.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no address: 0x and 40 digits")
    return value


def _validate_calldata(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not DATA.fullmatch(value):
        raise click.BadParameter("calldata is 0x and two digits a byte")
    return value


@click.command(
    short_help="List the models that contracts may ask for.",
    epilog="Example: pyevm-agents models --rpc http://127.0.0.1:8545",
)
@rpc_option
@json_option
def models(remote: RpcClient, *, as_json: bool) -> None:
    """List the models that a node's contracts may ask for: digest, limits, prices."""
    listing = remote.call("agent_models")
    if as_json:
        print_json(listing)
        return
    if not listing:
        out.print("none: the chain has no executor")
    for item in listing:
        scripted = "  [yellow]a script answers[/]" if item["isScripted"] else ""
        out.print(f"[bold]{escape(sanitize(item['name']))}[/]{scripted}")
        _print_pairs(
            [
                ("also", ", ".join(map(sanitize, item["aliases"]))),
                ("sha256", item["digest"].removeprefix("0x")),
                ("context", f"{item['contextTokens']:,} tokens"),
                ("output", f"at most {item['maxOutputTokens']:,} tokens at a time"),
                (
                    "gas a token",
                    (
                        f"{item['coldPromptTokenGas']:,} read, {item['warmPromptTokenGas']:,} read "
                        f"again, {item['outputTokenGas']:,} written"
                    ),
                ),
            ]
        )


@click.command(
    short_help="Show what the executor charges, and its limits.",
    epilog="Example: pyevm-agents schedule --json",
)
@rpc_option
@json_option
def schedule(remote: RpcClient, *, as_json: bool) -> None:
    """Show what a node's executor charges beside tokens, its limits, and its engine's profile."""
    answer = remote.call("agent_schedule")
    if as_json:
        print_json(answer)
        return
    _print_pairs(
        [
            ("executor", answer["executor"] or "none: a plain chain"),
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
    short_help="Tell exactly what gas a transaction needs.",
    epilog="""\b
Examples:
  pyevm-agents estimate 0xDc64a140Aa3E981100a9becA4E685f962f0cF6C9 --instruct "Deposit 10 USDC"
  pyevm-agents estimate 0x5FbDB2315678afecb367f032d93F642f64180aa3 --data 0xd09de08a
""",
)
@click.argument("to", metavar="TO", callback=_validate_address)
@click.option("--data", metavar="HEX", callback=_validate_calldata, help="Calldata.")
@click.option("--instruct", metavar="TEXT", help="Call a wallet agent's `instruct` with a text.")
@click.option(
    "--from", "sender", metavar="ADDRESS", callback=_validate_address,
    help="Who sends.  [default: the node's first account]",
)  # fmt: skip
@click.option("--value", type=click.IntRange(0), default=0, metavar="WEI", help="What is sent.")
@rpc_option
@json_option
def estimate(  # noqa: PLR0913 - one for each option
    to: str,
    remote: RpcClient,
    *,
    data: str | None,
    instruct: str | None,
    sender: str | None,
    value: int,
    as_json: bool,
) -> None:
    """Tell the gas with which a transaction to TO succeeds, and with one less it does not.

    And what of it goes to the EVM, to prompts and to output. The model is asked once: the
    transaction that follows finds its words known.
    """
    if data is not None and instruct is not None:
        raise click.UsageError("--data and --instruct exclude each other; leave one out")
    if instruct is not None:
        from pyevm_agents.contracts import load_artifact  # noqa: PLC0415 - slow to import

        data = "0x" + load_artifact("WalletAgent").encode_call("instruct", instruct).hex()
    sender = sender or next(iter(remote.call("eth_accounts")), None)
    transaction = {"from": sender, "to": to, "data": data or "0x", "value": hex(value)}
    costs = remote.call("agent_estimate", {k: v for k, v in transaction.items() if v is not None})
    _warn_of_missing_code(remote, to, data or "0x")
    if as_json:
        print_json(costs)
        return
    out.print(f"[bold]{costs['gasLimit']:,}[/] gas is enough, and one less is not")
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
            ("steps", f"{costs['inferences']:,}"),
        ]
    )


def _warn_of_missing_code(remote: RpcClient, to: str, data: str) -> None:
    """Warn about calldata for an address without code; precompiles have none either."""
    is_precompile = 0 < int(to, 16) <= LAST_PRECOMPILE
    if data != "0x" and not is_precompile and remote.call("eth_getCode", to, "latest") == "0x":
        err.print(f"Warning: {to} is not a contract; the calldata has no effect", soft_wrap=True)


@click.group(short_help="Let a script answer in a model's place.")
def script() -> None:
    """Let a script answer in a model's place: mocking, from any language.

    The words are counted in the model's tokens and cost what they would cost the model.
    """


STEPS_HELP = """\b
STEPS is a file with a JSON list, or - for standard input. A step is one of
  {"tool": "DeployTool", "arguments": {"asset": "USDC", "amount": 10}, "thought": "…"}
  {"answer": "Done.", "thought": "…"}
  "whatever the model is to say after `Thought:`"

\b
Example:
  echo '[{"answer": "Hello."}]' | pyevm-agents script set -
"""


@script.command("set", short_help="Answer with these steps from now on.", epilog=STEPS_HELP)
@click.argument("steps", type=click.File("rb"), metavar="STEPS")
@click.option("--model", metavar="NAME", help="Whose place.  [default: the first model's]")
@rpc_option
def set_script(steps: BinaryIO, remote: RpcClient, *, model: str | None) -> None:
    """Answer with STEPS from now on, one for each prompt."""
    script_steps = _read_script(steps)
    remote.call("agent_setScript", script_steps, model)
    out.print(
        f"{pluralize(len(script_steps), 'step')} will be said; `pyevm-agents script clear` ends it"
    )


def _read_script(file: BinaryIO) -> list[Any]:
    """Read a script; the node looks at its steps.

    Raises: click.UsageError: it is no list.
    """
    try:
        steps = decode(file.read(), Limits())
    except RpcError as error:
        raise click.UsageError(f"{file.name}: {error}") from error
    if not isinstance(steps, list):
        raise click.UsageError(
            f'{file.name} holds no list of steps such as [{{"answer": "Done."}}]'
        )
    return steps


@script.command(
    "clear",
    short_help="Let the model itself answer again.",
    epilog="Example: pyevm-agents script clear",
)
@click.option("--model", metavar="NAME", help="Which one.  [default: the first model]")
@rpc_option
def clear_script(remote: RpcClient, *, model: str | None) -> None:
    """Let the model itself answer again."""
    was_set = remote.call("agent_clearScript", model)
    out.print("The model answers again." if was_set else "No script was set.")


def _print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    for name, text in pairs:
        out.print(f"  [dim]{name:<12}[/] {escape(text)}", soft_wrap=True)
