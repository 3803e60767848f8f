"""Run tasks and scenarios by contenders, with one engine, or with several that share the tasks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.accuracy_tables import Result
from benchmarks.contenders import contender
from benchmarks.nonsense_names import SUFFIX, rename_tools
from benchmarks.swap_scenarios import SwapBench
from benchmarks.task_bench import TaskBench
from benchmarks.task_marks import marks_of
from pyevm_agents.bench.heartbeat import Heartbeat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from benchmarks.contenders import Contender, Settings
    from benchmarks.swap_scenarios import Scenario, ScenarioRun
    from training.tasks import Task


@dataclass(slots=True)
class Findings:
    """The finished runs, by contender."""

    digests: dict[str, str] = field(default_factory=dict)
    rules: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """The decoding rules of its profile."""

    tasks: dict[str, list[Result]] = field(default_factory=dict)
    """In the order of the tasks."""

    scenarios: dict[str, list[tuple[Scenario, ScenarioRun]]] = field(default_factory=dict)


class Measurement:
    """Runs tasks and scenarios, and keeps the results, however it ends."""

    def __init__(
        self,
        settings: Settings,
        console: Console,
        *,
        processes: int = 1,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        """Measure with `processes` engines at once; progress goes to console and heartbeat."""
        self.findings = Findings()
        self._settings = settings
        self._console = console
        self._processes = processes
        self._heartbeat = heartbeat or Heartbeat("")
        self._lock = threading.Lock()

    def run_tasks(
        self, name: str, tasks: Sequence[Task], *, has_nonsense_names: bool = False
    ) -> None:
        """Run tasks by a contender, under their tools' names or under nonsense for them.

        Raises: ConfigError: the contender's model or adapter is unfit. EngineFault: its model
            failed.
        """
        title = name
        if has_nonsense_names:
            title = f"{name}{SUFFIX}"
            tasks = [rename_tools(task, self._settings.seed) for task in tasks]
        done = self._take_over(name, title)
        left = [(index, task) for index, task in enumerate(tasks) if index not in done]
        source, stop = iter(left), threading.Event()
        self._heartbeat.begin_part(f"{title}, tasks", len(left))

        def serve(_number: int) -> None:
            try:
                with contender(name, self._settings) as it:
                    self._note(title, it)
                    bench = TaskBench(it.chain)
                    while not stop.is_set():
                        with self._lock:
                            index, task = next(source, (0, None))
                        if task is None:
                            return
                        it.begin(task)
                        run = bench.run(task)
                        done[index] = Result(
                            number=index, task=task, done=run, marks=marks_of(task, run)
                        )
                        progress.advance(bar)
                        self._heartbeat.finish_step()
            except BaseException:
                stop.set()
                raise

        with self._progress() as progress:
            bar = progress.add_task(f"{title}, tasks", total=len(left))
            try:
                if self._processes == 1:
                    serve(0)
                    return
                with ThreadPoolExecutor(self._processes) as pool:
                    try:
                        [*pool.map(serve, range(self._processes))]
                    finally:
                        stop.set()
            finally:
                self.findings.tasks[title] = [done[index] for index in sorted(done)]

    def run_scenarios(self, name: str) -> None:
        """Run the five scenarios by a contender.

        Raises: ConfigError: the contender's model or adapter is unfit. EngineFault: its model
            failed.
        """
        with contender(name, self._settings) as it, self._progress() as progress:
            self._note(name, it)
            bench = SwapBench(it.chain)
            runs = self.findings.scenarios.setdefault(name, [])
            for scenario in progress.track(bench.scenarios, description=f"{name}, scenarios"):
                it.begin(scenario.task)
                runs.append((scenario, bench.run(scenario)))

    def _take_over(self, name: str, title: str) -> dict[int, Result]:
        """Return the runs by number that a contender need not repeat.

        A gate only ends runs. So a run of `model` that its gate did not end is the run of
        `ungated`, byte for byte.
        """
        if name != "ungated":
            return {}
        gated = self.findings.tasks.get(title.replace("ungated", "model", 1), [])
        return {result.number: result for result in gated if not result.marks.is_withheld}

    def _note(self, title: str, it: Contender) -> None:
        self.findings.digests[title] = "0x" + it.digest.hex()
        self.findings.rules[title] = it.rules

    def _progress(self) -> Progress:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        return Progress(*columns, TimeRemainingColumn(), console=self._console)
