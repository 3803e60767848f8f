"""What do 10,000 blocks cost the node's page?

    python -m benchmarks.page [--blocks 10000] [--rounds 7] [--json FILE]

One chain, measured with few blocks and then with many, in Debian's Chromium without a window. In
each round a page with an empty cache is opened, and its list of blocks is scrolled from the newest
block to the oldest one, a step a frame, for a fixed number of frames. Figures are medians over the
rounds; times also depend on the machine's load, so compare the columns of one run. The node's time
is part of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tests.page.browser import running_browser
from tests.page.page_node import PageNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.page.browser import Browser, Page

FEW = 10
"""Blocks of the column to compare with."""

FRAMES = 120
"""Frames of a scroll: two seconds on a display of 60 Hz."""

RUNS = 3
"""Agent runs on the chain, so that the list of runs has rows too."""

WIDTH = 100
"""Columns of a table that goes into a file."""

OPENED = """async () => {
    const paint = await new Promise((done) => new PerformanceObserver((seen) => {
        const [first] = seen.getEntriesByName('first-contentful-paint');
        if (first) done(first);
    }).observe({ type: 'paint', buffered: true }));
    const [navigation] = performance.getEntriesByType('navigation');
    const resources = performance.getEntriesByType('resource');
    const fetched = [navigation, ...resources];
    return {
        firstPaintMs: paint.startTime,
        firstListMs: performance.getEntriesByName('listed')[0].startTime,
        bytes: fetched.reduce((sum, each) => sum + each.encodedBodySize, 0),
        nodes: document.querySelectorAll('*').length,
    };
}"""
"""Waits for the first paint: on a busy machine a document has its list before a frame is drawn."""

IS_LISTED = """(head) => {
    const cells = [...document.querySelectorAll('.blocks td:first-child')];
    if (!cells.some((cell) => cell.innerText === head)) return false;
    performance.mark('listed');
    return true;
}"""

SCROLL = """(frames) => new Promise((done) => {
    const list = document.querySelector('.blocks .list');
    const times = [];
    let most = 0;
    const draw = (time) => {
        times.push(time);
        most = Math.max(most, document.querySelectorAll('*').length);
        if (times.length > frames) {
            const gaps = times.slice(1).map((each, index) => each - times[index]);
            done({ totalMs: times.at(-1) - times[0], longestMs: Math.max(...gaps), nodes: most });
            return;
        }
        list.scrollTop = times.length / frames * (list.scrollHeight - list.clientHeight);
        requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
})"""

IS_OLDEST_LISTED = """() => [...document.querySelectorAll('.blocks tr[data-index]')]
    .some((row) => row.querySelector('td').innerText === '0'
        && row.querySelector('td.time').innerText !== '…')"""

NOW = "() => performance.now()"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSample:
    """Measurements of a page that is opened and scrolled. Times begin with its opening."""

    first_paint_ms: float
    first_list_ms: float
    """When the newest block was in the list."""

    bytes_opened: int
    """Bodies over HTTP as they were sent: the page's files and the answers of the node."""

    bytes_scrolled: int
    """The same, with the scroll."""

    nodes: int
    """Elements of the document when the list is there."""

    nodes_most: int
    """Most elements of the document in the scroll."""

    frames_a_second: float
    longest_frame_ms: float
    oldest_ms: float
    """From the end of the scroll until the oldest block's row is complete."""


LABELS = {
    "first_paint_ms": "first paint, ms",
    "first_list_ms": "newest block listed, ms",
    "bytes_opened": "bytes until then",
    "bytes_scrolled": "bytes, with the scroll",
    "nodes": "elements",
    "nodes_most": "elements in the scroll, most",
    "frames_a_second": "frames a second in the scroll",
    "longest_frame_ms": "longest frame, ms",
    "oldest_ms": "oldest block listed after it, ms",
}


def measure_page(browser: Browser, node: PageNode) -> PageSample:
    """Open a page with an empty cache, scroll through its blocks, and return the measurements."""
    head = int(node.ask("eth_blockNumber"), 16)
    with browser.page(f"{node.url}/#/") as page:
        page.wait_for(IS_LISTED, f"{head:,}")
        opened = page.evaluate(OPENED)
        scrolled = page.evaluate(SCROLL, FRAMES)
        return PageSample(
            first_paint_ms=opened["firstPaintMs"],
            first_list_ms=opened["firstListMs"],
            bytes_opened=opened["bytes"],
            nodes=opened["nodes"],
            nodes_most=scrolled["nodes"],
            frames_a_second=FRAMES / scrolled["totalMs"] * 1_000,
            longest_frame_ms=scrolled["longestMs"],
            oldest_ms=_wait_for_oldest(page),
            bytes_scrolled=page.evaluate(OPENED)["bytes"],
        )


def _wait_for_oldest(page: Page) -> float:
    before = float(page.evaluate(NOW))
    page.wait_for(IS_OLDEST_LISTED)
    return float(page.evaluate(NOW)) - before


def measure(blocks: int, rounds: int, console: Console) -> dict[int, list[PageSample]]:
    """Measure the page of a chain with few blocks, then with many; return samples by block count.

    Input: rounds: pages that count for each; one more warms up.
    """
    samples: dict[int, list[PageSample]] = {}
    with PageNode() as node, running_browser() as browser:
        for _ in range(RUNS):
            node.mined(node.instruct("Deposit 10 USDC"))
        for count in (FEW, blocks):
            node.ask("anvil_mine", hex(count - (FEW if samples else 0)))
            console.print(f"{count:,} blocks, {rounds} rounds")
            taken = [measure_page(browser, node) for _ in range(rounds + 1)]
            samples[count] = taken[1:]
    return samples


def compute_medians(samples: Sequence[PageSample]) -> dict[str, float]:
    """Return the median of each measurement."""
    return {
        field.name: statistics.median(getattr(sample, field.name) for sample in samples)
        for field in fields(PageSample)
    }


def build_table(samples: dict[int, list[PageSample]]) -> Table:
    """Return the medians of few blocks and of many, and their ratio."""
    few, many = (compute_medians(taken) for taken in samples.values())
    table = Table("", *(f"{count:,} blocks" for count in samples), "ratio", title="the node's page")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, label in LABELS.items():
        ratio = f"{many[name] / few[name]:.2f}" if few[name] else ""
        table.add_row(label, f"{few[name]:,.0f}", f"{many[name]:,.0f}", ratio)
    return table


def as_json(samples: dict[int, list[PageSample]]) -> dict[str, object]:
    """Return the medians and all samples by block count."""
    return {
        "frames": FRAMES,
        "medians": {str(count): compute_medians(taken) for count, taken in samples.items()},
        "samples": {
            str(count): [asdict(sample) for sample in taken] for count, taken in samples.items()
        },
    }


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=10_000, help="blocks of the long chain")
    parser.add_argument("--rounds", type=int, default=7, help="pages of each chain that count")
    parser.add_argument("--json", type=Path, help="write all samples to this file as well")
    options = parser.parse_args()
    if options.blocks <= FEW:
        parser.error(f"--blocks {options.blocks}: must be more than {FEW}")
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: must be at least 1")
    samples = measure(options.blocks, options.rounds, Console(stderr=True))
    Console(width=None if sys.stdout.isatty() else WIDTH).print(build_table(samples))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(samples), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
