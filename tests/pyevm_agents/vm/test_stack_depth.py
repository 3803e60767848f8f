"""Calls 1,024 deep: on every Python, in a node's threads, and by way of fresh ones."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.calls import Call
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import EngineFault
from pyevm_agents.node import Node
from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.vm import stack_depth
from pyevm_agents.vm.stack_depth import run_at_depth
from tests.pyevm_agents.tracing.assembler import asm
from tests.serving import message

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEP = Address(b"\xca" * 20)
COUNTS = asm(
    "0x20 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL POP "
    "PUSH0 MLOAD 0x01 ADD PUSH0 MSTORE 0x20 PUSH0 RETURN"
)
"""Calls itself; returns one more than what that returned."""

CREATOR = Address(b"\xcb" * 20)
CREATES = asm("CODESIZE PUSH0 PUSH0 CODECOPY CODESIZE PUSH0 PUSH0 CREATE STOP")
"""Creates a contract by its own code, which takes more of Python's frames a level than a call."""

DEPTHS = 1_025
"""0 to the EVM's limit."""


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    accounts = {
        DEEP: GenesisAccount(code=COUNTS, nonce=1),
        CREATOR: GenesisAccount(code=CREATES, nonce=1),
    }
    node = Node(Chain(ChainConfig(block_gas_limit=2**50), accounts=accounts), now=lambda: 2e9)
    yield Dispatcher(build_node_service(node, send_seconds=240))
    node.close()


@pytest.fixture
def _in_fresh_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as on CPython 3.12."""
    monkeypatch.setattr(stack_depth, "IS_BOUNDED", True)


def asked(
    dispatcher: Dispatcher, method: str = "eth_call", to: Address = DEEP, *options: object
) -> bytes:
    """Return the answer about a call, which another thread computes as in a node."""
    call = {"to": "0x" + to.hex(), "gas": hex(2**49)}
    work = dispatcher.handle(message(method, call, "latest", *options), Session("test"))
    assert isinstance(work, DeferredResponse)
    answers: list[bytes | None] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    assert answers[0] is not None
    return answers[0]


def test_the_deepest_call_is_answered(dispatcher: Dispatcher) -> None:
    assert f'"result":"0x{DEPTHS:064x}"'.encode() in asked(dispatcher)


def test_the_deepest_creation_is_traced(dispatcher: Dispatcher) -> None:
    answer = asked(dispatcher, "debug_traceCall", CREATOR, {"tracer": "callTracer"})
    assert answer.count(b'"type":"CREATE"') == DEPTHS


@pytest.mark.parametrize("to", [DEEP, CREATOR])
def test_the_deepest_call_of_a_program_needs_no_other_thread(to: Address) -> None:
    accounts = {
        DEEP: GenesisAccount(code=COUNTS, nonce=1),
        CREATOR: GenesisAccount(code=CREATES, nonce=1),
    }
    chain = Chain(ChainConfig(block_gas_limit=2**50), accounts=accounts)
    result = chain.call(Call(to=to, gas=2**49))
    assert (result.error, result.output) == (
        None, b"" if to == CREATOR else DEPTHS.to_bytes(32),
    )  # fmt: skip


def test_no_nesting_of_a_text_ends_a_process_that_has_a_chain() -> None:
    program = """
import json, sys
import pyevm_agents.chain
for opening in ("[", '{"a":'):
    try:
        json.loads(opening * 1_000_000)
    except RecursionError:
        print("refused")
sys.exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [b"refused"] * 2), done.stderr


@pytest.mark.usefixtures("_in_fresh_threads")
def test_fresh_threads_take_over_on_the_way(dispatcher: Dispatcher) -> None:
    assert f'"result":"0x{DEPTHS:064x}"'.encode() in asked(dispatcher)


@pytest.mark.usefixtures("_in_fresh_threads")
def test_only_some_depths_have_a_thread_of_their_own() -> None:
    here = threading.get_ident()
    assert run_at_depth(255, threading.get_ident) == here
    assert run_at_depth(256, threading.get_ident) != here
    assert run_at_depth(257, threading.get_ident) == here


@pytest.mark.usefixtures("_in_fresh_threads")
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_a_call_raises_reaches_its_caller(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(error):
        run_at_depth(512, fail)


@pytest.mark.usefixtures("_in_fresh_threads")
def test_a_system_without_threads_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(EngineFault, match="no thread can be started for a deep call"):
        run_at_depth(256, int)
