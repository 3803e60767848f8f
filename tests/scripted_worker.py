"""A callback worker in a process of its own, with a scripted model or the real one; tests kill it.

    python -m tests.scripted_worker URL ORACLE KEY STORE [OPTIONS IN JSON]

It prints its events as JSON lines. With `die_at` in the options it kills itself at an event, before
whatever follows it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from eth_keys.datatypes import PrivateKey

from pyevm_agents.cli.options.worker import run_until_signal
from pyevm_agents.client.transaction_manager import FeeSettings
from pyevm_agents.config import ChainConfig
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.recomputation import ForkComputer, HostedModels, open_computer
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.oracle.worker import Worker, WorkerSettings
from pyevm_agents.workers.identity import StoreIdentity
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.oracle.oracle_chain import count_and_answer


class PrintingLog:
    """Prints events; ends the process at one of them."""

    def __init__(self, die_at: str = "") -> None:
        self._die_at = die_at
        self._lock = threading.Lock()

    def write(self, event: str, **fields: object) -> None:
        with self._lock:
            line = {"time": round(time.time(), 3), "event": event, **serialize(fields)}
            print(json.dumps(line), flush=True)  # noqa: T201 - who started it reads it
        if event == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def serialize(value: Any) -> Any:  # noqa: ANN401 - fields of events
    """Return fields of an event in JSON."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, dict):
        return {name: serialize(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [serialize(each) for each in value]
    return value


def host_script() -> HostedModels:
    """Return the model that counts, as a worker's models."""
    config = ChainConfig(models=(PROFILE,), profile_fingerprint='{"engine":"none"}')
    return HostedModels(config=config, models={PROFILE.name: ByteModel(count_and_answer)})


def main() -> None:
    url, oracle, key_text, store_path, *more = sys.argv[1:]
    options: dict[str, Any] = json.loads(more[0]) if more else {}
    key = PrivateKey(bytes.fromhex(key_text))
    address = bytes.fromhex(oracle[2:])
    client = OracleClient(url, address, retries=0)
    chain_id = client.read_chain_id()
    identity = StoreIdentity.read(client, chain_id, address, key.public_key.to_canonical_address())
    with WorkerStore(Path(store_path), identity) as store:
        is_real = options.get("model") == "default"
        computer = open_computer(url) if is_real else ForkComputer(url, host_script(), retries=1)
        worker = Worker(
            client,
            computer,
            store,
            key,
            chain_id=chain_id,
            settings=WorkerSettings(
                confirmations=options.get("confirmations", 1),
                turn_seconds=options.get("turn_seconds", 60),
                poll_seconds=options.get("poll_seconds", 0.1),
            ),
            fees=FeeSettings(**options.get("fees", {})),
            log=PrintingLog(options.get("die_at", "")),
        )
        run_until_signal(worker)


if __name__ == "__main__":
    main()
