"""Measure the EVM yardsticks on anvil, with the same transactions.

Mining is timed over HTTP, in a separate request. Each sample is a large block less a small one of
the same case, which cancels HTTP and the fixed cost of a block. Signatures are excluded, as anvil
checks them when transactions are sent; on our VM they are included.
"""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyevm_agents.bench.evm.cases import CASES
from pyevm_agents.bench.evm.runner import BLOCK_GAS, estimate_ns_per_gas, sign_transactions
from pyevm_agents.bench.measurement.results import Yardstick
from pyevm_agents.bench.measurement.rounds import time_in_rounds, time_work
from pyevm_agents.config import DEFAULT_CHAIN_ID
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.devnet.node_process import PROGRAM, AnvilError, read_version, run_anvil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eth_typing import Address

    from pyevm_agents.bench.evm.case import BenchTransaction, EvmCase
    from pyevm_agents.bench.measurement.rounds import BenchSettings

ANSWER_SECONDS = 120.0

LARGE_SECONDS = 0.1
"""Least seconds of a large block: a request takes a hundredth of it."""

LARGE_GAS = 50_000_000
"""Most gas of a large block. Cold storage costs most for its time; its slots fill most of the block
before.
"""

GROWTH = 4
SMALL_TIMES = 1
ROUNDS = 3
"""Rounds, of some tenths of a second each: more would take longer than all of our VM's."""


def measure_yardsticks(
    setting: BenchSettings, cases: Sequence[EvmCase] = CASES
) -> tuple[Yardstick, ...]:
    """Measure the EVM's cases on anvil; in quick mode, only the cases of a quick run.

    Raises: AnvilError: anvil is missing, or does not behave as expected.
    """
    if setting.anvil is None:
        raise AnvilError(f"there is no program {PROGRAM!r} on the PATH")
    wanted = [case for case in cases if case.is_quick or not setting.is_quick]
    setting.observer.begin_part("EVM on anvil", len(wanted) * (1 + ROUNDS))
    vm = f"{PROGRAM} {read_version(setting.anvil)}"
    with connect_anvil(setting.anvil) as anvil:
        large: dict[str, int] = {}
        gas: dict[str, int] = {}
        for case in wanted:
            anvil.set_codes(case.codes)
            large[case.name], gas[case.name] = _find_large_block(anvil, case)
            setting.observer.finish_step(case.title)

        def make_timer(case: EvmCase) -> Callable[[], float]:
            def time_blocks() -> float:
                most = anvil.sample(case, large[case.name]).seconds
                return most - anvil.sample(case, SMALL_TIMES).seconds

            return time_blocks

        seconds = time_in_rounds(
            setting, {case.name: make_timer(case) for case in wanted}, rounds=ROUNDS
        )
    return tuple(
        Yardstick(
            name=case.name,
            title=case.title,
            vm=vm,
            gas=gas[case.name],
            seconds=seconds[case.name],
            ns_per_gas=estimate_ns_per_gas(seconds[case.name], gas[case.name]),
            is_worst_case=case.is_worst_case,
        )
        for case in wanted
    )


def _find_large_block(anvil: Anvil, case: EvmCase) -> tuple[int, int]:
    """Return the repetitions of a case in a large block, and the gas less a small block's."""
    small = anvil.sample(case, SMALL_TIMES)
    times = max(case.times, SMALL_TIMES + 1)
    while True:
        sample = anvil.sample(case, times)
        gas = sample.gas - small.gas
        most = SMALL_TIMES + LARGE_GAS * (times - SMALL_TIMES) // gas
        most = min(most, case.most_times or most)
        if sample.seconds - small.seconds >= LARGE_SECONDS or times >= most:
            return times, gas
        times = min(GROWTH * times, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnvilSample:
    """A block mined by anvil."""

    gas: int
    seconds: float


class Anvil:
    """A client of an anvil process that mines on request."""

    def __init__(self, url: str) -> None:
        """Connect to this URL."""
        self._url = url

    def set_codes(self, codes: Mapping[Address, bytes]) -> None:
        """Set the code of accounts."""
        self._call_batch(
            [("anvil_setCode", [_encode_hex(at), _encode_hex(code)]) for at, code in codes.items()]
        )

    def sample(self, case: EvmCase, times: int) -> AnvilSample:
        """Run a case `times` times in a block, then revert to the state before.

        Raises: AnvilError: a transaction failed, or is not in the block.
        """
        snapshot = self.call("evm_snapshot")
        try:
            before = case.before(times)
            if before:
                self._mine(case, before)
            return self._mine(case, case.build_transactions(times))
        finally:
            self.call("evm_revert", snapshot)

    def _mine(self, case: EvmCase, asks: Sequence[BenchTransaction]) -> AnvilSample:
        count = self.call("eth_getTransactionCount", _encode_hex(DEVELOPMENT_ADDRESS), "latest")
        raw = sign_transactions(asks, first_nonce=int(count, 16))
        self._call_batch([("eth_sendRawTransaction", [_encode_hex(each)]) for each in raw])
        seconds = time_work(lambda: self.call("evm_mine"))
        receipts = self.call("eth_getBlockReceipts", "latest")
        done = sum(receipt["status"] == "0x1" for receipt in receipts)
        if done != len(raw):
            raise AnvilError(f"of {len(raw)} transactions of {case.name!r}, anvil did {done}")
        gas = sum(int(receipt["gasUsed"], 16) for receipt in receipts)
        return AnvilSample(gas=gas, seconds=seconds)

    def call(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        """Call an RPC method.

        Raises: AnvilError: the response is an error, or there is no response.
        """
        return self._call_batch([(method, list(params))])[0]

    def _call_batch(self, requests: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        if not requests:
            return []
        body = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(requests)
        ]
        request = urllib.request.Request(  # noqa: S310 - a loopback address
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:  # noqa: S310 - as above
                answers = json.load(response)
        except (OSError, ValueError) as error:
            raise AnvilError(f"anvil does not answer {requests[0][0]}: {error}") from error
        for answer, (method, _) in zip(answers, requests, strict=True):
            if "error" in answer:
                raise AnvilError(f"anvil refuses {method}: {answer['error']}")
        return [answer["result"] for answer in answers]


@contextmanager
def connect_anvil(program: Path) -> Iterator[Anvil]:
    """Run anvil for the duration of the context, with blocks on request.

    Raises: AnvilError: anvil does not start.
    """
    options = ("--hardfork", "prague", "--no-mining", "--gas-limit", str(BLOCK_GAS))
    with run_anvil(program, *options, "--chain-id", str(DEFAULT_CHAIN_ID)) as url:
        yield Anvil(url)


def _encode_hex(data: bytes) -> str:
    return "0x" + data.hex()
