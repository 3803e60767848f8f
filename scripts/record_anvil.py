"""Record anvil's answers for the scenarios in `anvil.json.gz`.

npm install @foundry-rs/anvil   (in a folder of its own; postinstall scripts may be refused)
python -m scripts.record_anvil FOLDER/node_modules/@foundry-rs/anvil-*/bin/anvil
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from pyevm_agents.config import ChainConfig
from tests.pyevm_agents.tracing.anvil_answers import OTTERSCANS, REQUESTS, shortened, write
from tests.pyevm_agents.tracing.scenario import BLOCK_GAS_LIMIT, Scenario
from tests.pyevm_agents.tracing.scenarios import SCENARIOS


def free_port() -> int:
    """Return a free port: a running node must not be changed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


PORT = free_port()


def ask(method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
    """Return the node's answer."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = urllib.request.Request(
        f"http://127.0.0.1:{PORT}",
        json.dumps(request).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(sent) as reply:  # noqa: S310 - as above
        answer = json.load(reply)
    if "error" in answer:
        raise RuntimeError(f"{method}{params!r:.300}: {answer['error']}")
    return answer["result"]


def listed(scenario: Scenario) -> Any:  # noqa: ANN401 - JSON
    """Return anvil's access list; None if it makes none, for example of a revert."""
    if scenario.more:
        return None
    try:
        return ask("eth_createAccessList", scenario.as_call(), "latest")["accessList"]
    except RuntimeError:
        return None


def record(scenario: Scenario) -> dict[str, Any]:
    """Return anvil's answers of one scenario."""
    snapshot = ask("evm_snapshot")
    chain = scenario.chain()
    header = chain.build_next_header()
    for address, account in scenario.all_accounts().items():
        name = "0x" + address.hex()
        ask("anvil_setBalance", name, hex(account.balance_wei))
        ask("anvil_setNonce", name, hex(account.nonce))
        ask("anvil_setCode", name, "0x" + account.code.hex())
        for slot, value in account.storage.items():
            ask("anvil_setStorageAt", name, hex(slot), f"0x{value:064x}")
    access_list = listed(scenario)
    ask("anvil_setNextBlockBaseFeePerGas", hex(header.base_fee_per_gas or 0))
    ask("evm_setNextBlockTimestamp", hex(header.timestamp))
    sent = ask("eth_sendRawTransaction", "0x" + scenario.raw_transaction().hex())
    receipt = None
    while receipt is None:  # It mines a moment later, and traces of the unmined are empty.
        receipt = ask("eth_getTransactionReceipt", sent)
    answers = {
        name: shortened(name, ask("debug_traceTransaction", sent, of))
        for name, of in REQUESTS.items()
    }
    answers["parity"] = ask("trace_transaction", sent)
    replayed = ask("trace_replayBlockTransactions", receipt["blockNumber"], ["stateDiff"])
    answers["stateDiff"] = replayed[0]["stateDiff"]
    for name in OTTERSCANS:
        answers[name] = ask(name, sent)
    answers["accessList"] = access_list
    answers["gasUsed"] = receipt["gasUsed"]
    ask("evm_revert", snapshot)
    return answers


def main() -> None:
    """Start anvil, record its answers, stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("anvil", type=Path)
    arguments = parser.parse_args()
    config = ChainConfig()
    command = [str(arguments.anvil), "--port", str(PORT), "--hardfork", "prague", "--silent"]
    command += ["--chain-id", str(config.chain_id), "--gas-limit", str(BLOCK_GAS_LIMIT)]
    command += ["--timestamp", str(config.genesis_timestamp_seconds), "--steps-tracing"]
    command += ["--accounts", "1"]
    with subprocess.Popen(command) as node:
        try:
            for _ in range(100):
                time.sleep(0.1)
                try:
                    ask("eth_chainId")
                    break
                except OSError:
                    continue
            answers = {scenario.name: record(scenario) for scenario in SCENARIOS}
        finally:
            node.terminate()
    print(write(answers))


if __name__ == "__main__":
    main()
