"""Gas of knowledge bases: passages added and searched, by number of passages and kind of query.

    python -m benchmarks.retrieval [--json FILE] [--sizes 100,1000,10000] [--anvil FILE]

The contracts run on anvil, with blocks of 30,000,000 gas; gas is that of whole transactions. The
last row is a base that is made to be expensive. Other development nodes give the same figures.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.node_process import find_anvil, find_npm_anvil, run_anvil

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK_GAS = 30_000_000
TIMEOUT_SECONDS = 600.0
POLL_SECONDS = 0.01

K1, B = 1200, 750
"""BM25's parameters in thousandths: the defaults of Lucene."""

MAX_SEGMENT_BYTES = 24_575
MAX_BATCH = 255
MAX_WORD_BYTES = 32

STOP_WORDS = (
    "a an and are as at be by for from has have if in into is it its no not of on or such that "
    "the their then there these they this to was which will with"
)
"""Lucene's list for English, and a few words more."""

WORD = re.compile(r"[0-9A-Za-z]+")
STOPPED = frozenset(STOP_WORDS.split())

SIZES = (100, 1_000, 10_000)
WORDS_OF_A_PASSAGE = (20, 80)
VOCABULARY = 20_000
ZIPF_EXPONENT = 1.0
COMMON = 6
HOSTILE_COMMON = 5
HOSTILE_ABSENT = 7
MATCHES = 8

STORED = True
"""`add` keeps the texts on the chain; else their hashes."""

HOSTILE_PASSAGES = 10_000
HOSTILE_SEGMENTS = 256
HOSTILE_FILLERS = 40
"""Different words of a hostile passage that nobody asks for: they fill the segments."""


def split_words(text: str, stopped: frozenset[str] = STOPPED) -> list[str]:
    """Return the indexed words of a text, as `Words.sol` has them."""
    words = (found[0][:MAX_WORD_BYTES].lower() for found in WORD.finditer(text))
    return [word for word in words if word not in stopped]


def make_zipf_passages(count: int, seed: int) -> list[str]:
    """Return passages of made-up words, whose frequencies follow Zipf's law."""
    chance = random.Random(seed)  # noqa: S311 - a corpus
    weights = list(accumulate(rank**-ZIPF_EXPONENT for rank in range(1, VOCABULARY + 1)))
    names = [f"w{rank}" for rank in range(1, VOCABULARY + 1)]
    return [
        " ".join(chance.choices(names, cum_weights=weights, k=chance.randint(*WORDS_OF_A_PASSAGE)))
        for _ in range(count)
    ]


def make_batches(passages: Sequence[str]) -> Iterator[list[str]]:
    """Split passages into batches that one transaction adds, each as large as a segment can be."""
    batch: list[str] = []
    terms: set[str] = set()
    text_bytes = index_bytes = 0
    for passage in passages:
        words = set(split_words(passage))
        size = len(passage.encode())
        added = 6 + 2 * len(words) + 10 * len(words - terms)
        is_full = (
            len(batch) == MAX_BATCH
            or text_bytes + size > MAX_SEGMENT_BYTES
            or 3 + index_bytes + added > MAX_SEGMENT_BYTES
        )
        if batch and is_full:
            yield batch
            batch, terms, text_bytes, index_bytes = [], set(), 0, 0
            added = 6 + 12 * len(words)
        batch.append(passage)
        terms |= words
        text_bytes, index_bytes = text_bytes + size, index_bytes + added
    if batch:
        yield batch


class RefusedError(Exception):
    """A node's answer that is an error."""


