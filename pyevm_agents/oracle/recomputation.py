"""Answers of the executor to requests of another chain, computed on forks of it.

A request is a call of the executor by the client, on the state after the request's block and in
that block's environment. A fork of the chain at that block executes this call with the precompile
of this package, so the answer is the one that embedded execution would have given.

    with open_computer("http://127.0.0.1:8545", ModelOptions()) as computer:
        computed = computer.compute(request)
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from eth.exceptions import Revert
from eth_typing import Address
from eth_utils import keccak

from precompiles.errors import REFUSALS, Refusal, error_selector
from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from precompiles.spec import EXECUTOR_ADDRESS, MAX_CALLDATA_BYTES
from precompiles.versions import decode_request
from pyevm_agents.chain import Call, Chain
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.chain_config import get_fingerprint
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.forking import DEFAULT_RETRIES, DEFAULT_TIMEOUT_SECONDS, open_fork
from pyevm_agents.model_registry.profiles import add_models, build_numeric_profiles
from pyevm_agents.model_registry.registry import ModelChoice, build_profiles
from pyevm_agents.models import CachingModel, ScriptedModel, Vocabulary
from pyevm_agents.models.fakes.recorded import RecordingModel
from pyevm_agents.oracle.messages import Answer, ComputedAnswer, Evidence
from pyevm_agents.oracle.node_models import read_node_models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from eth.abc import BlockHeaderAPI

    from precompiles.language_model import LanguageModel, ModelProfile
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain import CallResult, ChainSimulator
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.models import LlamaModel, Progress, Store
    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.models.fakes.scripted import Script
    from pyevm_agents.oracle.messages import AgentRequest
    from pyevm_agents.vm import ForkBlock, Interruption

COMPUTATION_GAS = 10**12
"""Gas limit of a computed call, which pays nothing. At default prices a full context and the
longest output take 60 million; a limit that ends no call makes the answer independent of gas. What
a call may do is bounded by other limits: one inference, and the gas of each metadata read."""

KEPT_FORKS = 4
"""Forks that a computer keeps open, least recently used first to close. Requests come in the order
of their blocks, and several are often in one."""

NO_HASH = bytes(32)
"""A member of the evidence that a refusal does not have."""


class RequestBlockGoneError(AgentsError):
    """The chain has another block, or none, at the number of a request's block."""


class ExecutorHaltedError(EngineFault):
    """The executor ended without an answer: neither a result nor a typed refusal."""


# -- models -- #


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedModels:
    """The models of a worker, and the config of a chain with the precompile and these models."""

    config: ChainConfig
    """Models, schedule and fingerprint; a fork adds the rest."""

    models: Mapping[str, LanguageModel]
    """A language model for each model name of the config."""

    numeric_models: Mapping[str, NumericModel] = field(default_factory=dict)
    """A numeric model for each one of the config: a tool's metadata, or an agent, may call them."""

    @classmethod
    def of_chain(cls, chain: Chain) -> HostedModels:
        """Return the models of a chain with the precompile."""
        return cls(config=chain.config, models=chain.models, numeric_models=chain.numeric_models)

    def find_profile(self, arguments: bytes) -> ModelProfile | None:
        """Return the profile of the model that a request names; None if no model has that name."""
        if len(arguments) > MAX_CALLDATA_BYTES:
            return None
        try:
            model_id = decode_request(arguments).model_id
        except Refusal:
            return None
        for profile in self.config.models:
            if model_id in {profile.name, *profile.aliases, "0x" + profile.digest.hex()}:
                return profile
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The models that answer requests: those of a chain with the precompile."""

    choices: tuple[ModelChoice, ...] = (ModelChoice(),)
    schedule: ScheduleFile | None = None
    """Limits and prices; None for the defaults. Prices have no influence on answers."""

    threads: int | None = None
    kept_facts: Path | None = None
    """File in which a model's facts are kept; None for none."""

    script: Script | None = None
    """A script in place of the only model, in its tokens. Evidence then has the fingerprint of a
    model without weights."""

    store: Store | None = None
    """The generation store; None for a cache in memory."""

    progress: Callable[[Progress], None] | None = None

    numeric_models: Mapping[str, NumericModel] = field(default_factory=dict)
    """The numeric models at 0x1a by name, for agents and tools that call them."""

    def open(self, stack: ExitStack) -> HostedModels:
        """Open the models, which are loaded on first use; `stack` closes them.

        Raises: ConfigError: a file or an option is invalid.
        """
        engines = self._open_engines(stack)
        facts = [each.profile_facts for each in engines]
        profiles = build_profiles(self.choices, facts)
        numeric = build_numeric_profiles(self.numeric_models)
        own = ChainConfig(numeric_models=numeric)
        config = add_models(own, [*zip(profiles, facts, strict=True)])
        if self.schedule is not None:
            config = self.schedule.apply_to(config)
        models = {
            profile.name: CachingModel(
                model, digest=each.digest, fingerprint=each.fingerprint, store=self.store
            )
            for profile, model, each in zip(profiles, engines, facts, strict=True)
        }
        return HostedModels(config=config, models=models, numeric_models=self.numeric_models)

    def _open_engines(self, stack: ExitStack) -> Sequence[LlamaModel | ScriptedModel]:
        if self.script is None:
            return [
                stack.enter_context(
                    choice.open(
                        threads=self.threads, kept_facts=self.kept_facts, progress=self.progress
                    )
                )
                for choice in self.choices
            ]
        if len(self.choices) != 1:
            raise ConfigError(f"a script with {len(self.choices)} models: must be a single model")
        [choice] = self.choices
        vocabulary = Vocabulary(
            choice.path, adapter=choice.adapter, context_tokens=choice.context_tokens
        )
        return [ScriptedModel(self.script, vocabulary=stack.enter_context(vocabulary))]


