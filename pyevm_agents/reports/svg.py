"""Adapt matplotlib's SVG for a page or for a separate file."""

from __future__ import annotations

import re

from pyevm_agents.reports.palette import COLOURS, FONT

PAGE_FONT = "system-ui, 'Noto Sans', 'Liberation Sans', sans-serif"

_HEAD = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_ROOT = re.compile(r"<svg\b[^>]*>")
_SIZE = re.compile(r'\s(?:width|height)="[^"]*"')
_IDENTITY = re.compile(r'(\sid="|href="#|url\(#)')


def build_css() -> str:
    """Return the colours as CSS variables: light, dark if preferred, light on paper."""
    light, dark = ("".join(f"--{n}: {both[at]}; " for n, both in COLOURS.items()) for at in (0, 1))
    return (
        f":root {{ color-scheme: light dark; {light}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
    )


def as_inline(name: str, svg: str) -> str:
    """Return a plot for inclusion in a page, with the page's size and colours.

    The texts are hidden from screen readers, which get the picture's description.
    """
    svg = _strip_head(svg)
    svg = _ROOT.sub(lambda root: _SIZE.sub("", root[0])[:-1] + ' aria-hidden="true">', svg, count=1)
    svg = _IDENTITY.sub(rf"\g<1>{name}-", svg)  # Pages hold several: what is named there is unique.
    for colour, (light, _) in COLOURS.items():
        svg = svg.replace(light, f"var(--{colour})")
    return svg


def as_file(svg: str) -> str:
    """Return a plot as a separate file, in light colours."""
    return '<?xml version="1.0" encoding="utf-8"?>\n' + _strip_head(svg)


def _strip_head(svg: str) -> str:
    """Remove external references and the rare font."""
    return _HEAD.sub("", svg).replace(f"'{FONT}'", PAGE_FONT).strip() + "\n"
