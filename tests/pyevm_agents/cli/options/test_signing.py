"""Commands that sign: for which chain, and at most for how much, whatever the node says."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.options import signing
from pyevm_agents.cli.options.types import RequestNumberType
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from click.testing import Result

ADDRESS = "0x" + "12" * 20
MAINNET, ANVIL = 1, 31_337
LYING_TIP = 198_412 * 10**9
MORE = {
    "council join": ["--all", "--answer-command", "true"],
    "council judge": ["--all"],
    "council watch": ["--advance"],
    "oracle deploy-agent": ["--base-prompt", "text"],
}
"""What a command wants beside its required options."""

ELSEWHERE = {
    "agent register": "there is no such folder",
    "oracle ask": "the agent's oracle has no list of workers",
    "oracle retry": "there is no such request",
    "oracle expire": "there is no such request",
    "oracle release": "the budget was released",
    "oracle respond": "the tool asks nobody",
    "oracle subscription add-consumer": "the contract is one already",
    "oracle worker add": "the account is one already",
    "tools ask": "its effects are not known",
    "tools deploy": "the chain has no executor",
}
"""Commands that end on this node before fees are asked for."""

HASH = "0x" + "ab" * 32
NO_INTERFACE = "01ffc9a7ffffffff"
"""`supportsInterface(0xffffffff)`, which is false. Source: ERC-165."""


def walk(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands with their words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from walk(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


SIGNING = {
    words: command
    for words, command in walk(main)
    if any("--keystore" in parameter.opts for parameter in command.params)
}


class LyingNode:
    """A node that answers anything, and proposes what it likes."""

    def __init__(self, port: int, chain_id: int, answers: Mapping[str, Any]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        block = {
            "hash": HASH,
            "parentHash": HASH,
            "number": "0x5",
            "timestamp": "0x65000000",
            "gasLimit": hex(30_000_000),
            "baseFeePerGas": hex(10**9),
        }
        self.answers = {
            "eth_chainId": hex(chain_id),
            "eth_getBlockByNumber": block,
            "eth_blockNumber": "0x5",
            "eth_getBalance": hex(5 * 10**18),
            "eth_getTransactionCount": "0x0",
            "eth_getCode": "0x60",
            "eth_call": "0x" + ("00" * 31 + "01") * 12,
            "eth_estimateGas": hex(100_000),
            "eth_maxPriorityFeePerGas": hex(10**9),
            "eth_getLogs": [],
            **answers,
        }
        self.asked: list[str] = []


@contextmanager
def lying_node(chain_id: int, **answers: Any) -> Iterator[LyingNode]:  # noqa: ANN401 - JSON
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told = [respond(each) for each in (message if isinstance(message, list) else [message])]
            body = json.dumps(told if isinstance(message, list) else told[0]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    def respond(request: Mapping[str, Any]) -> dict[str, Any]:
        node.asked.append(request["method"])
        form = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "eth_call" and NO_INTERFACE in request["params"][0]["data"]:
            return {**form, "result": "0x" + "00" * 32}
        if request["method"] in node.answers:
            return {**form, "result": node.answers[request["method"]]}
        return {**form, "error": {"code": -32601, "message": "no such method"}}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    node = LyingNode(server.server_address[1], chain_id, answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield node
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def find_words(parameter: click.Parameter) -> list[str]:
    """Return the words of a value that a parameter takes."""
    kind = parameter.type
    if isinstance(kind, click.IntRange | click.FloatRange | RequestNumberType):
        value = "1"
    elif isinstance(kind, click.Choice):
        value = str(kind.choices[0])
    else:
        value = {
            "amount": "1",
            "address": ADDRESS,
            "request": HASH,
            "duration": "1h",
            "integer": "1",
        }.get(kind.name, "text")
    options = [each for each in parameter.opts if each.startswith("--")]
    return [*options[:1], value] if options else [value]


def run(words: str, command: click.Command, folder: Path, node: LyingNode, *more: str) -> Result:
    """Run a command with a keystore and with all that it needs."""
    keystore, password = folder / "key.json", folder / "password"
    if not keystore.exists():
        write_keystore(keystore, b"\x99" * 32)
        password.write_text(PASSWORD)
    given = {"keystore", "url"}
    needed = [
        word
        for parameter in command.params
        if parameter.required and parameter.name not in given
        for word in find_words(parameter)
    ]
    needed += MORE.get(words, [])
    signer = ["--keystore", str(keystore), "--password-file", str(password)]
    return CliRunner().invoke(
        main,
        [*words.split(), *needed, *signer, "--rpc-url", node.url, *more],
        env={"ETH_KEYSTORE": None, "ETH_PASSWORD": None, "XDG_STATE_HOME": str(folder)},
        input="y\n",
    )


def test_all_commands_that_sign_bound_the_chain_and_the_fees() -> None:
    assert len(SIGNING) > 20
    for words, command in SIGNING.items():
        named = {option: each for each in command.params for option in each.opts}
        assert isinstance(named["--chain-id"].type, click.IntRange), words
        assert named["--max-fee"].callback is signing._read_bounds, words  # noqa: SLF001


@pytest.mark.parametrize("words", SIGNING)
def test_a_lying_node_gets_no_signature(words: str, tmp_path: Path) -> None:
    lies = {"eth_maxPriorityFeePerGas": hex(LYING_TIP)}
    with lying_node(MAINNET, **lies) as node:
        for named in ([], ["--chain-id", str(MAINNET)], ["--chain-id", str(ANVIL)]):
            told = run(words, SIGNING[words], tmp_path, node, *named)
            assert isinstance(told.exception, SystemExit | None), told.exception
            assert told.exit_code or words in ELSEWHERE, told.output
            is_bound = "must be at most" in " ".join(told.stderr.split())
            assert is_bound == (named[1:] == [str(MAINNET)] and words not in ELSEWHERE), told.stderr
        assert "eth_sendRawTransaction" not in node.asked


@pytest.mark.parametrize(
    ("chain_id", "named", "lies", "said"),
    [
        (MAINNET, None, {}, "pass --chain-id 1"),
        (MAINNET, ANVIL, {}, "must be 31337"),
        (
            MAINNET,
            MAINNET,
            {"eth_maxPriorityFeePerGas": hex(LYING_TIP)},
            "priority fee 198,412 gwei",
        ),
        (ANVIL, None, {"eth_maxPriorityFeePerGas": hex(LYING_TIP)}, "priority fee 198,412 gwei"),
        (ANVIL, None, {"eth_estimateGas": hex(2**40)}, "the limit of a block"),
        (ANVIL, None, {"eth_estimateGas": "-0x1"}, "not a quantity"),
        (ANVIL, None, {"eth_getBlockByNumber": {"number": "0x1"}}, "not a block"),
    ],
)
def test_why_nothing_is_signed(
    tmp_path: Path, chain_id: int, named: int | None, lies: dict[str, Any], said: str
) -> None:
    words = "tools account"
    with lying_node(chain_id, **lies) as node:
        more = [] if named is None else ["--chain-id", str(named)]
        told = run(words, SIGNING[words], tmp_path, node, *more)
    assert told.exit_code != 0
    assert said in " ".join(told.stderr.split())
    assert "eth_sendRawTransaction" not in node.asked


@pytest.mark.parametrize(
    ("chain_id", "more", "is_signed"),
    [
        (ANVIL, (), True),
        (1_337, (), True),
        (ANVIL, ("--chain-id", str(ANVIL)), True),
        (MAINNET, ("--chain-id", str(MAINNET)), True),
        (MAINNET, ("--chain-id", str(MAINNET), "--max-fee", "1"), True),
        (MAINNET, ("--chain-id", str(MAINNET), "--max-fee", "0.5"), False),
    ],
)
def test_what_is_signed_is_shown(
    tmp_path: Path, chain_id: int, more: tuple[str, ...], *, is_signed: bool
) -> None:
    words = "tools account"
    with lying_node(chain_id) as node:  # It refuses what it gets.
        told = run(words, SIGNING[words], tmp_path, node, *more)
    shown = " ".join(told.stderr.split())
    assert f"Signs for chain {chain_id} (" in shown
    assert ("eth_sendRawTransaction" in node.asked) == is_signed
    assert ("Pays at most" in shown) == is_signed


@pytest.mark.parametrize("is_agreed", [True, False])
def test_a_person_is_asked_about_a_chain_of_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_agreed: bool
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    class System:
        stdin = Terminal()

    def confirm(_text: str, **options: Any) -> None:  # noqa: ANN401 - click's
        assert options["abort"]
        if not is_agreed:
            raise click.Abort

    monkeypatch.setattr(signing, "sys", System)
    monkeypatch.setattr(click, "confirm", confirm)
    words = "tools account"
    with lying_node(MAINNET) as node:
        run(words, SIGNING[words], tmp_path, node)
    assert ("eth_sendRawTransaction" in node.asked) == is_agreed
