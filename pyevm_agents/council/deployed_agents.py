"""Answers of an agent that is a contract: run on a fork of the chain, so that no answer is public.

The agent's own prompt, tools and base of knowledge are those of the chain; the model is local.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

from eth.exceptions import Revert
from eth_abi.exceptions import DecodingError
from eth_typing import Address
from eth_utils import to_checksum_address

from precompiles.numeric_model import NumericFaultError
from precompiles.outcome import is_done
from precompiles.react import GrammarViolationError
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.not_done import describe_not_done, find_not_done
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.chain import Call
from pyevm_agents.client.contract import RemoteContract, require_code
from pyevm_agents.council.answers import NoAnswerError, find_option, fit_options
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault, RemoteFault
from pyevm_agents.forking import open_fork
from pyevm_agents.oracle.recomputation import COMPUTATION_GAS, RequestExecutor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.chain import CallResult
    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.messages import CouncilRequest
    from pyevm_agents.oracle.recomputation import HostedModels

CONTRACT = "IERCAgent"
RESULT = re.compile(r"Done\. [^ ]*?: (.*)", re.DOTALL)
BLANKS = "".join(map(chr, range(0x21)))


class AgentAnswer:
    """The answers of a deployed agent. Implements `AnswerSource`."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: CouncilClient,
        url: str,
        hosted: HostedModels,
        agent: bytes,
        *,
        caller: bytes,
        hardfork: str | None = None,
    ) -> None:
        """Read nothing yet.

        Input:
            client, url: the chain.
            hosted: the models that run the agent, which the caller closes.
            agent: the address.
            caller: of the run, as seen by the agent: some agents have an owner.
            hardfork: the rules of the contracts; None for those of the block.
        """
        self._client, self._url, self._agent = client, url, agent
        self._caller, self._hardfork = caller, hardfork
        self._executor = RequestExecutor(hosted)

    def require_agent(self) -> None:
        """Check that the address has an agent, and that the agent's model is here.

        Raises: ConfigError: no agent, or another model or executor.
        """
        require_code(self._client, self._agent)
        contract = RemoteContract(self._client, CONTRACT, self._agent)
        name = contract.checksum_address
        try:
            model, executor = contract.read_all([("modelId", ()), ("agentExecutorContract", ())])
        except RemoteFault:
            raise
        except AgentsError as error:
            raise ConfigError(
                f"{name}: not an IERCAgent, for it has no modelId; pass the address of an agent, "
                "such as a CouncilInfoAgent"
            ) from error
        if bytes.fromhex(executor[2:]) != EXECUTOR_ADDRESS:
            raise ConfigError(
                f"agent {name}: asks the executor {to_checksum_address(executor)}, not "
                f"{to_checksum_address(EXECUTOR_ADDRESS)}, so no local model can run it"
            )
        arguments = load_artifact("IERCAgentExecutor").encode_call(
            "runNextIteration", model, "", [], [], [], ""
        )
        if self._executor.hosted.find_profile(arguments) is None:
            known = ", ".join(self._executor.hosted.models)
            raise ConfigError(
                f"agent {name}: its model {sanitize(model)} is not here, only {known}; pass it "
                "with --model"
            )

    def answer(self, request: CouncilRequest) -> bytes:
        """Return the agent's answer; of a discrete query, the named option.

        Raises: NoAnswerError: the agent reverts, or is not done. AgentsError: the node or the model
                failed.
        """
        number = self._client.read_head().number
        with (
            closing(open_fork(self._url, block_number=number)) as block,
            closing(self._executor.open_fork(block, hardfork=self._hardfork)) as chain,
        ):
            call = Call(
                to=Address(self._agent),
                sender=Address(self._caller),
                data=encode_run(request.full_question),
                gas=COMPUTATION_GAS,
            )
            try:
                result = chain.call(call, header=chain.head)
            except GrammarViolationError as error:
                raise EngineFault(f"model output violates its grammar: {error}") from error
            except NumericFaultError as error:
                raise EngineFault(str(error)) from error
        said = read_answer(result, request.options)
        return fit_options(request, find_result(said).encode(), exact=False)


def read_answer(result: CallResult, options: Sequence[str] = ()) -> str:
    """Return an agent's answer.

    Input:  options, which count as answers even with the beginning of an answer that is not done,
            such as `Failed`.
    Raises: NoAnswerError: no answer, or not done.
    """
    if result.error is not None:
        undone = find_not_done(bytes(result.output))
        if undone is not None:
            raise NoAnswerError(f"the agent is {describe_not_done(sanitize(undone))}")
        is_revert = isinstance(result.error, Revert) and bool(result.output)
        reason = decode_revert(result.output) if is_revert else type(result.error).__name__
        raise NoAnswerError(f"the agent fails: {reason}")
    try:
        _, said = load_artifact(CONTRACT).decode_result("run", result.output)
    except (DecodingError, OverflowError, UnicodeDecodeError) as error:
        raise NoAnswerError("the agent returns no run ID with a text") from error
    if not is_done(said) and find_option(options, said.encode()) is None:
        raise NoAnswerError(f"the agent is {describe_not_done(sanitize(said))}")
    return str(said)


def find_result(said: str) -> str:
    """Return the result of an agent's tool: RESULT of `Done. TOOL: RESULT`, else the whole text.

    Source: `CouncilText.resultOf`.
    """
    match = RESULT.fullmatch(said)
    return said if match is None else match[1].strip(BLANKS)
