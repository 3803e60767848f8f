"""Cassettes in pytest: the marker, `--record`, and failures of tests that differ from a cassette.

    @pytest.mark.cassette
    def test_the_agent_deposits(agent_chain, deploy): ...

A part of `pytest_plugin/plugin.py`. Loaded in every suite: imports nothing heavy before a marked
test is set up.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.pytest_plugin.tracebacks import FailureMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest, LanguageModel, Segment
    from pyevm_agents.testing.cassettes import CassettePlayer, CassetteRecorder
    from pyevm_agents.testing.chain import AgentChain

MARKER = "cassette"
FOLDER = "cassettes"
"""The folder of cassettes, beside the file of the tests."""

RECORD = "--record"
OTHER_RECORD = "--agent-record"
"""The option's name if another plugin has `--record`."""

MISSING = "=missing"
MAX_NAME_CHARACTERS = 120

UNSAFE_CHARACTERS = re.compile(r"[^\w.\[\]=,+-]+", re.ASCII)
"""Characters that some systems do not allow in file names."""

_SLOT = pytest.StashKey["CassetteSlot"]()
_SESSION_START = pytest.StashKey[float]()
_LOADED_MODELS = pytest.StashKey[dict[object, Any]]()


class CassetteSlot:
    """A test's cassette, which replays, records, or has an error."""

    def __init__(self, path: Path, name: str, *, test: str, begun_seconds: float) -> None:
        """Create an empty slot.

        Input: the file; the name in messages; the test's ID; the start of this run of pytest.
        """
        self.path = path
        self.name = name
        self._test = test
        self._session_start_seconds = begun_seconds
        self.player: CassettePlayer | None = None
        self.recorder: CassetteRecorder | None = None
        self.error: Exception | None = None
        self.has_changed: bool | None = None
        """Whether recording changed the file; None if nothing was recorded."""

    def finish(self) -> None:
        """Check that all steps were replayed, or write the recording."""
        if self.player is not None:
            self.player.finish()
        if self.recorder is not None:
            self._require_own()
            self.has_changed = self.recorder.finish()
            if not self.has_changed:
                os.utime(self.path)  # Marks it as recorded in this run: see `_require_own`.

    def _require_own(self) -> None:
        """Reject a file that another test recorded in this run, here or in a worker of xdist."""
        from pyevm_agents.testing.cassettes import CassetteError, open_cassette  # noqa: PLC0415 - see above

        if not self.path.is_file() or self.path.stat().st_mtime < self._session_start_seconds:
            return
        other = open_cassette(self.path, name=self.name).test
        if other != self._test:
            raise CassetteError(
                f"{self.name} was recorded for {other} in this run\ngive {self._test} a name of "
                f'its own: @pytest.mark.{MARKER}(name="…"); if both ask the same, record one'
            )


class _FailingModel:
    """A model that raises an error. Implements `LanguageModel`."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        del segments
        raise self._error

    def generate(self, request: GenerationRequest) -> Generation:
        del request
        raise self._error


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> None:
    """Declare `--record`, with another name if a plugin or a conftest.py has that option.

    All options are declared at this point, and pytest reads the command line again later.
    """
    name = OTHER_RECORD if _is_taken(parser, RECORD) else RECORD
    group = parser.getgroup("agents")
    group.addoption(
        name,
        action="store_const",
        const="all",
        dest=name,
        help="record the cassettes of the selected tests, with the real model",
    )
    # argparse prefers an option with the whole text: `--record=missing` is an option of its own. If
    # `--record` took a value, `--record path::test` would use the path as the value.
    group.addoption(
        name + MISSING,
        action="store_const",
        const="missing",
        dest=name,
        help="record cassettes without a file, replay the others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.stash[_SESSION_START] = time.time()
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name=None): replay the real model's generations, which {RECORD} records",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the recorded models."""
    for model in config.stash.get(_LOADED_MODELS, {}).values():
        model.close()


@pytest.fixture
def cassette_model() -> LanguageModel | None:
    """Model that `--record` records; None for the chain's. Override it for another model."""
    return None


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Insert the cassette of a marked test into the test's chain."""
    chain = yield
    if fixturedef.argname == "agent_chain" and _get_marker(request.node) is not None:
        _insert_cassette(request, chain)  # type: ignore[arg-type]
    return chain


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a marked test without a cassette, or one that differs from the cassette."""
    slot = item.stash.get(_SLOT, None)
    if slot is None and _get_marker(item) is not None:
        pytest.fail(
            f"{item.nodeid} is marked {MARKER} and uses no agent_chain: ask for the fixture, or "
            "use pyevm_agents.testing.cassette(chain, path) on a chain of your own",
            pytrace=False,
        )
    if slot is not None and slot.error is not None:
        raise slot.error
    yield
    if slot is not None:
        slot.finish()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a cassette's error without the frames of the EVM."""
    report = yield
    slot = item.stash.get(_SLOT, None)
    if slot is None:
        return report
    if call.excinfo is not None:
        from pyevm_agents.testing.cassettes import CassetteError  # noqa: PLC0415 - see above

        if isinstance(call.excinfo.value, CassetteError):
            untyped_report: Any = report
            untyped_report.longrepr = FailureMessage(str(call.excinfo.value))
    if slot.has_changed is not None and report.when == "call" and report.passed:
        report.agent_cassette = [slot.name, slot.has_changed]  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's, not public
    """List the recorded cassettes."""
    reports = terminalreporter.stats.get("passed", [])
    recorded = [report.agent_cassette for report in reports if hasattr(report, "agent_cassette")]
    if not recorded:
        return
    terminalreporter.write_sep("=", "cassettes")
    for name, has_changed in sorted(recorded):
        terminalreporter.write_line(f"{name}: {'written' if has_changed else 'as it was'}")