@dataclass(kw_only=True)
class AnvilBase:
    """A knowledge base on anvil."""

    url: str
    stop_words: str = STOP_WORDS
    add_gas: list[int] = field(default_factory=list)
    """Gas of each transaction that added passages."""

    deploy_gas: int = 0

    @cached_property
    def account(self) -> str:
        """The first account of the node."""
        return str(self.ask("eth_accounts")[0])

    @cached_property
    def address(self) -> str:
        """The base, deployed at the first use."""
        creation = load_artifact("KnowledgeBase").encode_creation(
            self.account, self.stop_words, K1, B
        )
        receipt = self.send(None, creation)
        self.deploy_gas = int(receipt["gasUsed"], 16)
        return str(receipt["contractAddress"])

    def add(self, batch: Sequence[str]) -> int:
        """Add a batch of passages with their texts; return the gas."""
        data = load_artifact("KnowledgeBase").encode_call("add", list(batch), STORED)
        gas = int(self.send(self.address, data)["gasUsed"], 16)
        self.add_gas.append(gas)
        return gas

    def remove(self, ids: Sequence[int]) -> int:
        """Remove passages; return the gas."""
        data = load_artifact("KnowledgeBase").encode_call("remove", list(ids))
        return int(self.send(self.address, data)["gasUsed"], 16)

    def search(self, query: str, count: int = MATCHES) -> list[tuple[int, int]]:
        """Return ids and scores, the best one first."""
        return [(int(one), int(score)) for one, score in self.read("search", query, count)]

    def measure_search(self, query: str, count: int = MATCHES) -> int:
        """Return the gas of a transaction that searches."""
        data = load_artifact("KnowledgeBase").encode_call("search", query, count)
        return int(self.send(self.address, data)["gasUsed"], 16)

    def count_segments(self) -> int:
        """Return the number of segments."""
        return int(self.read("segmentCount"))

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what it returns
        """Call a function of the base; return the result.

        Raises: RefusedError: it reverts.
        """
        artifact = load_artifact("KnowledgeBase")
        call = {
            "from": self.account,
            "to": self.address,
            "data": _hex(artifact.encode_call(function, *arguments)),
        }
        output = self.ask("eth_call", call | {"gas": hex(BLOCK_GAS)}, "latest")
        return artifact.decode_result(function, bytes.fromhex(output[2:]))

    def send(self, to: str | None, data: bytes) -> Any:  # noqa: ANN401 - JSON
        """Send a transaction, which anvil mines soon; return the receipt.

        Raises: RefusedError: it fails.
        """
        form = {"from": self.account, "data": _hex(data), "gas": hex(BLOCK_GAS)}
        if to is not None:
            form["to"] = to
        transaction = self.ask("eth_sendTransaction", form)
        while (receipt := self.ask("eth_getTransactionReceipt", transaction)) is None:
            time.sleep(POLL_SECONDS)
        if receipt["status"] != "0x1":
            raise RefusedError(f"transaction failed: {receipt}")
        return receipt

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        """Ask the node.

        Raises: RefusedError: the answer is an error.
        """
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url, body.encode(), headers)  # noqa: S310 - loopback
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            answer = json.load(response)
        if "error" in answer:
            raise RefusedError(f"{method}: {answer['error']}")
        return answer["result"]


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def make_queries(passages: Sequence[str]) -> dict[str, str]:
    """Return a query of each kind for a corpus; one word each in so many passages as it says."""
    frequencies: dict[str, int] = {}
    for passage in passages:
        for word in set(split_words(passage)):
            frequencies[word] = frequencies.get(word, 0) + 1
    ranked = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    middle = len(ranked) // 20
    return {
        "an unknown word": "unheard",
        "a rare word": ranked[-1],
        "the commonest word": ranked[0],
        "three words": " ".join([ranked[-1], ranked[middle], ranked[COMMON]]),
        "the six commonest words": " ".join(ranked[:COMMON]),
        "twelve words": " ".join([*ranked[:COMMON], *ranked[middle : middle + COMMON]]),
    }


