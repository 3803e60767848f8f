"""How near a model was to saying something else, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precompiles.language_model import Margin

SMALL_GAP = 0.1
"""A gap between logits that is shown with two significant digits, not with two decimals."""


def closest_decision(margin: Margin) -> str:
    """Say how near a model was to saying something else, and where."""
    gap = f"{margin.gap:.2f}" if margin.gap >= SMALL_GAP else f"{margin.gap:.2g}"
    return (
        f"{gap} at token {margin.token_index}: "
        f"{json.dumps(margin.chosen, ensure_ascii=False)} over "
        f"{json.dumps(margin.other, ensure_ascii=False)}"
    )
