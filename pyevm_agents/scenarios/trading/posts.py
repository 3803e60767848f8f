"""The posts and prices of the trading demo, which are made up: `posts.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TypeAlias

POSTS_FILE = Path(__file__).with_name("posts.toml")

PRICE_DECIMALS = 8

Prices: TypeAlias = tuple[int, ...]
"""A price for each asset, with `PRICE_DECIMALS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post, and the prices at that time."""

    text: str
    prices: Prices
    do_pools_follow: bool = True
    """Whether the pools have these prices too; otherwise they keep those of the step before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostStream:
    """Posts with the prices before, the oldest first. A step is a day."""

    history: tuple[Prices, ...]
    posts: tuple[Post, ...]


@cache
def read_posts() -> PostStream:
    """Read the posts and prices."""
    form = tomllib.loads(POSTS_FILE.read_text(encoding="utf-8"))
    return PostStream(
        history=tuple(_parse_prices(row) for row in form["history"]),
        posts=tuple(
            Post(**{**each, "prices": _parse_prices(each["prices"])}) for each in form["posts"]
        ),
    )


def _parse_prices(texts: list[str]) -> Prices:
    return tuple(int(Decimal(text).scaleb(PRICE_DECIMALS)) for text in texts)
