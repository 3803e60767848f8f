"""A fit with probes, and the values for a single term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.least_squares import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.bench.measurement.least_squares import LeastSquaresFit
    from pyevm_agents.bench.measurement.results import Probe
    from pyevm_agents.reports.number_format import Interval

NS = 1e9


class ProbeFit:
    """A fit and the probes."""

    def __init__(self, probes: Sequence[Probe], rows: Sequence[Sequence[float]]) -> None:
        """Fit probes to rows of columns, one row for each probe.

        Raises: ValueError: there are too few probes.
        """
        self.probes = probes
        self.fit: LeastSquaresFit = fit(rows, [probe.seconds for probe in probes])

    def compute_residuals(self, term: str, xs: Sequence[float]) -> tuple[tuple[float, float], ...]:
        """Return the residuals of a term's probes, at places on the term's axis."""
        left = (self.fit.measured - self.fit.fitted).tolist()
        return tuple(
            (x, off)
            for x, off, probe in zip(xs, left, self.probes, strict=True)
            if probe.term == term
        )

    def compute_relative_error(self, term: str) -> float:
        """Return the root mean square of a term's residuals, over the mean of the times."""
        chosen = np.array([probe.term == term for probe in self.probes])
        off = (self.fit.measured - self.fit.fitted)[chosen]
        return float(np.sqrt(np.square(off).mean()) / self.fit.measured[chosen].mean())

    def label_coefficients(self, *columns: int) -> tuple[tuple[str, Interval], ...]:
        """Return coefficients labelled by letters, from "a" on."""
        return tuple(
            (chr(ord("a") + place), self.fit.get_coefficient(column))
            for place, column in enumerate(columns)
        )
