"""A contract's life on the `anvil` of PATH, as titanoboa's users write it; prints what they see."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boa
import requests
from boa.deployments import DeploymentsDB, set_deployments_db
from eth_account import Account

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEYS = (
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
)
SOURCE = """
event Added:
    who: indexed(address)
    amount: uint256

total: public(uint256)

@deploy
def __init__(start: uint256):
    self.total = start

@external
def add(amount: uint256) -> uint256:
    assert amount < 100, "too much"
    self.total += amount
    log Added(who=msg.sender, amount=amount)
    return self.total

@external
def spill():
    raw_revert(b"odd")

@external
@view
def now() -> uint256:
    return block.timestamp
"""
TOKEN_ABI = [
    {
        "type": "function",
        "name": name,
        "stateMutability": mutability,
        "inputs": [{"name": "", "type": each} for each in inputs],
        "outputs": [{"name": "", "type": output}],
    }
    for name, mutability, inputs, output in (
        ("balanceOf", "view", ["address"], "uint256"),
        ("transfer", "nonpayable", ["address", "uint256"], "bool"),
    )
]
HOUR = 3_600


@contextmanager
def anvil_env(*options: str) -> Iterator[Any]:
    """Start anvil as the fixture of titanoboa's own tests does; yield a network environment."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://localhost:{port}"
    anvil = subprocess.Popen(
        ["anvil", "--port", str(port), "--steps-tracing", *options], stdout=sys.stderr
    )
    try:
        while True:
            assert anvil.poll() is None
            try:
                requests.head(url, timeout=HOUR)
                break
            except requests.exceptions.ConnectionError:
                time.sleep(0.1)
        with boa.set_network_env(url):
            for key in KEYS:
                boa.env.add_account(Account.from_key(key))
            yield boa.env
    finally:
        anvil.terminate()
        anvil.wait()


def outcome(action: Any) -> object:  # noqa: ANN401 - a callable of a library without types
    """Return a call's value, or the name of its error."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001 - whichever the library raises
        return type(error).__name__


def tell_of_a_chain(*_: str) -> dict[str, object]:
    """Deploy, call, send, trace, snapshot, and move the time."""
    told: dict[str, object] = {}
    with anvil_env() as env, set_deployments_db(DeploymentsDB(":memory:")) as deployments:
        ask = env._rpc.fetch  # noqa: SLF001 - there is no other door
        told["rules"] = env.capabilities.describe_capabilities()
        contract = boa.loads(SOURCE, 7)
        receipt = next(deployments.get_deployments()).receipt_dict
        told["deployed"] = [contract.address, receipt["status"], receipt["gasUsed"]]
        told["call"] = contract.total()
        told["simulated"] = [contract.add(1, simulate=True), contract.total()]
        first, second = env._accounts  # noqa: SLF001
        told["sent"] = [contract.add(5), contract.add(6, sender=second)]
        told["logs"] = [str(each) for each in contract.get_logs()]
        told["stored"] = contract.total()
        block = ask("eth_getBlockByNumber", ["latest", True])
        (sent,) = block["transactions"]
        told["gas"] = [int(sent["gas"], 16), int(block["gasUsed"], 16)]
        with boa.reverts("too much"):
            contract.add(100)
        told["odd"] = outcome(contract.spill)
        told["forced"] = outcome(lambda: contract.add(100, gas=100_000))
        told["poor"] = outcome(lambda: contract.add(1, sender="0x" + "ab" * 20))
        told["tracer"] = env._tracer  # noqa: SLF001
        calls = ask("debug_traceTransaction", [sent["hash"], {"tracer": "callTracer"}])
        told["calls"] = [calls[name] for name in ("type", "from", "to", "gasUsed", "output")]
        steps = ask("debug_traceTransaction", [sent["hash"], {}])
        told["steps"] = [steps["gas"], steps["failed"], steps["returnValue"]]
        costs = [each["gasCost"] for each in steps["structLogs"]]
        told["opcodes"] = [len(costs), sum(costs)]

        with env.anchor():
            contract.add(50)
            within = contract.total()
        told["anchor"] = [within, contract.total()]

        before = contract.now()
        ask("evm_increaseTime", [HOUR])
        ask("evm_mine", [])
        told["hour"] = (contract.now() - before) // HOUR
        ask("evm_setNextBlockTimestamp", [before + 3 * HOUR])
        told["at once"] = contract.add(1)
        told["exact"] = contract.now() - before

        with boa.swap_env(boa.Env()):
            boa.fork(env._rpc._rpc_url, block_identifier="latest")  # noqa: SLF001
            copy = boa.loads_partial(SOURCE).at(contract.address)
            told["local fork"] = [copy.add(9, sender=first), copy.total()]
        told["untouched"] = contract.total()
    return told


def tell_of_a_fork(_artifact: str, url: str, token: str, holder: str) -> dict[str, object]:
    """Use another chain's token on a fork, at its head and before."""
    with anvil_env("--fork-url", url, "--fork-block-number", "2") as env:
        early = [
            boa.loads_abi(json.dumps(TOKEN_ABI)).at(token).balanceOf(holder),
            int(env._rpc.fetch("eth_blockNumber", []), 16),  # noqa: SLF001
        ]
    with anvil_env("--fork-url", url) as env:
        on_fork = boa.loads_abi(json.dumps(TOKEN_ABI)).at(token)
        sender = env.eoa
        had = on_fork.balanceOf(holder)
        sent = on_fork.transfer(holder, 11)
        head = on_fork.balanceOf(holder) - had
        with env.anchor():
            on_fork.transfer(holder, 1)
        number = int(env._rpc.fetch("eth_blockNumber", []), 16)  # noqa: SLF001
        same = on_fork.balanceOf(holder) - had
        paid = on_fork.balanceOf(sender)
    return {"fork": [sent, head, same, number, paid], "early fork": early}


STORIES: dict[str, Callable[..., dict[str, object]]] = {
    "chain": tell_of_a_chain,
    "fork": tell_of_a_fork,
}

if __name__ == "__main__":
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = STORIES[sys.argv[1]](*sys.argv[2:])
    told["warnings"] = sorted({str(each.message).splitlines()[0] for each in caught})
    Path("told.json").write_text(json.dumps(told))
