"""A council's agent and its judges are ended by `kill -9` at every moment, and blocks are removed.

Each request is committed to once and revealed once, with the answer that was kept first, and judged
by the verdict that was kept first, whatever the process would say now. Nothing that was earned
stays behind.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from itertools import chain as join_lists
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey

from tests.clients.running_node import running_node
from tests.council_stages import REORG_DEPTH, STAGES
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from tests.council_stages import Moment, Stage
    from tests.samples import Sample

ROOT = Path(__file__).resolve().parents[1]
KEYS = [PrivateKey(bytes([0x44 + place]) * 32) for place in range(len(STAGES))]
POLL_SECONDS = 0.1


def start(stage: Stage, moment: Moment | None) -> subprocess.Popen[str]:
    chain = stage.chain
    words = [stage.role, chain.url, chain.oracle, stage.key.to_bytes().hex(), str(stage.store)]
    words += [] if moment is None else [json.dumps(moment)]
    command = [sys.executable, "-m", "tests.council_participant", *words]
    with stage.store.with_suffix(".log").open("a") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, text=True)


def choose_kills(chance: random.Random, count: int) -> list[tuple[int, Moment]]:
    """Return places in `STAGES` with moments: the stages by turns, each moment of one in turn."""
    rounds = []
    for place, stage in enumerate(STAGES):
        moments = list(stage.moments)
        chance.shuffle(moments)
        repeated = (moments * (count // len(moments) + 1))[:count]
        rounds.append([(place, moment) for moment in repeated])
    return [*join_lists.from_iterable(zip(*rounds, strict=True))][:count]


def kill(stage: Stage, moment: Moment) -> None:
    """Have a process end itself at a moment of the next request, while others do their part."""
    number = stage.begin()
    is_money = moment.get("kind") == "withdraw"  # Of a token: zeros are the native asset.
    process = start(stage, {**moment, "request": 0 if is_money else number})
    end = time.monotonic() + HANG_SECONDS
    while process.poll() is None:
        stage.serve()
        assert time.monotonic() < end, (moment, tell(stage))
        time.sleep(POLL_SECONDS)
    assert process.returncode == -signal.SIGKILL, tell(stage)


def tell(stage: Stage) -> str:
    return stage.store.with_suffix(".log").read_text()[-3_000:]


def finish(stage: Stage) -> None:
    """Run a process until all requests of a stage have ended, and check what came out."""
    process = start(stage, None)
    try:
        end = time.monotonic() + HANG_SECONDS
        while not stage.has_ended:
            assert process.poll() is None, tell(stage)
            assert time.monotonic() < end, tell(stage)
            stage.serve()
            time.sleep(POLL_SECONDS)
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)
    for number in range(1, stage.count + 1):
        stage.check(number)


@pytest.mark.slow
@pytest.mark.sample(count=4, seed=27)
def test_every_answer_is_the_one_that_was_kept(tmp_path: Path, sample: Sample) -> None:
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at
    kills = choose_kills(chance, sample.count)
    reorganizations = 0
    with running_node(tmp_path) as node, ExitStack() as stack:
        stages = [
            stack.enter_context(closing(kind(node.ask, node.url, tmp_path, key)))
            for kind, key in zip(STAGES, KEYS, strict=True)
        ]
        for place, moment in kills:
            kill(stages[place], moment)
            if chance.random() < 1 / 3:
                node.ask("anvil_reorg", REORG_DEPTH, [])
                reorganizations += 1
        for stage in stages:
            finish(stage)
    killed = [STAGES[place].role for place, _ in kills]
    sample.figures.update(
        {
            "kills": sample.count,
            "killed_agents": killed.count("agent"),
            "killed_judges": killed.count("judge"),
            "reorganizations": reorganizations,
        }
    )
