"""Where answers come from: a text, a command, or a model on a fork of the chain.

Answers of agents that are contracts are in deployed_agents.py.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Protocol

from eth_utils import keccak

from precompiles.outcome import is_done
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.not_done import describe_not_done
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.iteration_results import decode_iteration
from pyevm_agents.council.messages import MAX_ANSWER_BYTES, describe_request
from pyevm_agents.display import sanitize
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.oracle.messages import AgentRequest, Commitment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.council.council_client import CouncilClient
    from pyevm_agents.council.messages import CouncilRequest
    from pyevm_agents.oracle.messages import AnswerComputer

BASE_PROMPT = "You answer questions. Give the answer alone, in as few words as possible."
MAX_OUTPUT_BYTES = 1 << 20
SHOWN_CHARACTERS = 300


class NoAnswerError(AgentsError):
    """There is no answer now; the next round tries again."""


class SameAnswerError(NoAnswerError):
    """There is no answer, and the same comes out of each other try."""


class AnswerSource(Protocol):
    """Answers questions."""

    def answer(self, request: CouncilRequest) -> bytes:
        """Return the answer. Raises: AgentsError: there is none now."""
        ...


class FixedAnswer:
    """The same answer to every question. Implements `AnswerSource`."""

    def __init__(self, text: str) -> None:
        """Raises: ConfigError: the answer is empty or too long."""
        self._answer = text.encode()
        if not 1 <= len(self._answer) <= MAX_ANSWER_BYTES:
            raise ConfigError(
                f"answer of {len(self._answer):,} bytes: must be 1 to {MAX_ANSWER_BYTES:,}"
            )

    def answer(self, request: CouncilRequest) -> bytes:
        """Return the answer. Raises: SameAnswerError: none of the request's options."""
        try:
            return fit_options(request, self._answer, exact=True)
        except NoAnswerError as error:
            raise SameAnswerError(f"{error}; start again with another --answer") from error


class CommandAnswer:
    """A program that reads the request as JSON and writes the answer."""

    def __init__(self, words: Sequence[str], timeout_seconds: float) -> None:
        """Input: the program with arguments; the time limit."""
        self._words, self._timeout = words, timeout_seconds

    def answer(self, request: CouncilRequest) -> bytes:
        """Return the program's output, without the end of the line. Raises: NoAnswerError."""
        output = run_command(self._words, describe_request(request), self._timeout)
        answer = output.removesuffix(b"\n").removesuffix(b"\r")
        return fit_options(request, answer, exact=True)


class AskedModel:
    """A model that answers on a fork of the chain at the head."""

    def __init__(
        self, client: CouncilClient, computer: AnswerComputer, model: str, base_prompt: str
    ) -> None:
        """Input: the chain; computes answers; the model's name; the first part of its prompts."""
        self._client, self._computer = client, computer
        self._model, self._base_prompt = model, base_prompt

    def ask(
        self,
        request: CouncilRequest,
        prompt: str,
        *,
        base_prompt: str | None = None,
        options: Sequence[str] = (),
    ) -> str:
        """Return the model's answer.

        Input:  the question; the first part of the prompt, by default that of all questions;
            options, which count as answers even with the beginning of an answer that is not
            done, such as `Failed`.
        Raises: NoAnswerError: a refusal, or an answer that is not done. AgentsError: the model
            failed.
        """
        head = self._client.read_head()
        arguments = load_artifact("IERCAgentExecutor").encode_call(
            "runNextIteration", self._model, base_prompt or self._base_prompt, [], [], [], prompt
        )
        commitment = Commitment(
            request_id=request.request_id,
            client=self._client.oracle,
            budget_id=0,
            arguments_hash=bytes(keccak(arguments)),
            callback_gas_limit=0,
            fee=0,
            block_number=head.number,
            deadline=request.deadline,
        )
        computed = self._computer.compute(
            AgentRequest(
                oracle=self._client.oracle,
                commitment=commitment,
                arguments=arguments,
                block_hash=head.hash,
            )
        )
        if computed.answer.refused:
            raise NoAnswerError(f"the model refuses: {decode_revert(computed.answer.output)}")
        said = decode_iteration(computed.answer.output).final_answer
        if not is_done(said) and find_option(options, said.encode()) is None:
            raise NoAnswerError(f"the model is {describe_not_done(sanitize(said))}")
        return said


class ModelAnswer:
    """A model's answers. Implements `AnswerSource`."""

    def __init__(self, model: AskedModel) -> None:
        """Input: the model."""
        self._model = model

    def answer(self, request: CouncilRequest) -> bytes:
        """Return the model's answer; of a discrete query, the named option.

        Raises: SameAnswerError: the model says something else. AgentsError: it failed.
        """
        try:
            said = self._model.ask(request, request.full_question, options=request.options)
            return fit_options(request, said.strip().encode(), exact=False)
        except NoAnswerError as error:
            raise SameAnswerError(
                f"{error}; the model says the same each time, so start again with --answer, "
                "--answer-command or --agent"
            ) from error


def fit_options(request: CouncilRequest, answer: bytes, *, exact: bool) -> bytes:
    """Return an answer in the oracle's form; of a discrete query, the option.

    Input:  exact: whether case, blanks and a full stop count.
    Raises: NoAnswerError: empty, too long, or no option.
    """
    if not 1 <= len(answer) <= MAX_ANSWER_BYTES:
        raise NoAnswerError(f"answer of {len(answer):,} bytes: must be 1 to {MAX_ANSWER_BYTES:,}")
    if not request.options:
        return answer
    option = find_option(request.options, answer, exact=exact)
    if option is not None:
        return option
    shown = sanitize(answer.decode(errors="replace"))
    raise NoAnswerError(f"{shown}: must be one of {', '.join(request.options)}")


def find_option(options: Sequence[str], answer: bytes, *, exact: bool = False) -> bytes | None:
    """Return the option that equals an answer; None without one.

    Input:  exact: whether case, blanks and a full stop count.
    """
    for option in map(str.encode, options):
        if option == answer or (not exact and fold(option) == fold(answer)):
            return option
    return None


def fold(text: bytes) -> bytes:
    """Return an answer in lower case, without blanks and quotes around, and without the full stop.

    Source: `CouncilText.fold`.
    """
    around = bytes(range(0x21)) + b'"'
    return text.lstrip(around).rstrip(around + b".").lower()


def run_command(words: Sequence[str], form: object, timeout_seconds: float) -> bytes:
    """Return the output of a program that reads JSON.

    Raises: NoAnswerError: the program can't be started, fails, takes too long, or writes too much.
    """
    name = words[0]
    try:
        done = subprocess.run(
            [*words],
            input=json.dumps(form, ensure_ascii=False).encode(),
            capture_output=True,
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(f"{name}: gave no answer within {timeout_seconds:g} s") from error
    except OSError as error:
        raise NoAnswerError(f"{name}: can't be started: {error.strerror}") from error
    if done.returncode:
        said = sanitize(done.stderr.decode(errors="replace").strip()[-SHOWN_CHARACTERS:])
        raise NoAnswerError(f"{name}: ended with status {done.returncode}: {said or 'no message'}")
    if len(done.stdout) > MAX_OUTPUT_BYTES:
        raise NoAnswerError(f"{name}: wrote more than {MAX_OUTPUT_BYTES:,} bytes")
    return done.stdout
