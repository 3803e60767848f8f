"""The policy check: budgets against the host's limits, and plans against manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import ComputeBudget
from pyevm_agents.lifecycle.module import IDENTITY_MODE, HasDryRun
from pyevm_agents.lifecycle.records import order_steps
from pyevm_agents.lifecycle.untrusted_agents import AgentFailedError, ask_agent, read_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.lifecycle.manifest import AgentManifest
    from pyevm_agents.lifecycle.module import AgentModule
    from pyevm_agents.lifecycle.records import Task, TaskPlan

SYSTEM_LIMITS = ComputeBudget(
    max_steps=50, max_tool_calls=500, max_runtime_ms=3_600_000, max_onchain_writes=20
)
"""What a host allows unless it is told otherwise. A run executes each write four times: in the dry
run, the execution, the block, and the verification."""


def list_violations(
    task: Task, plan: TaskPlan, modules: Mapping[str, AgentModule], limits: ComputeBudget
) -> tuple[str, ...]:
    """Return why a run may not begin; empty for a run that may.

    Input:
        task: with the budget.
        plan: of the coordinator.
        modules: the installed agents, by slug.
        limits: of the host.
    """
    found = list_budget_violations(task.budget, limits)
    try:
        order_steps(plan)
    except ConfigError as error:
        found.append(f"plan: {error}")
    if len(plan.steps) > task.budget.max_steps:
        found.append(
            f"plan: {len(plan.steps)} steps; the budget's maxSteps is {task.budget.max_steps}"
        )
    for slug in dict.fromkeys((task.agent_slug, *plan.agent_slugs)):
        if slug not in modules:
            found.append(f"agent {slug}: not installed")
        else:
            found += _list_manifest_violations(modules, slug)
    return tuple(found)


def list_budget_violations(budget: ComputeBudget, limits: ComputeBudget) -> list[str]:
    """Return which limits of a budget are not between 0 and the host's, or not numbers."""
    highest = limits.list_limits()
    found = [
        f"{name} {value:,}: must be from 0 to {highest[name]:,}"
        for name, value in budget.list_limits().items()
        if not 0 <= value <= highest[name]
    ]
    most = limits.gas_wei
    if most is not None and (budget.gas_wei is None or budget.gas_wei > most):
        found.append(f"maxGasWei {budget.max_gas_wei}: must be at most {most:,}")
    return found


def select_budget(task: Task, manifest: AgentManifest) -> ComputeBudget:
    """Return the budget of an execution: the task's, within the manifest's constraints."""
    writes = ComputeBudget(
        max_steps=task.budget.max_steps,
        max_tool_calls=task.budget.max_tool_calls,
        max_runtime_ms=task.budget.max_runtime_ms,
        max_onchain_writes=manifest.safety.max_onchain_writes_per_run,
    )
    return task.budget.narrow(manifest.compute_constraints).narrow(writes)


def _list_manifest_violations(modules: Mapping[str, AgentModule], slug: str) -> list[str]:
    module, found = modules[slug], []
    try:
        stated = read_agent(modules, slug)
        has_dry_run = ask_agent(slug, bool, lambda: isinstance(module, HasDryRun))
    except AgentFailedError as error:
        return [str(error)]
    manifest = stated.manifest
    if stated.identity_mode != IDENTITY_MODE:
        found.append(f"agent {slug}: identityMode must be {IDENTITY_MODE}")
    if {stated.slug, manifest.slug} != {slug} or stated.version != manifest.version:
        found.append(f"agent {slug}: slug and version must be those of its manifest")
    if manifest.safety.requires_dry_run and not has_dry_run:
        found.append(f"agent {slug}: its manifest requires a dry run, and it has none")
    return found
