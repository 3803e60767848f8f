"""Options of the commands that run agents. This module needs no package of the extra `agents`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.known_abis import abi_option
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.models import (
    adapter_option,
    is_given,
    models_option,
    numeric_models_option,
)
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.store import store_option
from pyevm_agents.control.plane_config import PlaneConfig
from pyevm_agents.local_node import NodeConfig
from pyevm_agents.models.store.store import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.cli.agent.treasury_options import TreasuryChoices
    from pyevm_agents.control.plane_config import DeployedAgent
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneChoices:
    """Options of `agent serve` and `run`."""

    models: tuple[ModelChoice, ...]
    adapter: Adapter
    numeric_files: Mapping[str, str]
    no_model: bool
    threads: int | None
    store_path: Path | None
    no_store: bool
    fixture: str | None
    data_folder: Path | None
    min_score: float
    requires_identity: bool
    validators: tuple[bytes, ...]
    clients: tuple[bytes, ...]
    validator: bytes | None
    abi_files: tuple[Path, ...]

    def build_config(
        self,
        agents: Sequence[Path | DeployedAgent],
        treasury: TreasuryChoices,
        *,
        confirms: bool,
        resumes: bool = True,
        endpoints: Mapping[str, str] | None = None,
    ) -> PlaneConfig:
        """Return the config of these options, of the agents and of the treasury.

        Input:
            confirms, resumes, endpoints: as in `PlaneConfig`.

        Raises: ConfigError: the operator's keystore can't be opened.
        """
        context = click.get_current_context()
        models: tuple[ModelChoice, ...] | None = None
        if self.no_model:
            models = ()
        elif is_given(context, "models") or is_given(context, "adapter"):
            models = tuple(each.with_adapter(self.adapter) for each in self.models)
        return PlaneConfig(
            agents=tuple(agents),
            node=NodeConfig(
                models=models,
                numeric_models=self.numeric_files,
                threads=self.threads,
                store_path=MEMORY if self.no_store else self.store_path,
                fixture=self.fixture,
            ),
            data_folder=self.data_folder,
            min_score=self.min_score,
            requires_identity=self.requires_identity,
            trusted_validators=self.validators,
            trusted_clients=self.clients,
            validator=self.validator,
            abi_files=self.abi_files,
            treasury=treasury.config,
            operator_key=treasury.open_operator(),
            confirms=confirms,
            endpoints=endpoints or {},
            resumes=resumes,
        )


_OPTIONS = (
    models_option,
    adapter_option,
    numeric_models_option,
    click.option("--no-model", is_flag=True, help="Run a plain chain, without a model at 0x19."),
    click.option("--threads", type=click.IntRange(1, 512), metavar="N", help="Of the engine."),
    store_option,
    click.option("--no-store", is_flag=True, help="Neither read nor write the generation store."),
    click.option(
        "--fixture", metavar="NAME|FILE",
        help="Start with a recorded chain, such as wallet_agent.",
    ),
    click.option(
        "--data", "data_folder", type=click.Path(path_type=Path, file_okay=False),
        metavar="FOLDER",
        help="Keep the chain and the runs in this folder; the next start continues both.  "
        "[default: nothing is kept but the logs in agents' folders]",
    ),
    click.option(
        "--min-score", type=click.FloatRange(0, 1), default=0.0, show_default=True,
        metavar="SCORE", help="The trust score that an agent needs, from 0 to 1.",
    ),
    click.option(
        "--require-identity", "requires_identity", is_flag=True,
        help="Run only agents that are registered on this chain, by the owner in agent.json.",
    ),
    click.option(
        "--trust-validator", "validators", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="A validator whose re-executions count for the score. Repeatable.",
    ),
    click.option(
        "--trust-client", "clients", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="A client whose feedback counts for the score. Repeatable.",
    ),
    click.option(
        "--validator", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="An account of this chain that executes each run again and posts 100 or 0 to "
        "ERC-8004's validation registry. Agents must be registered.",
    ),
    abi_option,
)  # fmt: skip


def add_plane_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add these options to a command, as the parameter `choices`."""
    return add_option_group(command, "choices", PlaneChoices, _OPTIONS)
