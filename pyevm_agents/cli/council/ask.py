"""`pyevm-agents council ask`: a question to a council, with a reward."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_typing import Address
from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.cli.council.commitment_output import print_commitments
from pyevm_agents.cli.council.participation import oracle_option
from pyevm_agents.cli.options.amounts import AMOUNT_TYPE
from pyevm_agents.cli.options.sender import Sender, add_sender_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE, DURATION_TYPE, format_time
from pyevm_agents.cli.output import json_option, out
from pyevm_agents.cli.text_command import TextCommand
from pyevm_agents.client.accounts import RevertedError
from pyevm_agents.client.contract_kinds import TOKEN, require_kind
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.council.council_client import CONTRACT, CouncilClient
from pyevm_agents.council.messages import NOBODY, OPTIONS_PREFIX
from pyevm_agents.council.questions import AskedQuestion, encode_question
from pyevm_agents.display import format_amount
from pyevm_agents.errors import ConfigError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.client.accounts import SendingAccount, SentTransaction

ALLOWANCE = function_signature_to_4byte_selector("allowance(address,address)")
APPROVE = function_signature_to_4byte_selector("approve(address,uint256)")
"""Selectors. Source: ERC-20."""

CREATED = compute_topic("RequestCreated(uint256,address,string,uint256,uint256,uint256)")
MAX_AGENTS = 64
MIN_OPTIONS, MAX_OPTIONS, MAX_OPTION_BYTES = 2, 16, 64
"""Source: `CouncilRules` and `CouncilOptions`."""

EXAMPLES = """\b
Examples:
  pyevm-agents council ask "What is the capital of France?" --oracle 0x5FbD… --keystore me.json
  pyevm-agents council ask "Was it above 30 degrees?" --option yes --option no --oracle 0x5FbD… \\
      --keystore me.json --agents 5 --reward 0.5ether
