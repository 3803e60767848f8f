"""`pyevm-agents export-replay`: a recorded run as Solidity or JSON, for any EVM."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from pyevm_agents.atomic_files import require_file_path
from pyevm_agents.cli.options.node import call_node, rpc_option
from pyevm_agents.cli.output import err
from pyevm_agents.cli.trace import HASH
from pyevm_agents.display import pluralize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.node import Node
from pyevm_agents.recordings import open_chain
from pyevm_agents.recordings.bundled import list_bundled_fixtures, load_bundled_fixture
from pyevm_agents.recordings.export import (
    CALL_TRACER,
    NODE_SOURCE,
    ReplayExport,
    extract_numeric_calls,
    extract_replay_steps,
    render_json,
)
from pyevm_agents.recordings.export_solidity import (
    CONTRACTS,
    DEFAULT_NAME,
    render_solidity,
    require_library_name,
)
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.recordings.export import NumericCall, ReplayStep

    Ask = Callable[..., Any]

FOLDER = re.compile(r"[^\"\\\x00-\x1f\x7f-\U0010ffff]+")
"""Paths that need no escaping in an import."""

FORMATS = {"sol": ".sol", "json": ".json"}

EXAMPLES = """\b
Examples:
  pyevm-agents export-replay 0xd574…c3dd -o test/WalletReplay.sol
  pyevm-agents export-replay 0xd574…c3dd 0x18e2…90aa --format json -o replays/wallet.json
  pyevm-agents export-replay --fixture wallet -o test/WalletReplay.sol
"""


def _validate_hashes(
    _context: click.Context, _argument: click.Parameter, value: tuple[str, ...]
) -> Any:  # noqa: ANN401 - click's
    for tx_hash in value:
        if not HASH.fullmatch(tx_hash):
            raise click.BadParameter(
                f"{tx_hash!r}: not a transaction hash; must be 0x and 64 hexadecimal digits"
            )
    return value


@click.command("export-replay", epilog=EXAMPLES)
@click.argument("transactions", nargs=-1, metavar="[TX]…", callback=_validate_hashes)
@rpc_option
@click.option(
    "--fixture",
    metavar="NAME",
    help="Read a recorded chain in place of a node: one of this package "
    f"({', '.join(list_bundled_fixtures())}), or a file. Without TX, exports all its "
    "transactions with agents.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    help="A Solidity library, or JSON.  [default: by the file's suffix, else sol]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.  [default: standard output]",
)
@click.option(
    "--name",
    help="Name of the library.  [default: the file's name, else AgentRun]",
)
@click.option(
    "--contracts",
    default=CONTRACTS,
    show_default=True,
    metavar="FOLDER",
    help="The folder from which the library imports the contracts of this package.",
)
def export_replay(  # noqa: PLR0913 - one for each option
    transactions: tuple[str, ...],
    url: str,
    *,
    fixture: str | None,
    form: str | None,
    output: Path | None,
    name: str | None,
    contracts: str,
) -> None:
    """Export the steps of agents in the transactions with hashes TX.

    `ReplayAgentExecutor.sol` replays the steps without a model in any EVM: forge test, anvil,
    Hardhat. The export states the gas of each inference; the other EVM does not charge that gas.
    """
    if output is not None:
        require_file_path(output)
    form = form or _choose_format(output)
    name = _choose_library_name(output) if name is None else name
    if form == "sol":
        _require_solidity_names(name, contracts)
    if not transactions and fixture is None:
        raise click.UsageError("nothing to export; pass a transaction hash, or --fixture")
    if fixture is None:
        steps, numeric_calls = _collect_steps(partial(call_node, url), transactions)
        source = NODE_SOURCE
    else:
        with _open_fixture(fixture) as (ask, hashes):
            steps, numeric_calls = _collect_steps(ask, transactions or hashes)
        source = f"Recorded on the chain {fixture!r}."
    replay = ReplayExport(name=name, source=source, steps=steps, numeric_calls=numeric_calls)
    text = render_json(replay) if form == "json" else render_solidity(replay, contracts=contracts)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{output}: can't be written: {error.strerror}; pass another file"
        ) from error
    parts = [pluralize(len(steps), "step"), f"{replay.inference_gas:,} gas of inference"]
    if numeric_calls:
        parts.append(f"{pluralize(len(numeric_calls), 'answer')} of numeric models")
    err.print(f"{escape(str(output))}: {', '.join(parts)}", soft_wrap=True)


def _collect_steps(
    ask: Ask, transactions: tuple[str, ...]
) -> tuple[tuple[ReplayStep, ...], tuple[NumericCall, ...]]:
    """Return the steps of all transactions, and the calls of numeric models, each once.

    Raises: AgentsError: there are no steps.
    """
    steps: list[ReplayStep] = []
    numeric_calls: dict[NumericCall, None] = {}
    for transaction in transactions:
        trace = ask("agent_traceTransaction", transaction)
        frame = ask("debug_traceTransaction", transaction, CALL_TRACER)
        steps += extract_replay_steps(frame, trace)
        numeric_calls |= dict.fromkeys(extract_numeric_calls(frame))
    if not steps:
        raise AgentsError(
            "nothing to export: the transactions have no steps of agents; `pyevm-agents trace TX` "
            "shows the steps of a transaction"
        )
    return tuple(steps), tuple(numeric_calls)


@contextmanager
def _open_fixture(fixture: str) -> Iterator[tuple[Ask, tuple[str, ...]]]:
    """Open a recorded chain; yield the RPC function, and the hashes of transactions with agents."""
    recorded = load_bundled_fixture(fixture)
    node = Node(open_chain(recorded), now=time.time)
    session, service = Session("in process"), build_node_service(node)
    places = dict.fromkeys((step.block, step.transaction) for step in recorded.steps)
    hashes = tuple(
        "0x" + recorded.get_block(block).transactions[index].hash.hex() for block, index in places
    )
    try:
        yield lambda method, *params: service.call(method, list(params), session), hashes
    finally:
        session.close()
        node.close()


def _require_solidity_names(name: str, contracts: str) -> None:
    """Check the name of the library and the folder of the imports.

    Raises: click.UsageError: Solidity would reject a name or the folder.
    """
    try:
        require_library_name(name)
    except ConfigError as error:
        raise click.UsageError(f"{error} with --name") from error
    if not FOLDER.fullmatch(contracts):
        raise click.UsageError(
            f"--contracts {contracts!r}: must be a path without quotes, backslashes and control "
            "characters"
        )


def _choose_format(output: Path | None) -> str:
    suffix = "" if output is None else output.suffix.lower()
    return next((form for form, ending in FORMATS.items() if ending == suffix), "sol")


def _choose_library_name(output: Path | None) -> str:
    return DEFAULT_NAME if output is None else output.name.split(".")[0]
