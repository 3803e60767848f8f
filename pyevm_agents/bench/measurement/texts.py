"""Random texts of ordinary words: new to every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from precompiles.language_model import Segment

if TYPE_CHECKING:
    from precompiles.language_model import LanguageModel

WORDS = """account after agent all amount and any are ask back balance bank before block buy by
call can change check coin cost date day do each end find first for from give good
hand has have help high how if in is it just keep last list long look low make many
market may more most move name need new no not number of off old on one open or order
other out over own part pay people place plan pool price put rate read right safe same
sell send set show side small so some state still stop store sum take tell than that
the their then there they this time to too token top total trade two under up use user
value very wallet was way we well what when where which who will with work world year
you"""
"""Words that are one token each, with the space before them, in vocabularies of English text."""

SEED = 7


class OrdinaryText:
    """Random words, and their tokens in a model's vocabulary."""

    def __init__(self, model: LanguageModel) -> None:
        """Use a model's vocabulary."""
        self._model = model
        self._words = WORDS.split()
        self._chance = np.random.default_rng(SEED)

    def draw_words(self, count: int) -> str:
        """Return `count` words, a space before each."""
        return "".join(
            f" {self._words[at]}" for at in self._chance.integers(0, len(self._words), count)
        )

    def draw_tokens(self, count: int) -> tuple[int, ...]:
        """Return `count` tokens of new text."""
        tokens: tuple[int, ...] = ()
        while len(tokens) < count:
            tokens += self._model.tokenize((Segment(text=self.draw_words(count - len(tokens))),))
        return tokens[:count]