"""


@click.command(cls=TextCommand, epilog=EXAMPLES)
@click.argument("question")
@oracle_option
@click.option(
    "--agents", type=click.IntRange(1, MAX_AGENTS), default=3, show_default=True,
    metavar="NUMBER", help="How many info agents answer.",
)  # fmt: skip
@click.option(
    "--bond", type=AMOUNT_TYPE, default="0.01ether", show_default=True, metavar="AMOUNT",
    help="What each info agent and judge puts up.",
)  # fmt: skip
@click.option(
    "--reward", type=AMOUNT_TYPE, default="0.1ether", show_default=True, metavar="AMOUNT",
    help="What the council gets; with --reward-token in its base units.",
)  # fmt: skip
@click.option(
    "--reward-token", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="An ERC-20 token of the reward. The council is allowed just the reward first.  "
    "[default: ether]",
)  # fmt: skip
@click.option(
    "--deadline", "commit_time", type=DURATION_TYPE, default="30m", show_default=True,
    metavar="TIME", help="How long agents can commit.",
)  # fmt: skip
@click.option(
    "--option", "options", multiple=True, metavar="TEXT",
    help="An answer that counts; no others do. Repeatable: votes over half decide.",
)  # fmt: skip
@click.option("--specifications", default="", metavar="TEXT", help="What else agents must know.")
@click.option(
    "--capability", "capabilities", multiple=True, metavar="NAME",
    help="What agents must be able to do, such as text. Repeatable.",
)  # fmt: skip
@click.option(
    "--domain", "domains", multiple=True, metavar="NAME",
    help="What agents must know about. Repeatable.",
)  # fmt: skip
@click.option(
    "--value", type=AMOUNT_TYPE, default="0", metavar="AMOUNT",
    help="What depends on the answer beside reward and bonds: who dispute and judge it put up as "
    "much together.",
)  # fmt: skip
@click.option(
    "--pay-directly", is_flag=True,
    help="Send rewards and bonds when they are shared. Else everybody withdraws.",
)  # fmt: skip
@add_sender_options
@json_option
def ask(  # noqa: PLR0913 - one for each option
    question: str,
    sender: Sender,
    *,
    oracle: bytes,
    agents: int,
    bond: int,
    reward: int,
    reward_token: bytes | None,
    commit_time: int,
    options: Sequence[str],
    specifications: str,
    capabilities: Sequence[str],
    domains: Sequence[str],
    value: int,
    pay_directly: bool,
    as_json: bool,
) -> None:
    """Ask a council a QUESTION, and pay the reward.

    The council answers by `council join` and `council judge` of others; `council watch` shows the
    progress.
    """
    if not question.strip():
        raise click.UsageError("QUESTION: must not be empty")
    text = _join_specifications(options, specifications)
    with closing(CouncilClient(sender.url, oracle)) as client:
        client.require_council()
        extras = _list_extras(client, pay_directly=pay_directly, value=value)
        question_form = AskedQuestion(
            query=question,
            agents=agents,
            bond=bond,
            reward=reward,
            reward_token=reward_token or NOBODY,
            deadline=client.read_time(client.read_head()) + commit_time,
            specifications=text,
            capabilities=tuple(capabilities),
            domains=tuple(domains),
        )
        call, note = encode_question(client, question_form)
        sent = sender.account
        if reward_token is not None:
            _allow(client, sent, reward_token, oracle, reward)
        amount = reward if reward_token is None else 0
        mined = sent.transact(oracle, call, value_wei=amount, purpose="Asked the council")
        request_id = _find_request(mined, oracle)
        for function, arguments, purpose in extras:
            more = load_artifact(CONTRACT).encode_call(function, request_id, *arguments)
            sent.transact(oracle, more, purpose=purpose)
        address, deadline = to_checksum_address(oracle), question_form.deadline
        if as_json:
            sent.print_json(
                request=request_id,
                oracle=address,
                question=question,
                specifications=text,
                agents=agents,
                bondWei=str(bond),
                reward=str(reward),
                rewardToken=to_checksum_address(reward_token or NOBODY),
                deadline=deadline,
                paysDirectly=pay_directly,
                valueWei=str(value),
            )
            return
        paid = format_amount(reward)
        if reward_token is not None:
            paid = f"{reward:,} base units of {to_checksum_address(reward_token)}"
        out.print(
            f"Request {request_id}: {agents} agents, {paid}, bonds of {format_amount(bond)}; "
            f"commit until {format_time(deadline)}",
            soft_wrap=True,
        )
        [view] = client.read_views([request_id])
        print_commitments(client, view.request)
        for line in (
            note,
            _tell_disputes(client, is_of_token=reward_token is not None, value=value),
        ):
            if line:
                out.print(line, soft_wrap=True)
        out.print(
            f"Watch it:  pyevm-agents council watch --oracle {address} --request {request_id}",
            soft_wrap=True,
        )


def _list_extras(
    client: CouncilClient, *, pay_directly: bool, value: int
) -> list[tuple[str, tuple[int, ...], str]]:
    """Return what follows the question: functions, arguments and purposes.

    Raises: ConfigError: the oracle has no such function.
    """
    extras: list[tuple[str, tuple[int, ...], str]] = []
    if value:
        purpose = f"Declared a value of {format_amount(value)}"
        extras.append(("declareValue", (value,), purpose))
    if pay_directly:
        extras.append(("payDirectly", (), "Chose direct payment"))
    if extras and client.erc is not None:
        option = "--value" if value else "--pay-directly"
        raise ConfigError(
            f"{option}: the oracle has no {extras[0][0]}, which is beside ERC-8033; omit the option"
        )
    return extras


def _tell_disputes(client: CouncilClient, *, is_of_token: bool, value: int) -> str | None:
    """Return why an answer will be final at once; None if it can be disputed, or nobody knows."""
    terms = client.read_dispute_terms()
    if terms is None:
        return None
    if not terms.window:
        return "The answer will be final: this council has no disputes"
    if is_of_token and not value:
        return "The answer will be final: a reward in a token is disputable with --value alone"
    return None


def _join_specifications(options: Sequence[str], specifications: str) -> str:
    """Return specifications with the options, in the form of `CouncilOptions`.

    Raises: click.UsageError: the contract would refuse the text, or read other options.
    """
    if not options:
        if specifications.startswith(OPTIONS_PREFIX):
            raise click.UsageError(
                f"--specifications {specifications!r:.80}: begins with {OPTIONS_PREFIX.strip()!r}; "
                "pass each option by --option"
            )
        return specifications
    if not MIN_OPTIONS <= len(options) <= MAX_OPTIONS:
        raise click.UsageError(
            f"--option: {len(options)} given; must be {MIN_OPTIONS} to {MAX_OPTIONS}: repeat "
            "--option for each answer"
        )
    for each in options:
        if "|" in each or "\n" in each or not 1 <= len(each.encode()) <= MAX_OPTION_BYTES:
            raise click.UsageError(
                f"--option {each!r:.80}: must have 1 to {MAX_OPTION_BYTES} bytes, no | and no line "
                "break"
            )
    if len(set(options)) < len(options):
        raise click.UsageError(f"--option: given twice: {', '.join(options)}; pass each once")
    line = OPTIONS_PREFIX + "|".join(options)
    return f"{line}\n{specifications}" if specifications else line


def _allow(
    client: CouncilClient, account: SendingAccount, token: bytes, oracle: bytes, amount: int
) -> None:
    """Let the council take a token's amount, and no more: the council takes the whole allowance.

    Some tokens refuse to change an allowance that is not zero, so the allowance is zero in between.

    Raises: ConfigError: not a token.
    """
    require_kind(client, "--reward-token", token, TOKEN)
    call = ALLOWANCE + encode(["address"] * 2, [account.address, oracle])
    try:
        output = account.read(Address(token), call)
        [allowed] = decode(["uint256"], output)
    except (RemoteError, RevertedError, DecodingError) as error:
        raise ConfigError(
            f"{to_checksum_address(token)}: no token of ERC-20, by its allowance() ({error}); "
            "check --reward-token"
        ) from error
    if allowed == amount:
        return
    for each in (0, amount) if allowed else (amount,):
        call = APPROVE + encode(["address", "uint256"], [oracle, each])
        account.transact(token, call, purpose=f"Allowed the council {each:,} base units")


def _find_request(sent: SentTransaction, oracle: bytes) -> int:
    """Return the number of the request that a transaction made.

    Raises: RemoteFault: the receipt has no event of a request.
    """
    for log in sent.logs:
        if log.address == oracle and log.topics[:1] == (CREATED,):
            return int.from_bytes(log.topics[1])
    raise RemoteFault(
        f"transaction 0x{sent.hash.hex()}: its receipt has no RequestCreated; pass another node"
    )
