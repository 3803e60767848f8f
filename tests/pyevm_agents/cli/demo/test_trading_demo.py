"""`pyevm-agents demo --scenario trading`: its options, the scripted ideal, and the real model."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.scenarios.trading.demo import RECORDED_POST_COUNT
from pyevm_agents.scenarios.trading.posts import read_posts
from tests.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

TRADING = ["demo", "--scenario", "trading", "--no-store"]
POSTS = read_posts().posts


def run(*words: str) -> Result:
    return CliRunner().invoke(main, [*TRADING, *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prompt", "Buy"], "--prompt is for --scenario wallet and callback: trading has posts"),
        (["--posts", "0"], "0 is not in the range"),
        (["--posts", "41"], "41 is not in the range"),
        (["--chain-id", "5"], "--chain-id is for --scenario swap"),
        (["--ideal", "--record", "run.json"], "--record: records what the model wrote"),
        (["--html", "/nowhere/page.html"], "/nowhere"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("scenario", ["wallet", "callback", "swap"])
@pytest.mark.parametrize("words", [["--posts", "2"], ["--html", "page.html"], ["--ideal"]])
def test_options_of_trading_are_refused_for_other_scenarios(
    scenario: str, words: list[str]
) -> None:
    done = CliRunner().invoke(main, ["demo", "--scenario", scenario, *words])
    assert done.exit_code == 2
    assert f"{words[0]} is for --scenario trading" in done.stderr


class Page(HTMLParser):
    """Reads tags, labels and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.labels += [str(found["aria-label"])] if found.get("role") == "img" else []
        self.links += [str(found[name]) for name in ("href", "src") if name in found]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.slow
def test_the_ideal_ends_as_the_ideal(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    count = RECORDED_POST_COUNT
    done = run("--ideal", "--json", "--posts", str(count), "--html", str(page))
    assert done.exit_code == 0, done.output
    form = json.loads(done.stdout)
    assert (form["scenario"], form["isIdeal"], form["posts"]) == ("trading", True, count)
    assert (form["endedAsIdeal"], form["differences"]) == (True, [])
    sent = form["transactions"]
    assert [each["post"] for each in sent] == [post.text for post in POSTS[:count]]
    assert [each["status"] for each in sent] == [int(p.do_pools_follow) for p in POSTS[:count]]
    assert {"hash", "status", "gas", "steps"} <= set(sent[0])
    assert all(len(each["steps"]) >= 6 for each in sent)

    found = Page(page.read_text())
    assert "script" not in found.tags
    assert all(link.startswith("#") for link in found.links)
    assert found.tags.count("svg") == 4  # Each asset in two widths.
    assert "ETH at 4 posts: prices from 2,805.00 to 2,932.45 USDT" in found.labels[0]
    assert any("SlippageTooHigh" in text for text in found.texts)
    assert "4 of 4" in found.texts


@pytest.mark.slow
def test_the_default_model_decides(tmp_path: Path) -> None:
    file = tmp_path / "trading.json"
    done = run("--posts", "1", "--record", str(file))
    assert done.exit_code == 0, done.output
    assert "1 of 1 ended as the ideal" in done.stdout
    chain = Replay(read_fixture(file)).finish()
    assert set(chain.numeric_models) == {"sentiment", "forecast", "risk"}
    lines = done.stdout.splitlines()
    assert any(line.startswith("ETH  price ") for line in lines)
    assert "     ▲ bought  ▼ sold  · no trade  ✗ undone" in lines
    shown = (
        (ROOT / "docs/models.md").read_text().partition("$ pyevm-agents demo --scenario trading")
    )
    text = shown[2].partition("```")[0].strip("\n").splitlines()
    # "…" stands for what is left out, and times differ.
    first = [line for line in text[: text.index("…")] if "…" not in line]
    assert len(first) > 3
    assert [line for line in first if line not in lines] == []
