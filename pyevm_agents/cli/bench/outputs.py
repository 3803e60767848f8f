"""Output files of `pyevm-agents bench`: checked before measuring, written atomically afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from pyevm_agents.atomic_files import require_file_path, require_folder_path, write_output_file
from pyevm_agents.bench.measurement.results_json import to_json
from pyevm_agents.bench.report.compare import compare
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyevm_agents.bench.measurement.results import Report

SCHEDULE_PARTS = ("evm", "terms")
"""Parts that a schedule at parity needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOutputs:
    """The output files, and the report to compare with."""

    html: Path | None
    markdown: Path | None
    json: Path | None
    schedule: Path | None
    parity_with: str
    old: Report | None

    def require_places(self) -> None:
        """Check that the files are writable, and that plots can be drawn.

        Raises: ConfigError; click.UsageError: two outputs have the same path.
        """
        files = {"--html": self.html, "--json": self.json, "--emit-schedule": self.schedule}
        taken: dict[Path, str] = {}
        for option, path in files.items():
            if path is None:
                continue
            require_file_path(path)
            other = taken.setdefault(path.resolve(), option)
            if other != option:
                raise click.UsageError(f"{other} and {option} both name {path}; name two files")
        if self.markdown is not None:
            require_folder_path(self.markdown)
        if self.html is not None or self.markdown is not None:
            from pyevm_agents.bench.report.plots import require_matplotlib  # noqa: PLC0415 - when needed

            require_matplotlib()

    def require_parts(self, reasons: Mapping[str, str]) -> None:
        """Check that the parts needed by a schedule are measured.

        Raises: click.UsageError.
        """
        missing = [part for part in SCHEDULE_PARTS if reasons[part]]
        if self.schedule is not None and missing:
            wanted = " ".join(f"--only {part}" for part in missing)
            raise click.UsageError(f"--emit-schedule needs more parts: add {wanted}")

    def require_figures(self, report: Report) -> None:
        """Check that the report has the terms and yardsticks needed by a schedule.

        Raises: ConfigError.
        """
        if self.explain_missing_schedule(report):
            raise ConfigError(
                "--emit-schedule needs a report with yardsticks and terms, and this one has none: "
                "measure them"
            )

    def explain_missing_schedule(self, report: Report) -> str:
        """Return the reason why a requested schedule is not written; empty for a written one."""
        if self.schedule is None or (report.terms and report.yardsticks):
            return ""
        return f"{self.schedule} is not written: a schedule needs the EVM's pace and all terms"

    def write(self, report: Report) -> Iterator[str]:
        """Write every file atomically; yield each written path.

        Raises: AgentsError: a file is not writable.
        """
        comparison = None if self.old is None else compare(self.old, report)
        if self.json is not None:
            write_output_file(self.json, to_json(report))
            yield str(self.json)
        if self.schedule is not None and not self.explain_missing_schedule(report):
            from pyevm_agents.bench.pricing.parity import build_parity_schedule  # noqa: PLC0415 - when needed

            schedule_file = build_parity_schedule(
                report.terms,
                report.yardsticks,
                self.parity_with,
                report.model,
                numeric_prices=() if report.numeric is None else report.numeric.prices,
                machine=report.machine,
                made_at=report.made_at,
            )
            write_output_file(self.schedule, schedule_file.to_json())
            yield str(self.schedule)
        if self.html is not None:
            from pyevm_agents.bench.report.html import write_html  # noqa: PLC0415 - when needed

            write_html(self.html, report, comparison)
            yield str(self.html)
        if self.markdown is not None:
            from pyevm_agents.bench.report.markdown import write_markdown  # noqa: PLC0415 - as above

            write_markdown(self.markdown, report, comparison)
            yield str(self.markdown)
