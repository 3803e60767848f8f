from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

from training.options import SHAPING, parse_options

NEEDED = ["data.gz", "--base", "base.gguf", "--out", "out"]


def test_the_defaults_adapt_every_matrix_for_one_epoch() -> None:
    options = parse_options(NEEDED)
    assert (options.rank, options.learning_rate, options.max_tokens) == (16, 8e-4, 2_048)
    assert options.layers == tuple(range(30))
    assert len(options.parts) == 7
    assert (options.epochs, options.steps, options.minutes) == (1.0, None, None)
    assert set(options.shaping()) == set(SHAPING)


def test_layers_and_parts_are_named_in_short() -> None:
    options = parse_options([*NEEDED, "--layers", "8-10", "--parts", "ffn_up,attn_q"])
    assert options.layers == (8, 9, 10)
    assert options.parts == ("attn_q", "ffn_up")
    assert parse_options([*NEEDED, "--layers", "4"]).layers == (4,)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rank", "0"], "0: must be at least 1"),
        (["--dropout", "1"], "1: must be from 0 to below 1"),
        (["--layers", "9-8"], "9-8: not a range of layers"),
        (["--parts", "attn_x"], "unknown matrices ['attn_x']: must be"),
        (["--steps", "3", "--minutes", "5"], "not allowed with"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_options([*NEEDED, *arguments])
    assert complaint in capsys.readouterr().err
