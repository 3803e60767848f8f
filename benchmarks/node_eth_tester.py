"""eth-tester in a process of its own, run by `benchmarks.node` in an environment that has it.

Reads a line of JSON, a list of requests; writes one, with their duration and failures.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from eth_tester import EthereumTester, PyEVMBackend

PATH = "m/44'/60'/0'/0"


def main() -> None:
    """Answer until there are no more lines."""
    backend = PyEVMBackend.from_mnemonic(sys.argv[1], hd_path=PATH)
    tester: Any = EthereumTester(backend)
    tester.get_block_by_number("latest")
    print(json.dumps({"isReady": True}), flush=True)
    for line in sys.stdin:
        snapshot: object = None
        asks = json.loads(line)
        started, used = time.perf_counter(), time.process_time()
        for method, params in asks:
            if method == "eth_sendRawTransaction":
                tester.send_raw_transaction(params[0])
            elif method == "eth_call":
                tester.call(params[0])
            elif method == "eth_estimateGas":
                tester.estimate_gas(params[0])
            elif method == "evm_snapshot":
                snapshot = tester.take_snapshot()
            else:
                tester.revert_to_snapshot(snapshot)
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        print(json.dumps({"seconds": seconds, "cpu": cpu}), flush=True)


if __name__ == "__main__":
    main()
