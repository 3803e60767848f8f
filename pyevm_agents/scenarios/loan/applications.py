"""The criteria and applications of the loan demo, which are made up: `applications.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

APPLICATIONS_FILE = Path(__file__).with_name("applications.toml")

CHECKS = ("repayments", "defaults", "savings", "age", "debt")
"""Names of the checks, in the order of `LoanChecks`."""

KINDS = ("approve", "deny", "hostile")
"""What applications are for: the ideal approves, it denies, or the text or the data are odd."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria for evaluating applicants."""

    text: str
    checks: tuple[str, ...]
    """The checks that the text asks for; the policy requires them."""

    @property
    def required_checks(self) -> int:
        """`requiredChecks` of the policy."""
        return sum(1 << CHECKS.index(check) for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application for a loan."""

    applicant: str
    """A name of `loan_world.APPLICANTS`."""

    tokens: int
    """Whole tokens of the currency."""

    text: str
    criteria: str = ""
    """The name of the criteria; those of the demo's policy without."""

    kind: str = ""
    """One of `KINDS`; empty for those of the demo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationList:
    """Criteria by name, and applications."""

    criteria: Mapping[str, Criteria]
    story: tuple[Application, ...]
    """Those of the demo: some before the vote, then as many after it."""

    applications: tuple[Application, ...]
    """Those of the benchmark, by kind; the first half of each kind was seen."""


@cache
def read_applications() -> ApplicationList:
    """Read the criteria and applications."""
    form = tomllib.loads(APPLICATIONS_FILE.read_text(encoding="utf-8"))
    return ApplicationList(
        criteria={
            name: Criteria(text=each["text"], checks=tuple(each["checks"]))
            for name, each in form["criteria"].items()
        },
        story=tuple(Application(**each) for each in form["story"]),
        applications=tuple(
            Application(kind=kind, **each) for kind in KINDS for each in form.get(kind, ())
        ),
    )
