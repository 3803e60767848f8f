"""Pages of failed tests in pytest: the node's page of a test's chain, in one file of HTML.

    pytest --agent-html=failed     # writes failed/tests.test_wallet.py.test_deposit.html

A part of `pytest_plugin/plugin.py`. Loaded in every suite: imports nothing heavy before a test
fails with the option.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.pytest_plugin.cassettes import make_file_name
from pyevm_agents.pytest_plugin.hints import CHAIN

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyevm_agents.testing.chain import AgentChain

OPTION = "--agent-html"

SECTION = "agent page"
"""Title of the section with the page's path, under a failed test."""

SUFFIX = ".html"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("agents").addoption(
        OPTION,
        metavar="DIR",
        help="write a page of HTML with the chain of each failed test to this folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """End the run with a usage error if no page could be written."""
    folder = _get_folder(config)
    if folder is None:
        return
    from pyevm_agents.atomic_files import require_folder_path  # noqa: PLC0415 - see above
    from pyevm_agents.errors import ConfigError  # noqa: PLC0415 - see above

    try:
        require_folder_path(folder)
    except ConfigError as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from error


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write the page of a failed test, after the sections of the runs."""
    report = yield
    folder = _get_folder(item.config)
    chain = item.stash.get(CHAIN, None)
    if folder is not None and chain is not None and report.failed:
        report.sections.append((SECTION, _write_page(item, chain, folder)))
    return report


def _get_folder(config: pytest.Config) -> Path | None:
    name = config.getoption(OPTION, default=None)
    return None if name is None else Path(config.invocation_params.dir, name)


def _write_page(item: pytest.Item, chain: AgentChain, folder: Path) -> str:
    """Write the page of a test's chain; return the path, or the reason against a page."""
    from pyevm_agents.atomic_files import write_output_file  # noqa: PLC0415 - see above
    from pyevm_agents.errors import AgentsError  # noqa: PLC0415 - see above
    from pyevm_agents.rpc.recorded_answers import record_answers  # noqa: PLC0415 - see above
    from pyevm_agents.server.recorded_page import (  # noqa: PLC0415 - see above
        RecordedPage,
        describe_omissions,
        is_replaceable,
        render_recorded_page,
    )

    path = folder / f"{make_file_name(_name_test(item))}{SUFFIX}"
    fork = chain.chain.fork_block
    try:
        answers = record_answers(
            chain.service, first_block=0 if fork is None else fork.header.block_number + 1
        )
        note = describe_omissions(answers.omissions)
        page = RecordedPage(title=item.nodeid, results=answers.results, note=note)
        if not is_replaceable(path):
            return f"{path} is not a page of a test, and was left as it is"
        folder.mkdir(parents=True, exist_ok=True)
        write_output_file(path, render_recorded_page(page))
    except (AgentsError, OSError) as error:
        return f"{path} was not written: {error}"
    return f"{path}\n{note}" if note else str(path)


def _name_test(item: pytest.Item) -> str:
    """Return a test's ID as a name: `tests.test_wallet.py.test_deposit`."""
    return item.nodeid.replace("::", ".").replace("/", ".")
