"""The plugin's fixtures, options and markers.

The entry point loads the plugin in every suite of an environment with this package: nothing heavy
is imported before a fixture is used.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.pytest_plugin import cassettes, gas_snapshot, hints, html_pages, reports
from pyevm_agents.pytest_plugin.hints import CHAIN, MODULE_CHAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from eth_typing import ChecksumAddress
    from web3 import Web3

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.testing.artifacts import ArtifactFinder
    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.fixture_types import AsAccount, Deploy
    from pyevm_agents.testing.genesis_template import GenesisTemplate
    from pyevm_agents.testing.model_stub import ModelStub

PARTS = (cassettes, gas_snapshot, reports, html_pages, hints)
"""The other modules of the plugin."""

MODEL_MARKER = "agent_model"
SCHEDULE_MARKER = "agent_schedule"
NUMERIC_MARKER = "agent_numeric_models"
FORK_MARKER = "agent_fork"
FORK_URL_MARKER = "agent_fork_url"
FORK_BLOCK_MARKER = "agent_fork_block_number"

MARKERS = (
    *(MODEL_MARKER, SCHEDULE_MARKER, NUMERIC_MARKER),
    *(FORK_MARKER, FORK_URL_MARKER, FORK_BLOCK_MARKER),
)
"""The markers that select a test's chain."""

