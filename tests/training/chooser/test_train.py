from __future__ import annotations

import gzip
import itertools
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")

import torch

from pyevm_agents.models.chooser.wordpiece import WordPiece
from tests.training.chooser.tiny_chooser import PIECES, write_base, write_pairs
from training import pause
from training.chooser import evaluate, train
from training.chooser.batches import Examples, Order, read_training_data
from training.chooser.network import load_chooser
from training.stop import STOPPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Restore the process-wide settings of a run after the test."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    torch.use_deterministic_algorithms(mode=False)


def arguments(folder: Path, out: str, *more: str) -> list[str]:
    base, data = folder / "base", folder / "train.jsonl.gz"
    if not base.exists():
        write_base(base)
        write_pairs(data, choices=30)
    shape = ["--batch", "16", "--warmup", "2", "--fixed-layers", "1", "--log-steps", "2"]
    return [str(data), "--base", str(base), "--out", str(folder / out), *shape, *more]


def read(folder: Path, out: str, name: str = train.CHECKPOINT) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(folder / out / name, weights_only=True)
    return found


def log_of(folder: Path, out: str) -> list[dict[str, Any]]:
    lines = (folder / out / train.LOG).read_text().splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if "seconds" not in name}
        for line in lines
    ]


def assert_equal(one: object, other: object) -> None:
    if isinstance(one, dict):
        assert isinstance(other, dict)
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("stops", [1, 3])
def test_an_interrupted_run_ends_bit_for_bit_like_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: int
) -> None:
    options = ["--steps", "7"]
    assert train.main(arguments(tmp_path, "whole", *options)) == 0
    resume: list[str] = []
    for _ in range(stops):
        asked = iter([False, True])
        with monkeypatch.context() as patch:
            patch.setattr("training.stop.Stop.__call__", lambda _, asked=asked: next(asked))
            assert train.main(arguments(tmp_path, "parts", *options, *resume)) == STOPPED
        resume = ["--resume"]
    assert train.main(arguments(tmp_path, "parts", *options, *resume)) == 0
    whole, parts = read(tmp_path, "whole"), read(tmp_path, "parts")
    for found in (whole, parts):
        del found["elapsed_seconds"]
    assert_equal(whole, parts)
    assert log_of(tmp_path, "whole") == log_of(tmp_path, "parts")
    assert [line["step"] for line in log_of(tmp_path, "parts")] == [2, 4, 6, 7]
    assert_equal(
        read(tmp_path, "whole", train.CHOOSER)["state"],
        read(tmp_path, "parts", train.CHOOSER)["state"],
    )


def test_the_network_has_the_agreed_names(tmp_path: Path) -> None:
    assert train.main(arguments(tmp_path, "run", "--steps", "1")) == 0
    found = read(tmp_path, "run", train.CHOOSER)
    assert {name.partition(".")[0] for name in found["state"]} == {
        "encoder",
        "head_call",
        "head_mood",
        "late0",
    }
    assert "encoder.encoder.layer.1.attention.self.query.weight" in found["state"]
    assert "encoder.embeddings.LayerNorm.bias" in found["state"]
    assert found["state"]["head_mood.2.weight"].shape == (1, 64)
    assert found["config"]["late0"] == found["state"]["late0"].item()


def test_a_run_learns(tmp_path: Path) -> None:
    options = ["--steps", "60", "--learning-rate", "0.01", "--log-steps", "20"]
    assert train.main(arguments(tmp_path, "run", *options)) == 0
    losses = [line["call_loss"] for line in log_of(tmp_path, "run")]
    assert losses[-1] < 0.7 * losses[0]


def test_a_paused_run_saves_and_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    assert pause.main([str(tmp_path / "run")]) == 0
    monkeypatch.setattr(train, "PAUSE_SECONDS", 0)
    asked = itertools.chain([False, False], itertools.repeat(object=True))
    with monkeypatch.context() as patch:
        patch.setattr("training.stop.Stop.__call__", lambda _: next(asked))
        assert train.main(arguments(tmp_path, "run", "--steps", "3")) == STOPPED
    assert "Paused after 0 steps" in capsys.readouterr().err
    assert pause.main([str(tmp_path / "run"), "--end"]) == 0
    assert train.main(arguments(tmp_path, "run", "--steps", "3", "--resume")) == 0


def test_a_run_is_not_mixed_with_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(arguments(tmp_path, "run", "--steps", "1")) == 0
    for more, problem in [
        (["--steps", "1"], "already exists; go on with --resume"),
        (["--steps", "2", "--resume"], "with total 1, not 2"),
        (["--steps", "1", "--resume", "--seed", "2"], "with shaping"),
    ]:
        assert train.main(arguments(tmp_path, "run", *more)) == 1
        assert problem in capsys.readouterr().err
    write_pairs(tmp_path / "train.jsonl.gz", 40, choices=30)
    assert train.main(arguments(tmp_path, "run", "--steps", "1", "--resume")) == 1
    assert "with data_sha256" in capsys.readouterr().err
    (tmp_path / "run" / train.CHECKPOINT).write_bytes(b"PK")
    assert train.main(arguments(tmp_path, "run", "--steps", "1", "--resume")) == 1
    assert "can't be read" in capsys.readouterr().err
    (tmp_path / "train.jsonl.gz").write_bytes(b"text")
    assert train.main(arguments(tmp_path, "other", "--steps", "1")) == 1
    assert "write it with training.chooser.dataset" in capsys.readouterr().err