# -- computation -- #


class RequestExecutor:
    """Executes requests on chains with the precompile. One at a time: not thread-safe."""

    def __init__(self, hosted: HostedModels) -> None:
        """Input: the models, which the caller closes."""
        self.hosted = hosted
        self._log: list[Exchange] = []
        self.models: Mapping[str, LanguageModel] = {
            name: RecordingModel(model, name=name, log=self._log)
            for name, model in hosted.models.items()
        }
        """The models for the chains on which requests are executed."""

    def open_fork(self, block: ForkBlock, *, hardfork: str | None = None) -> Chain:
        """Return a chain with the models that continues a block, which the caller closes.

        Without numeric models of its own, it has those of the remote chain.

        Input:
            block: the block.
            hardfork: the rules of the contracts; None for those of the block.

        Raises: ConfigError: the block has other code at a precompile's address. RemoteFault.
        """
        numeric = self.hosted.numeric_models or read_node_models(block)
        config = replace(self.hosted.config, numeric_models=build_numeric_profiles(numeric))
        return Chain(
            build_fork_config(config, block, hardfork=hardfork),
            self.models,
            numeric_models=numeric,
            fork=block,
        )

    def execute(
        self,
        chain: ChainSimulator,
        request: AgentRequest,
        header: BlockHeaderAPI,
        interruption: Interruption | None = None,
    ) -> ComputedAnswer:
        """Return the executor's answer to a request on the state after a block.

        Input:
            chain: with `models` at the executor.
            request: the request.
            header: of the block.
            interruption: ends the execution from another thread.

        Raises: EngineFault: the model failed, or the executor ended without an answer.
        """
        self._log.clear()
        call = Call(
            to=EXECUTOR_ADDRESS,
            sender=Address(request.commitment.client),
            data=request.arguments,
            gas=COMPUTATION_GAS,
            interruption=interruption,
        )
        try:
            result = chain.call(call, header=header)
        except GrammarViolationError as error:
            raise EngineFault(f"model output violates its grammar: {error}") from error
        except NumericFaultError as error:
            raise EngineFault(str(error)) from error
        answer = _read_answer(result)
        prompt = self._get_prompt()
        return ComputedAnswer(
            answer=answer, evidence=self._build_evidence(request, answer, prompt), prompt=prompt
        )

    def _get_prompt(self) -> str | None:
        """Return the prompt of the last call; None if the call ended before the prompt."""
        if not self._log:
            return None
        return "".join(segment.text for segment in self._log[-1].segments)

    def _build_evidence(
        self, request: AgentRequest, answer: Answer, prompt: str | None
    ) -> Evidence:
        config = self.hosted.config
        profile = self.hosted.find_profile(request.arguments)
        fingerprint = (
            config.profile_fingerprint if profile is None else get_fingerprint(config, profile)
        )
        return Evidence(
            block_hash=request.block_hash,
            model_digest=NO_HASH if profile is None else profile.digest,
            profile_fingerprint=hash_fingerprint(fingerprint),
            prompt_hash=NO_HASH if prompt is None else keccak(text=prompt),
            output_hash=keccak(answer.output),
        )


@dataclass(frozen=True, slots=True)
class _OpenFork:
    """A fork of the remote chain, with a chain that continues the fork."""

    block: RemoteFork
    chain: Chain

    def close(self) -> None:
        self.chain.close()
        self.block.close()