CACHE_FOLDER = "pyevm-agents"
"""The folder in pytest's cache with the models' facts, which genesis needs."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare options, and register the parts.

    For names in `pytest_plugins`, pytest would read the metadata of all installed packages.
    """
    for part in PARTS:
        if not pluginmanager.has_plugin(part.__name__):
            pluginmanager.register(part, part.__name__)
    group = parser.getgroup("agents", "agent chains (pyevm-agents)")
    group.addoption(
        "--agent-model",
        metavar="NAME",
        help="model whose tokens and prices apply: a name, installed or added by `pyevm-agents "
        "model add`, or a GGUF file",
    )
    group.addoption(
        "--agent-schedule",
        metavar="FILE",
        help="gas schedule of the chains: a JSON file",
    )
    group.addoption(
        "--agent-numeric-model",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="numeric model of the chains at 0x1a: a file under a name, or the name of a shipped "
        "model; repeatable",
    )
    group.addoption(
        "--agent-fork",
        metavar="NAME",
        help="Ethereum fork of the chains: cancun, prague, osaka, bpo1 or bpo2 [default: prague]",
    )
    group.addoption(
        "--agent-fork-url",
        metavar="URL",
        help="fork a live chain: HTTP URL of a node of the chain that agent chains continue",
    )
    group.addoption(
        "--agent-fork-block-number",
        metavar="N",
        help="block of the live chain that agent chains continue [default: the latest]",
    )
    parser.addini("agent_fork", "Ethereum fork of agent chains: prague by default")
    parser.addini("agent_fork_url", "node of a live chain that agent chains continue: an HTTP URL")
    parser.addini(
        "agent_fork_block_number", "block of the live chain that agent chains continue: a number"
    )
    parser.addini(
        "agent_schedule",
        "gas schedule of agent chains: a JSON file, relative to the root",
    )
    parser.addini(
        "agent_numeric_models",
        "numeric models of agent chains at 0x1a, one a line: NAME=FILE, relative to the root, or "
        "the name of a shipped model",
        type="linelist",
        default=[],
    )
    parser.addini(
        "agent_model", "model whose tokens and prices apply to agent chains: a name or a GGUF file"
    )
    parser.addini(
        "agent_artifacts",
        "folders of compiled contracts for `deploy`; by default Foundry's out/ and Hardhat's "
        "artifacts/ in the root or a folder above it",
        type="paths",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare markers."""
    config.addinivalue_line(
        "markers",
        f"{MODEL_MARKER}(name): model whose tokens and prices apply to the test's agent chain: a "
        "name or a GGUF file",
    )
    config.addinivalue_line(
        "markers",
        f"{SCHEDULE_MARKER}(file): gas schedule of the test's agent chain: a file or a "
        "`ScheduleFile`",
    )
    config.addinivalue_line(
        "markers",
        f"{NUMERIC_MARKER}(models): numeric models of the test's agent chain at 0x1a: files by "
        "name, or a list of NAME=FILE and of names of shipped models",
    )
    config.addinivalue_line(
        "markers", f"{FORK_MARKER}(name): Ethereum fork of the test's agent chain"
    )
    config.addinivalue_line(
        "markers",
        f"{FORK_URL_MARKER}(url): node of a live chain that the test's agent chain continues",
    )
    config.addinivalue_line(
        "markers",
        f"{FORK_BLOCK_MARKER}(number): block of the live chain that the test's agent chain "
        "continues",
    )
    _require_known_fork(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a passed test whose script is not used up."""
    yield
    chain = item.stash.get(CHAIN, None)
    if chain is not None:
        chain.model.verify()


@pytest.fixture(scope="session")
def _agent_beginnings(
    pytestconfig: pytest.Config,
) -> Iterator[Callable[[pytest.FixtureRequest], GenesisTemplate]]:
    """Create the genesis of a test's chain, once for each combination of settings."""
    from pyevm_agents.testing.genesis_template import get_genesis_template, temporary_templates  # noqa: PLC0415 - see above

    cache = getattr(pytestconfig, "cache", None)
    kept_facts = None if cache is None else cache.mkdir(CACHE_FOLDER)

    def get_template(request: pytest.FixtureRequest) -> GenesisTemplate:
        return get_genesis_template(
            _select_model(request),
            schedule=_select_schedule(request),
            fork=_get_setting(request, FORK_MARKER, "the name of one fork"),
            numeric_models=_select_numeric_models(request),
            kept_facts=kept_facts,
        )

    with temporary_templates():
        yield get_template


@pytest.fixture(scope="session")
def _agent_artifacts(pytestconfig: pytest.Config) -> ArtifactFinder:
    """Finder of compiled contracts, which lists folders once per run."""
    from pyevm_agents.testing.artifacts import ArtifactFinder  # noqa: PLC0415 - see above

    return ArtifactFinder(pytestconfig.getini("agent_artifacts"), root=pytestconfig.rootpath)


@pytest.fixture(scope="module")
def module_agent_chain(
    request: pytest.FixtureRequest,
    _agent_beginnings: Callable[[pytest.FixtureRequest], GenesisTemplate],
    _agent_artifacts: ArtifactFinder,
) -> Iterator[AgentChain]:
    """Agent chain that a module's tests share, for fixtures of module scope.

    It is the `agent_chain` of each test that uses it, and is rolled back at the end of the test.
    """
    from pyevm_agents.testing.chain import AgentChain  # noqa: PLC0415 - see above

    beginning = _agent_beginnings(request)
    options = _select_fork_block(request)
    with AgentChain(beginning, artifacts=_agent_artifacts, **options) as chain:
        yield chain


@pytest.fixture(autouse=True)
def _module_agent_chain_isolation(request: pytest.FixtureRequest) -> None:
    """Roll the module's chain back after a test that uses it, with or without `agent_chain`."""
    if MODULE_CHAIN in request.fixturenames:
        request.getfixturevalue("agent_chain")


@pytest.fixture
def agent_chain(
    request: pytest.FixtureRequest,
    _agent_beginnings: Callable[[pytest.FixtureRequest], GenesisTemplate],
    _agent_artifacts: ArtifactFinder,
) -> Iterator[AgentChain]:
    """Agent chain at its genesis or fork block, with its own model, accounts, blocks and time.

    In a test that uses `module_agent_chain`, it is that chain.
    """
    from pyevm_agents.testing.chain import AgentChain  # noqa: PLC0415 - see above

    with ExitStack() as stack:
        if MODULE_CHAIN in request.fixturenames:
            _refuse_own_markers(request.node)
            chain: AgentChain = request.getfixturevalue(MODULE_CHAIN)
            stack.enter_context(chain.rolled_back())
        else:
            beginning = _agent_beginnings(request)
            options = _select_fork_block(request)
            chain = AgentChain(beginning, artifacts=_agent_artifacts, **options)
            stack.enter_context(chain)
        request.node.stash[CHAIN] = chain
        yield chain
        del request.node.stash[CHAIN]


@pytest.fixture
def w3(agent_chain: AgentChain) -> Web3:
    """`web3.Web3` on the test's agent chain, in process."""
    return agent_chain.w3


@pytest.fixture
def accounts(agent_chain: AgentChain) -> tuple[ChecksumAddress, ...]:
    """Ten funded accounts of the test's agent chain."""
    return agent_chain.accounts


@pytest.fixture
def deploy(agent_chain: AgentChain) -> Deploy:
    """Deploy a contract by name or path: `deploy("Token", supply=10)`."""
    return agent_chain.deploy


@pytest.fixture
def model(agent_chain: AgentChain) -> ModelStub:
    """Model of the test's agent chain: `model.script(use(...), answer(...))`."""
    return agent_chain.model


@pytest.fixture
def as_account(agent_chain: AgentChain) -> AsAccount:
    """Context manager that sends from an account, without its key."""
    return agent_chain.as_account


def _select_model(request: pytest.FixtureRequest) -> str | Path | None:
    """Return the model of a test's marker, an option or the configuration; None for the default."""
    wanted: str | Path | None = _get_setting(request, MODEL_MARKER, "the name of one model")
    if wanted is None:
        return None
    file = request.config.rootpath / wanted
    return file if file.is_file() else wanted


def _select_schedule(request: pytest.FixtureRequest) -> ScheduleFile | Path | None:
    """Return the schedule of a marker, an option or the configuration; None for the default."""
    config = request.config
    marked: ScheduleFile | Path | str | None = _get_marker_value(
        request, SCHEDULE_MARKER, "one schedule"
    )
    if marked is not None:
        return config.rootpath / marked if isinstance(marked, str | PurePath) else marked
    if path := config.getoption("--agent-schedule"):
        return Path(config.invocation_params.dir, path)  # As the shell completes it.
    written = config.getini("agent_schedule")
    return config.rootpath / written if written else None


def _select_numeric_models(request: pytest.FixtureRequest) -> dict[str, NumericModel] | None:
    """Return the numeric models of a marker, an option or the configuration; None for none."""
    config = request.config
    marked = _get_marker_value(request, NUMERIC_MARKER, "files by name, or one list")
    given = config.getoption("--agent-numeric-model")
    models: NamedModels = given or config.getini("agent_numeric_models")
    folder = config.invocation_params.dir if given else config.rootpath
    if marked is not None:
        models, folder = marked, config.rootpath
    if not models and marked is None:
        return None
    from pyevm_agents.models.numeric import open_named_models  # noqa: PLC0415 - see above

    return open_named_models(models, folder=folder)


def _select_fork_block(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the arguments of `AgentChain` for a test's live chain: empty without one."""
    url = _get_setting(request, FORK_URL_MARKER, "one URL")
    if url is None:
        return {}
    marked = _get_marker_value(request, FORK_BLOCK_MARKER, "the number of one block")
    number = marked if marked is not None else _get_setting(request, FORK_BLOCK_MARKER, "a number")
    if number is not None and not str(number).isdecimal():
        pytest.fail(f"{FORK_BLOCK_MARKER} {number}: must be the number of a block", pytrace=False)
    return {
        "fork": _get_setting(request, FORK_MARKER, "the name of one fork"),
        "fork_url": url,
        "fork_block_number": None if number is None else int(number),
    }


def _get_setting(request: pytest.FixtureRequest, name: str, wanted: str) -> Any:  # noqa: ANN401 - see `_get_marker_value`
    """Return the value of a test's marker, else of an option, else of the configuration."""
    option, config = "--" + name.replace("_", "-"), request.config
    marked = _get_marker_value(request, name, wanted)
    return marked or config.getoption(option) or config.getini(name) or None


def _get_marker_value(request: pytest.FixtureRequest, name: str, wanted: str) -> Any:  # noqa: ANN401 - any value
    """Return the argument of a test's marker; None without the marker.

    Fails the test, without a traceback, if the marker does not have exactly one argument.
    """
    marker = request.node.get_closest_marker(name)
    if marker is None:
        return None
    if len(marker.args) != 1 or marker.kwargs:
        pytest.fail(f"the marker {name} of {request.node.nodeid} takes {wanted}", pytrace=False)
    return marker.args[0]


def _refuse_own_markers(item: pytest.Item) -> None:
    """Fail a test with a marker that the chain of the module does not have."""
    module = item.getparent(pytest.Module)
    for name in MARKERS:
        marker = item.get_closest_marker(name)
        if marker is not None and (module is None or module.get_closest_marker(name) != marker):
            pytest.fail(
                f"the marker {name} of {item.nodeid} has no effect: the test uses {MODULE_CHAIN}; "
                "mark the module (pytestmark = …), or move the test to a module of its own",
                pytrace=False,
            )


def _require_known_fork(config: pytest.Config) -> None:
    """End the run with a usage error if the option or configuration names an unknown fork."""
    fork = config.getoption("--agent-fork") or config.getini("agent_fork")
    if not fork:
        return
    from pyevm_agents.config import FORKS  # noqa: PLC0415 - see above

    if fork not in FORKS:
        known = " or ".join(FORKS)
        raise pytest.UsageError(f"--agent-fork {fork} (agent_fork): must be {known}")
