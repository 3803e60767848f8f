"""Complete prompts and grammars of a few histories: each byte decides the generation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.model_registry.profiles import DEFAULT_MODEL_NAME, build_model_profile
from pyevm_agents.scenarios.wallet import WalletDemo
from tests.byte_model import PROFILE
from tests.golden.byte_chain import ANSWER, EVERY_TYPE, EXECUTOR, deploy_tool, open_bench
from tests.golden.consensus import encode_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_typing import Address

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models import ProfileFacts, Vocabulary
    from tests.chain_bench import Bench

PAYER, PAYEE = "0x" + "ab" * 20, to_checksum_address("0x" + "cd" * 20)
ESCAPED = 'a\tb\r\nc\rd\x00e\x7ff\u2028g "quoted" \\ <|im_end|> é “—”'
SPOKEN = 'Thought: I look\nAction: Every type\nAction Input: {"a": 1}'


def collect_prompts(vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return prompts and grammars, and the default model's chat template."""
    facts = vocabulary.profile_facts
    return {
        "chat template of the default model": {
            "name": DEFAULT_MODEL_NAME,
            "before the system message": facts.chat_prefix,
            "before the user message": facts.chat_middle,
            "before the model's words": facts.chat_suffix,
        },
        "no tools": _asked(encode_request()),
        "escapes and handles": _asked(
            encode_request(
                base_prompt=f"{ESCAPED}\nPayer = {PAYER}\n\nEND = {PAYEE}.",
                prompt=f"{ESCAPED} {PAYER} {PAYEE} 0x{'EF' * 20}",
            )
        ),
        "tools of all types": _with_tools(f"Pay {PAYEE} from {PAYER}"),
        "tools and no address": _with_tools("Pay"),
        "a history": _with_tools(
            "Go on",
            reasoning=[SPOKEN, SPOKEN.replace("1", f'"{PAYER}"'), "", ""],
            results=[f"{ESCAPED} {PAYEE}", "", "", ""],
        ),
        "the default model's wallet": _wallet(facts),
        "an agent that uses an agent": _nested(),
    }


def _asked(data: bytes, bench: Bench | None = None) -> object:
    bench = bench or open_bench([ANSWER])
    bench.call(EXECUTOR, data, gas=29_000_000).raise_if_error()
    return _shown(bench.model.requests)


def _shown(requests: Sequence[GenerationRequest]) -> list[Mapping[str, object]]:
    return [
        {
            "prompt": [
                {"is template": one.is_template, "lines": one.text.split("\n")}
                for one in request.segments
            ],
            "grammar": request.grammar.split("\n"),
            "handles": [list(pair) for pair in request.handles],
        }
        for request in requests
    ]


def _with_tools(prompt: str, **told: Sequence[str]) -> object:
    bench = open_bench([ANSWER])
    tools = [
        deploy_tool(bench, "Every type", f"Takes\nall of {PAYEE}", EVERY_TYPE),
        deploy_tool(bench, "Nothing", "", ()),
        deploy_tool(
            bench, 'A "quoted" name', ESCAPED, ((1, 'who "pays"', PAYER), (0, "\\", ESCAPED))
        ),
        deploy_tool(bench, "Lists", "Takes addresses", ((6, "addresses", "some"),)),
    ]
    data = encode_request(
        base_prompt=f"USDC = {PAYEE}" if "0x" in prompt else "Be kind.",
        tools=tools,
        prompt=prompt,
        **told,  # type: ignore[arg-type]
    )
    return _asked(data, bench)


def _wallet(facts: ProfileFacts) -> object:
    """Run the demo's wallet under the default model's profile."""

    def say(request: GenerationRequest) -> str:
        if "Observation: Success" in "".join(one.text for one in request.segments):
            return " I now know the final answer\nFinal Answer: Done."
        return ' Deposit.\nAction: DeployTool\nAction Input: {"asset": "USDC", "amount": 10}'

    profile = replace(build_model_profile(facts), context_tokens=200_000)
    bench = open_bench(say, profile=profile)
    wallet = WalletDemo(bench.chain)
    assert wallet.run("Deposit 10 USDC").is_success
    return _shown(bench.model.requests)


def _nested() -> object:
    """Run an agent whose one tool is another agent, which counts."""
    bench = open_bench(
        [
            ' Ask.\nAction: Counting Agent\nAction Input: {"prompt": "Please add 7"}',
            ' Add.\nAction: CounterTool\nAction Input: {"amount": 7}',
            " Counted.\nFinal Answer: It is 7.",
            " Asked.\nFinal Answer: Done.",
        ],
        profile=replace(PROFILE, cold_prompt_token_gas=1_000),
    )
    counter = bench.deploy("CounterTool")
    counting = _agent(bench, "Counting Agent", "Adds to the counter", counter)
    asking = _agent(bench, "Asking Agent", "Asks an agent", counting)
    prompt = encode(["string"], ["Please add 7"])
    data = load_artifact("SimpleAgent").encode_call("run", ([(0, prompt)], prompt), bytes(20))
    bench.call(asking, data, gas=29_000_000).raise_if_error()
    return _shown(bench.model.requests)


def _agent(bench: Bench, name: str, description: str, tool: Address) -> Address:
    texts = (name, description, "what to do", f"You are {name}.")
    return bench.deploy("SimpleAgent", EXECUTOR, "bytes", *texts, [tool], 5)
