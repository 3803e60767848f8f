"""The plot of reliability: from the figures, and a clear error without them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from training.chooser import plots

if TYPE_CHECKING:
    from pathlib import Path


def test_a_plot_has_a_panel_for_each_output_and_part(tmp_path: Path) -> None:
    rows = {
        f"{output} 0.{tenth} to 0.{tenth + 1}": {"right": [tenth, 9, 0.1, 0.9]}
        for output in plots.OUTPUTS
        for tenth in (2, 7)
    }
    tables = {f"reliability: {part}": rows for part in plots.PARTS}
    figures, plot = tmp_path / "figures.json", tmp_path / "plot.svg"
    figures.write_text(json.dumps({"tables": tables}))
    bins = plots.read_bins(tables, "contracts", "mood")
    assert [one.right.count for one in bins] == [2, 7]
    assert [one.confidence for one in bins] == pytest.approx([0.25, 0.75])
    assert plots.main([str(figures), str(plot)]) == 0
    text = plot.read_text()
    assert text.startswith("<?xml")
    assert text.count('id="axes_') == len(plots.OUTPUTS) * len(plots.PARTS)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tables": {}}'])
def test_what_is_no_figures_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    figures, plot = tmp_path / "figures.json", tmp_path / "plot.svg"
    figures.write_text(text)
    assert plots.main([str(figures), str(plot)]) == 1
    assert "training.chooser.evaluate" in capsys.readouterr().err
    assert not plot.exists()
