"""The colours of a report and the plots, in light and dark, and matplotlib's settings.

Source: the hues are Okabe and Ito's ("Color Universal Design", 2008), distinguishable with every
    colour vision, slightly deeper on white and slightly lighter on black.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

COLOURS = {
    "page": ("#fefefe", "#14171a"),
    "surface": ("#f7f8f9", "#1c2024"),
    "ink": ("#1b1f24", "#e7eaec"),
    "muted": ("#5f6871", "#a0a9b1"),
    "rule": ("#dde2e6", "#343b42"),
    "link": ("#0b5c9e", "#7cbcf4"),
    "accent": ("#b04a00", "#ffb073"),
    "warn": ("#d09a00", "#e0b03a"),
    "grey": ("#7b848c", "#929ca5"),
    "blue": ("#1f6fb2", "#5faeea"),
    "orange": ("#d4620a", "#f29a4c"),
    "green": ("#0f8f6c", "#3fc9a0"),
    "purple": ("#9c4f9e", "#d394d6"),
}
"""By purpose: in light, in dark. All differ: a plot's colours are found by their light ones."""

LIGHT = {name: light for name, (light, _) in COLOURS.items()}

FONT = "DejaVu Sans"
"""The font for measuring widths: matplotlib includes it, and it is wider than pages' fonts."""

RC: dict[RcKeyType, Any] = {
    "figure.facecolor": LIGHT["surface"],
    "savefig.facecolor": LIGHT["surface"],
    "axes.facecolor": LIGHT["surface"],
    "axes.edgecolor": LIGHT["muted"],
    "axes.labelcolor": LIGHT["ink"],
    "axes.titlecolor": LIGHT["ink"],
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT["rule"],
    "grid.linewidth": 0.7,
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["muted"],
    "ytick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["muted"],
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.minor.visible": False,
    "ytick.minor.visible": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.labelcolor": LIGHT["ink"],
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "font.family": [FONT],
    "font.size": 9.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "pyevm-agents",
    "text.parse_math": False,
}
"""matplotlib's settings, independent of the user's own."""

TERM_MARKS = {
    "cold": (LIGHT["blue"], "o"),
    "warm": (LIGHT["green"], "s"),
    "sampled": (LIGHT["orange"], "D"),
    "forced": (LIGHT["purple"], "^"),
}
"""Colour and mark of each token, in every plot the same."""

PART_COLOURS = (LIGHT["grey"], LIGHT["blue"], LIGHT["orange"])
"""Colours of a run's EVM, prompt and output."""

REFERENCE_MARKS = {
    "ecrecover": (LIGHT["green"], "s"),
    "erc20": (LIGHT["blue"], "o"),
    "worst": (LIGHT["purple"], "^"),
}
"""Colours of the references of parity."""

SCHEDULE_COLOURS = {
    "default": LIGHT["ink"],
    "parity-ecrecover": LIGHT["green"],
    "parity-erc20": LIGHT["blue"],
    "parity-worst": LIGHT["purple"],
}
