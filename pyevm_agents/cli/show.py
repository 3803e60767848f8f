"""`pyevm-agents show`: a recorded chain or a cassette as one page of HTML."""

from __future__ import annotations

import json
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from pyevm_agents.atomic_files import is_stream, require_file_path, write_output_file
from pyevm_agents.cli.output import StatusLine, err, is_live, out
from pyevm_agents.errors import AgentsError, ConfigError, FixtureError
from pyevm_agents.node import Node
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.recordings.canonical_json import read_json
from pyevm_agents.recordings.codec import MARKS
from pyevm_agents.recordings.generation_codec import encode_margin
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.recorded_answers import format_request, record_answers
from pyevm_agents.server.recorded_page import (
    CASSETTE,
    GENERATOR,
    RecordedPage,
    describe_omissions,
    is_replaceable,
    read_recorded_page,
    render_recorded_page,
)
from pyevm_agents.testing.cassette_file import FORMAT as CASSETTE_FORMAT
from pyevm_agents.testing.cassette_file import read_cassette

if TYPE_CHECKING:
    from precompiles.language_model import Generation
    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.recordings.canonical_json import Json
    from pyevm_agents.testing.cassette_file import Cassette

SUFFIX = ".html"

QUIET_SECONDS = 2.0
"""Shorter work prints nothing while it lasts."""

GENERATIONS = "recorded_generations"
"""What the page asks for a cassette's generations. Source: page/src/views/cassette.tsx."""

EXAMPLES = """\b
Examples:
  pyevm-agents show chain_fixtures/wallet.json --open
  pyevm-agents show tests/cassettes/test_wallet/test_deposit.json -o deposit.html
  pyevm-agents show failed/test_wallet.py.test_deposit.html --open
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write.  [default: the file's name with .html, in this folder]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
def show(file: Path, *, output: Path | None, opens: bool) -> None:
    """Write a page that shows FILE: one file of HTML, which needs no node and no network.

    FILE is a chain that `pyevm-agents record` wrote, a cassette of pytest, or a page of a failed
    test that `pytest --agent-html` wrote: that one is written anew, with the views of this version.
    No model runs; the chain is checked as `pyevm-agents replay` does.
    """
    path = Path(file.stem + SUFFIX) if output is None else output
    _require_own_file(path, file)
    progress = _Progress()
    with progress.watch:
        page = _read_page(file, progress)
    html = render_recorded_page(page)
    write_output_file(path, html)
    out.print(escape(f"{path}: {len(html.encode()):,} bytes"), soft_wrap=True)
    if page.note:
        err.print(escape(f"warning: {page.note}"), soft_wrap=True)
    if opens and not webbrowser.open(path.resolve().as_uri()):
        raise AgentsError(f"no browser was found to open {path}; open the file yourself")


class _Progress:
    """A line about progress, if the work takes long."""

    def __init__(self) -> None:
        self.watch = StatusLine()
        self._start_seconds = time.monotonic()
        self._is_told = False

    def tell(self, text: str) -> None:
        """Show the next step: each one in a terminal, the first one elsewhere."""
        if time.monotonic() - self._start_seconds < QUIET_SECONDS:
            return
        if is_live() or not self._is_told:
            self.watch.show_status(text)
        self._is_told = True


def _require_own_file(path: Path, source: Path) -> None:
    """Reject an output that can't be written, or that is not a page.

    Raises: ConfigError: not writable. click.UsageError: another file.
    """
    require_file_path(path)
    if is_stream(path) or is_replaceable(path):
        return
    if source.exists() and path.samefile(source):
        raise click.UsageError(f"{path}: must not be the file to show; pass another with -o")
    raise click.UsageError(
        f"{path} exists and is not a page of `pyevm-agents show`; pass another file with -o, or "
        "delete this one first"
    )


def _read_page(file: Path, progress: _Progress) -> RecordedPage:
    """Return the page of a file.

    Raises: ConfigError: unreadable, of another kind, or of another version. FixtureError: an
        altered page. MismatchError: the chain has other results.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {error.strerror}") from error
    if GENERATOR.encode() in data:
        try:
            return read_recorded_page(data.decode(errors="replace"))
        except FixtureError as error:
            raise FixtureError(f"{file}: {error}") from error
    if CASSETTE_FORMAT.encode() in data:
        return _build_cassette_page(read_cassette(file))
    if any(mark in data for mark in MARKS):
        return _build_chain_page(file, progress)
    raise ConfigError(
        f"{file}: must be a chain of `pyevm-agents record`, a cassette of `pytest --record`, or a "
        f"page of `pytest --agent-html`{_find_json_error(data)}"
    )


def _find_json_error(data: bytes) -> str:
    """Return where the JSON of a file is broken, after a semicolon; empty for other texts."""
    if not data.lstrip().startswith((b"{", b"[")):
        return ""
    try:
        read_json(data.decode(errors="replace"), "recording")
    except FixtureError as error:
        return f"; {error}"
    return ""


def _build_chain_page(file: Path, progress: _Progress) -> RecordedPage:
    fixture = read_fixture(file)
    replay = Replay(fixture)
    for block in replay.execute_blocks():
        progress.tell(f"executing block {block.number:,}")
    node = Node(replay.chain, now=time.time)
    try:
        answers = record_answers(
            build_node_service(node),
            first_block=0 if fixture.fork is None else fixture.first_number + 1,
            on_progress=progress.tell,
        )
    finally:
        node.close()
    return RecordedPage(
        title=fixture.name, results=answers.results, note=describe_omissions(answers.omissions)
    )


def _build_cassette_page(cassette: Cassette) -> RecordedPage:
    form = {
        "test": cassette.test,
        "tool": cassette.tool,
        "models": [
            {"name": model.name, "digest": "0x" + model.digest.hex()} for model in cassette.models
        ],
        "generations": [_describe_exchange(exchange) for exchange in cassette.exchanges],
    }
    return RecordedPage(
        title=f"cassette of {cassette.test}" if cassette.test else "cassette",
        kind=CASSETTE,
        results={format_request(GENERATIONS, []): json.dumps(form)},
    )


def _describe_exchange(exchange: Exchange) -> Json:
    generation = exchange.generation
    return {
        "model": exchange.model,
        "prompt": "".join(segment.text for segment in exchange.segments),
        "promptTokens": len(exchange.prompt_tokens),
        "maxTokens": exchange.max_tokens,
        "output": None if generation is None else _describe_generation(generation),
    }


def _describe_generation(generation: Generation) -> Json:
    return {
        "text": generation.text,
        "tokens": len(generation.tokens),
        "forcedTokens": generation.forced_tokens,
        "isComplete": generation.is_complete,
        "margin": encode_margin(generation.margin),
    }