class ForkComputer:
    """Computes answers on forks of a remote chain. Implements `AnswerComputer`.

    Thread-safe; computes one answer at a time. The models are shared by all requests.
    """

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        url: str,
        hosted: HostedModels,
        *,
        hardfork: str | None = None,
        retries: int = DEFAULT_RETRIES,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        resources: ExitStack | None = None,
    ) -> None:
        """Connect to nothing yet.

        Input:
            url: HTTP URL of a node of the requests' chain.
            hosted: the models.
            hardfork: the rules of tools' code; None for those of the request's block.
            retries, timeout_seconds: as for `open_fork`.
            resources: closed with the computer, such as the models.

        Raises: ConfigError: an invalid value.
        """
        self._url, self._hardfork = url, hardfork
        self._retries, self._timeout_seconds = retries, timeout_seconds
        self._client = RemoteClient(url, retries=retries, timeout_seconds=timeout_seconds)
        self._executor = RequestExecutor(hosted)
        self._forks: OrderedDict[bytes, _OpenFork] = OrderedDict()
        self._resources = ExitStack() if resources is None else resources
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Return the computer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the computer."""
        self.close()

    @property
    def model_name(self) -> str:
        """The name of the first model."""
        return self._executor.hosted.config.models[0].name

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        """Return the executor's answer on the state after the request's block.

        Raises:
            RequestBlockGoneError: the block is not on the remote chain.
            ConfigError: the remote chain has other code at the executor's address.
            RemoteFault: the remote node does not answer, or lies.
            EngineFault: the model failed, or the executor ended without an answer.
        """
        with self._lock:
            self._require_block(request)
            fork = self._open_fork(request)
            return self._executor.execute(fork.chain, request, fork.chain.head)

    def close(self) -> None:
        """Close the forks and the connection."""
        with self._lock:
            while self._forks:
                self._forks.popitem()[1].close()
            self._client.close()
            self._resources.close()

    def _require_block(self, request: AgentRequest) -> None:
        """Check that a request's block is on the remote chain.

        Raises: RequestBlockGoneError.
        """
        number = request.commitment.block_number
        block = self._client.request("eth_getBlockByNumber", [hex(number), False])
        found = block.get("hash") if isinstance(block, dict) else None
        if found != "0x" + request.block_hash.hex():
            raise _build_gone_error(request, str(found or "none"))

    def _open_fork(self, request: AgentRequest) -> _OpenFork:
        """Return the fork at a request's block, an open one if there is one."""
        known = self._forks.get(request.block_hash)
        if known is not None:
            self._forks.move_to_end(request.block_hash)
            return known
        block = open_fork(
            self._url,
            block_number=request.commitment.block_number,
            retries=self._retries,
            timeout_seconds=self._timeout_seconds,
        )
        with ExitStack() as undo:
            undo.callback(block.close)
            if block.origin.block_hash != request.block_hash:
                raise _build_gone_error(request, "0x" + block.origin.block_hash.hex())
            fork = _OpenFork(block, self._executor.open_fork(block, hardfork=self._hardfork))
            undo.pop_all()
        self._forks[request.block_hash] = fork
        while len(self._forks) > KEPT_FORKS:
            self._forks.popitem(last=False)[1].close()
        return fork


def open_computer(
    url: str,
    options: ModelOptions | None = None,
    *,
    hardfork: str | None = None,
    retries: int = DEFAULT_RETRIES,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> ForkComputer:
    """Open the models, and return a computer that closes the models.

    Input:
        url: HTTP URL of a node of the requests' chain.
        options: the models; None for the default one.
        hardfork, retries, timeout_seconds: as for `ForkComputer`.

    Raises: ConfigError: an invalid value.
    """
    with ExitStack() as resources:
        hosted = (options or ModelOptions()).open(resources)
        return ForkComputer(
            url,
            hosted,
            hardfork=hardfork,
            retries=retries,
            timeout_seconds=timeout_seconds,
            resources=resources.pop_all(),
        )


def hash_fingerprint(fingerprint: str) -> bytes:
    """Return the hash of an engine's profile that evidence has: keccak-256 of the JSON text."""
    return bytes(keccak(text=fingerprint))


def _read_answer(result: CallResult) -> Answer:
    """Return the executor's answer.

    Raises: ExecutorHaltedError: the executor ended without an answer.
    """
    if result.error is None:
        return Answer(refused=False, output=result.output)
    if isinstance(result.error, Revert) and is_refusal(result.output):
        return Answer(refused=True, output=result.output)
    raise ExecutorHaltedError(
        f"the executor gave no answer: {type(result.error).__name__}: {result.error}; this is a "
        "bug, please report it"
    )


def is_refusal(output: bytes) -> bool:
    """Return whether revert data is a typed error of the executor."""
    return output[:4] in {error_selector(name) for name in REFUSALS}


def _build_gone_error(request: AgentRequest, found: str) -> RequestBlockGoneError:
    number = request.commitment.block_number
    return RequestBlockGoneError(
        f"request 0x{request.commitment.request_id:064x} is of block {number} "
        f"(0x{request.block_hash.hex()}), which is not on the chain any more: there is {found}; "
        "look for the request again"
    )
