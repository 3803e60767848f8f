"""An info agent of a council is ended by `kill -9` at every moment, and blocks are removed.

Each request is committed to once and revealed once, with the answer that was kept first, whatever
the process would answer now; nothing that it earned stays behind.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode
from eth_keys.datatypes import PrivateKey

from tests.clients.running_node import running_node
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.council.council_chain import NOBODY, CouncilChain

if TYPE_CHECKING:
    from tests.samples import Sample

ROOT = Path(__file__).resolve().parents[1]
KEY = PrivateKey(b"\x44" * 32)
REORG_DEPTH = 2
DISTRIBUTED, RIGHT = 10, 1
"""`Phase` and `Outcome`."""

MOMENTS: tuple[dict[str, str], ...] = (
    {"event": "computing"},
    {"event": "kept"},
    *(
        {"event": event, "kind": kind}
        for kind in ("commit", "reveal", "distributeRewards")
        for event in ("signed", "sent", "mined")
    ),
    {"event": "ended"},
)


def start(chain: CouncilChain, store: Path, moment: dict[str, Any] | None) -> subprocess.Popen[str]:
    words = [chain.url, chain.oracle, KEY.to_bytes().hex(), str(store)]
    words += [] if moment is None else [json.dumps(moment)]
    command = [sys.executable, "-m", "tests.council_participant", *words]
    with store.with_suffix(".log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, text=True)


@pytest.mark.slow
@pytest.mark.sample(count=6, seed=27)
def test_every_answer_is_the_one_that_was_kept(tmp_path: Path, sample: Sample) -> None:
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at
    moments = list(MOMENTS) * (sample.count // len(MOMENTS) + 1)
    chance.shuffle(moments)
    store, reorganizations = tmp_path / "store", 0
    with running_node(tmp_path) as node:
        chain = CouncilChain(node.ask, node.url)
        account = chain.fund(KEY)
        for moment in moments[: sample.count]:
            number = chain.ask()
            chain.ask_node("anvil_mine", hex(REORG_DEPTH + 1))  # The question stays.
            process = start(chain, store, {**moment, "request": number})
            status = process.wait(timeout=HANG_SECONDS)
            assert status == -signal.SIGKILL, store.with_suffix(".log").read_text()[-3_000:]
            if chance.random() < 1 / 3:
                chain.ask_node("anvil_reorg", REORG_DEPTH, [])
                reorganizations += 1
        last = start(chain, store, None)
        try:
            wait_for_end(chain, account, last, sample.count)
        finally:
            last.terminate()
            last.wait(timeout=HANG_SECONDS)
        for number in range(1, sample.count + 1):
            check_request(chain, store, account, number)
    sample.figures.update({"kills": sample.count, "reorganizations": reorganizations})


def wait_for_end(
    chain: CouncilChain, account: str, process: subprocess.Popen[str], count: int
) -> None:
    end = time.monotonic() + HANG_SECONDS
    numbers = range(1, count + 1)
    while not (
        all(chain.read("phaseOf", number)[0] == DISTRIBUTED for number in numbers)
        and chain.read("claimable", NOBODY, account) == 0
    ):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.2)


def check_request(chain: CouncilChain, store: Path, account: str, number: int) -> None:
    """Check that one commitment and one reveal are on the chain, those of the store."""
    [committed] = chain.find_events("AgentCommitted", number)
    [revealed] = chain.find_events("AgentRevealed", number)
    _, commitment = decode(["address", "bytes32"], bytes.fromhex(committed["data"][2:]))
    _, answer = decode(["address", "bytes"], bytes.fromhex(revealed["data"][2:]))
    connection = sqlite3.connect(store)
    rows = connection.execute(
        "SELECT answer, commitment FROM answers WHERE request_id = ?", (number.to_bytes(32),)
    ).fetchall()
    connection.close()
    assert rows == [(answer, commitment)]
    assert chain.read("outcomeOf", number, account) == RIGHT