def _get_marker(node: object) -> pytest.Mark | None:
    return node.get_closest_marker(MARKER) if isinstance(node, pytest.Item) else None


def _insert_cassette(request: pytest.FixtureRequest, chain: AgentChain) -> None:
    from pyevm_agents.testing.cassettes import (  # noqa: PLC0415 - see above
        CassetteError,
        CassettePlayer,
        CassetteRecorder,
        open_cassette,
    )

    item, config = request.node, request.config
    path = _get_cassette_path(item)
    slot = item.stash[_SLOT] = CassetteSlot(
        path,
        _format_path(path, config.rootpath),
        test=item.nodeid,
        begun_seconds=config.stash[_SESSION_START],
    )
    option, mode = _get_record_option(config)
    if mode == "all" or (mode == "missing" and not path.exists()):
        slot.recorder = CassetteRecorder(path, test=item.nodeid, tell=_build_reporter(item))
        slot.recorder.insert(chain, _get_real_model(request, chain))
        return
    again = f"record it with the model: pytest {option} {shlex.quote(item.nodeid)}"
    try:
        tape = open_cassette(path, name=slot.name, again=again)
        slot.player = CassettePlayer(tape, slot.name, again=again)
        slot.player.insert(chain)
    except CassetteError as error:
        slot.player, slot.error = None, error
        chain.model.use_model(_FailingModel(error))


def _get_cassette_path(item: pytest.Item) -> Path:
    """Return the path of a test's cassette. Each set of parameters has a separate one."""
    marker = _get_marker(item)
    if marker is None or marker.args or set(marker.kwargs) - {"name"}:
        pytest.fail(
            f"the marker {MARKER} of {item.nodeid} takes nothing but name=…, the file's name",
            pytrace=False,
        )
    name, parameters = marker.kwargs.get("name"), getattr(item, "callspec", None)
    if name is None:
        name = item.nodeid.split("::", 1)[-1].replace("::", ".")
    elif parameters is not None:
        name = f"{name}[{parameters.id}]"
    return item.path.parent / FOLDER / item.path.stem / f"{make_file_name(name)}.json"


def make_file_name(name: str) -> str:
    """Return a test's name as that of a file, with a digest where characters are replaced."""
    plain = UNSAFE_CHARACTERS.sub("-", name)[:MAX_NAME_CHARACTERS]
    if plain != name:
        plain += "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return plain


def _format_path(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _is_taken(parser: pytest.Parser, name: str) -> bool:
    groups = [parser._anonymous, *parser._groups]  # noqa: SLF001 - argparse would end the run
    return any(name in option.names() for group in groups for option in group.options)


def _get_record_option(config: pytest.Config) -> tuple[str, str | None]:
    """Return the name of `--record` in this run, and the value."""
    name = RECORD if hasattr(config.option, RECORD) else OTHER_RECORD
    return name, getattr(config.option, name)


def _get_real_model(request: pytest.FixtureRequest, chain: AgentChain) -> LanguageModel:
    """Return the model to record: that of `cassette_model`, else the chain's with weights."""
    model: LanguageModel | None = request.getfixturevalue("cassette_model")
    if model is not None:
        return model
    genesis = chain.genesis
    weights = request.config.stash.setdefault(_LOADED_MODELS, {})
    if genesis.vocabulary not in weights:  # Geneses under several schedules share one model.
        weights[genesis.vocabulary] = genesis.weights()
    loaded: LanguageModel = weights[genesis.vocabulary]
    return loaded


def _build_reporter(item: pytest.Item) -> Callable[[str], None] | None:
    """Return a function that writes progress to the terminal; None in a worker of xdist."""
    plugins = item.config.pluginmanager
    reporter: Any = plugins.get_plugin("terminalreporter")
    capture: Any = plugins.get_plugin("capturemanager")
    if reporter is None or item.config.get_verbosity() < 0:
        return None

    def report_line(text: str) -> None:
        from pyevm_agents.display import sanitize  # noqa: PLC0415 - see above

        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(f"recording {item.name}: {sanitize(text, MAX_NAME_CHARACTERS)}")

    return report_line
