"""Runs that are compared with the ideal: a scripted model's run from the same state."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.chain import Chain
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import CachingModel, GgufModel, ScriptedModel
from pyevm_agents.models.fakes.scripted import HasVocabulary
from pyevm_agents.models.fakes.swappable import SwappableModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest, LanguageModel
    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models.fakes.script_steps import Step

    Script = Sequence[Step] | Callable[[GenerationRequest], Step]

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a run. A scenario's own outcome adds the contracts' holdings afterwards."""

    transaction_hash: bytes
    block_number: int
    computation: ComputationAPI
    gas_used: int
    failure: str | None
    """The reason of the revert; None if it succeeded."""

    answer: str | None
    """Also of a run that was undone since it is not done; None if it failed for another reason."""

    steps: tuple[AgentStep, ...]

    @property
    def is_success(self) -> bool:
        """Whether the transaction did not revert."""
        return self.failure is None

    def find_answer(self, tool: str) -> str | None:
        """Return a tool's last answer; None if the tool was not used, or reverted."""
        used = [step.observation for step in self.steps if step.action == tool]
        return used[-1] if used else None


def explain_outcome(sent: ExecutedTransaction) -> str | None:
    """Return why a transaction reverted or ran out of gas; None on success."""
    if sent.is_success:
        return None
    if sent.computation.error.burns_gas:
        return f"out of gas: {sent.computation.error}"
    return explain_failure(sent.computation)


def list_run_differences(
    made: RunOutcome, ideal: RunOutcome, tools: Sequence[str]
) -> Iterator[str]:
    """Yield how a run differs from the ideal in these tools' answers, and in the failure."""
    for tool in tools:
        wanted, found = ideal.find_answer(tool), made.find_answer(tool)
        if wanted != found:
            yield f"{tool}: expected {_quote(wanted)}; made {_quote(found)}"
    if made.failure != ideal.failure:
        yield f"expected {_tell(ideal.failure)}; the transaction {_tell(made.failure)}"


def make_swappable(chain: Chain) -> Mapping[str, SwappableModel]:
    """Return a chain's models, each of which `run_beside_ideal` can replace."""
    return {name: SwappableModel(model) for name, model in chain.models.items()}


def create_swappable_chain(chain: Chain) -> Chain:
    """Return a new chain with the same genesis accounts, whose model a script can replace."""
    return Chain(
        chain.config,
        make_swappable(chain),
        numeric_models=chain.numeric_models,
        accounts=chain.genesis_accounts,
    )


def run_beside_ideal(
    chain: Chain, script: Script, run: Callable[[], ResultT], *, is_ideal: bool
) -> tuple[ResultT, ResultT]:
    """Run on the model and by a script, from the same state; return both results.

    Input:
        chain: keeps the effects of the model's run.
        script: the ideal.
        run: sends the transaction.
        is_ideal: whether the script's run is the model's, too.
    """
    snapshot = chain.snapshot()
    with follow_script(chain, script):
        ideal = run()
    if is_ideal:
        return ideal, ideal
    chain.revert(snapshot)
    return run(), ideal


@contextmanager
def follow_script(chain: Chain, script: Script) -> Iterator[None]:
    """Replace a chain's model by a scripted one.

    Raises: ConfigError: the model is not of `make_swappable`, or has no vocabulary.
    """
    (model,) = chain.models.values()
    if not isinstance(model, SwappableModel):
        raise ConfigError("the chain's model: must be swappable; use the demo's `deploy`")
    ideal = ScriptedModel(script, vocabulary=_find_vocabulary(model.original))
    before = model.swap(ideal)
    try:
        yield
    finally:
        model.swap(before)


def _find_vocabulary(model: LanguageModel) -> GgufModel:
    """Return the model whose vocabulary a chain's model uses."""
    if isinstance(model, CachingModel):
        model = model.model
    if isinstance(model, HasVocabulary):
        return model.vocabulary
    if isinstance(model, GgufModel):
        return model
    raise ConfigError("the chain's model: must have a vocabulary, for the scripted ideal")


def _quote(observation: str | None) -> str:
    return "no answer" if observation is None else f'"{observation}"'


def _tell(failure: str | None) -> str:
    return "success" if failure is None else f"reverted: {failure}"