def test_an_epoch_has_every_example_once_in_batches_of_like_length() -> None:
    lengths = [3 + place % 17 for place in range(200)]
    examples = Examples(tokens=tuple((0,) * n for n in lengths), sentences=(1,) * 200)
    order = Order(examples.lengths, batch=8, seed=1, name="calls")
    epochs = [
        [order.batch(step) for step in range(start, start + order.batches)]
        for start in (0, order.batches)
    ]
    for epoch in epochs:
        assert sorted(itertools.chain(*epoch)) == [*range(200)]
        spread = [max(lengths[p] for p in one) - min(lengths[p] for p in one) for one in epoch]
        assert sum(spread) / len(spread) < 2
    assert epochs[0] != epochs[1]
    assert order.batch(0) == epochs[0][0]
    assert Order(examples.lengths, batch=8, seed=1, name="moods").batch(0) != epochs[0][0]


def test_the_moods_are_those_that_are_said(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "train.jsonl.gz", choices=20)
    data = read_training_data(path, WordPiece(PIECES))
    with gzip.open(path, "rt") as file:
        said = [row["orders"] for row in map(json.loads, file) if row.get("orders") is not None]
    assert len(data.calls) == 90
    assert list(data.moods.labels) == said


def test_a_choice_is_a_row_of_its_own_calls_and_none(tmp_path: Path) -> None:
    data = read_training_data(
        write_pairs(tmp_path / "train.jsonl.gz", choices=20), WordPiece(PIECES)
    ).choices
    assert len(data) == 20
    places = [3, 0, 7, 11]
    counts = [data.starts[place + 1] - data.starts[place] for place in places]
    assert set(counts) == {2, 3}
    assert data.batch(places).tokens.shape[0] == sum(counts)
    table = data.tabulate(torch.arange(1.0, sum(counts) + 1), places)
    given = [one for row in table[:, :-1].tolist() for one in row if one > -torch.inf]
    assert given == [*range(1, sum(counts) + 1)]
    assert table[:, -1].tolist() == [0.0] * len(places)
    rights = [data.rights[place] for place in places]
    expected = [3 if right is None else right for right in rights]
    assert data.label(places, 3).tolist() == expected


def test_what_training_drops_is_kept_in_use(tmp_path: Path) -> None:
    assert train.main(arguments(tmp_path, "run", "--steps", "1")) == 0
    found = read(tmp_path, "run", train.CHOOSER)
    chooser = load_chooser(found["state"], found["config"])
    chooser.encoder.fix(1)
    batch = Examples(tokens=((2, 5, 6, 3, 7, 3),), sentences=(2,)).batch([0])
    in_use = [chooser.score_calls(batch).item() for _ in range(3)]
    assert len(set(in_use)) == 1
    chooser.train()
    assert len({chooser.score_calls(batch).item() for _ in range(3)}) > 1
    assert not chooser.encoder.encoder["layer"][0].training


def test_a_chooser_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train.main(arguments(tmp_path, "run", "--steps", "1")) == 0
    write_pairs(tmp_path / "pairs.jsonl.gz")
    rows: list[dict[str, object]] = [
        {"clause": "a b", "calls": ["a = u", "z = w"], "right": 0, "setting": "plain"},
        {"clause": "a b", "calls": ["z = w"], "right": None, "setting": "none"},
        {"clause": "a", "calls": [], "right": None, "setting": "idle"},
    ]
    with gzip.open(tmp_path / "choices.jsonl.gz", "wt") as file:
        for part in ("calibration", "benchmark"):
            for row in rows:
                file.write(json.dumps(row | {"part": part, "wording": "orders"}) + "\n")
    out = tmp_path / "figures.json"
    given = [str(tmp_path / "run" / train.CHOOSER), str(tmp_path)]
    base = ["--base", str(tmp_path / "base")]
    assert evaluate.main([*given, *base, "--json", str(out)]) == 0
    tables = json.loads(out.read_text())["tables"]
    assert tables["choices: benchmark"]["tool, none not admitted"]["right"][1] == 1
    assert tables["choices: benchmark"]["none: with none"]["right"][1] == 1
    assert "choices: benchmark, confidence of calibration" in tables
    assert "pairs: calibration" in capsys.readouterr().out
    assert evaluate.main([str(out), str(tmp_path), *base]) == 1