def measure_size(url: str, size: int) -> dict[str, Any]:
    """Return the gas of a base of so many passages."""
    passages = make_zipf_passages(size, seed=size)
    base = AnvilBase(url=url)
    for batch in make_batches(passages):
        base.add(batch)
    text_bytes = sum(len(one.encode()) for one in passages)
    return {
        "passages": size,
        "bytes": text_bytes,
        "segments": base.count_segments(),
        "deploy": base.deploy_gas,
        "add": sum(base.add_gas),
        "add at most": max(base.add_gas),
        "remove one": base.remove([1]),
        "search": {kind: base.measure_search(q) for kind, q in make_queries(passages).items()},
    }


def make_hostile_passages() -> tuple[list[str], str]:
    """Return passages that make a search expensive, and the query.

    Five words are in each passage: a search reads no more. Seven further words are in none. Each
    passage ranks before all earlier ones, so that all are inserted among the best.
    """
    chance = random.Random(25)  # noqa: S311 - a corpus
    common = [f"common{number}" for number in range(HOSTILE_COMMON)]
    patterns = [[chance.randint(1, 3) for _ in common] for _ in range(HOSTILE_PASSAGES)]
    patterns.sort(key=lambda counts: sum(count / (count + 1) for count in counts))
    passages = []
    for counts in patterns:
        repeated = [word for word, count in zip(common, counts, strict=True) for _ in range(count)]
        fillers = [f"{chance.randrange(36**4):06d}" for _ in range(HOSTILE_FILLERS)]
        padding = ["pad"] * (3 * HOSTILE_COMMON - sum(counts))  # equal lengths
        passages.append(" ".join([*repeated, *padding, *fillers]))
    return passages, " ".join([*common, *(f"absent{number}" for number in range(HOSTILE_ABSENT))])


def fill_hostile_base(base: AnvilBase) -> str:
    """Add as many passages in as many segments as a base has, one of each removed; return a query.

    The query makes the most expensive search that the limits allow.
    """
    passages, query = make_hostile_passages()
    size, more = divmod(HOSTILE_PASSAGES, HOSTILE_SEGMENTS)
    start = 0
    for number in range(HOSTILE_SEGMENTS):
        end = start + size + (number < more)
        base.add(passages[start:end])
        start = end
    base.remove(range(1, HOSTILE_PASSAGES, size + 1))
    return query


def measure_hostile(url: str) -> dict[str, Any]:
    """Return the gas of the most expensive search that the limits allow."""
    base = AnvilBase(url=url)
    query = fill_hostile_base(base)
    return {
        "passages": HOSTILE_PASSAGES,
        "segments": base.count_segments(),
        "search": base.measure_search(query),
    }


def print_table(figures: dict[str, Any]) -> None:
    """Print the searches' gas by kind and size."""
    sizes = figures["sizes"]
    print("| gas | " + " | ".join(f"{one['passages']:,} passages" for one in sizes) + " |")
    print("|---|" + "---:|" * len(sizes))
    for kind in sizes[0]["search"]:
        print(f"| {kind} | " + " | ".join(f"{one['search'][kind]:,}" for one in sizes) + " |")
    for key in ("segments", "add", "add at most", "remove one", "deploy"):
        print(f"| {key} | " + " | ".join(f"{one[key]:,}" for one in sizes) + " |")
    if figures["hostile"]:
        print(f"hostile base: {figures['hostile']}")


def main() -> None:
    """Measure, print a table and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of passages")
    parser.add_argument("--anvil", type=Path, metavar="FILE", help="the program (default: on PATH)")
    parser.add_argument("--no-hostile", action="store_true", help="leave out the hostile base")
    arguments = parser.parse_args()
    program = find_anvil(arguments.anvil) or find_npm_anvil(Path.cwd())
    if program is None:
        sys.exit("anvil: not found: install Foundry or name the program with --anvil")
    sizes = [int(size) for size in arguments.sizes.split(",")]
    with run_anvil(program, "--gas-limit", str(BLOCK_GAS)) as url:
        figures = {
            "block gas": BLOCK_GAS,
            "sizes": [measure_size(url, size) for size in sizes],
            "hostile": None if arguments.no_hostile else measure_hostile(url),
        }
    print_table(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
