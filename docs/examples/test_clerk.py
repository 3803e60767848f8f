"""An agent that adds to a counter: README.md and docs/testing.md."""

from pyevm_agents.testing import answer, assert_agent, use


def test_the_clerk_adds(agent_chain, deploy, model):
    counter = deploy("CounterTool")
    clerk = deploy(
        "SimpleAgent",
        agentExecutorContract="0x0000000000000000000000000000000000000019",
        modelId="default",
        name="Clerk",
        description="Counts for you",
        inputDescription="What to count",
        basePrompt="You count what you are told to.",
        tools=[counter],
        agentMaxIterations=3,
    )
    model.script(use("CounterTool", amount=5), answer("It is 5 now."))

    receipt = agent_chain.ask(clerk, "Add five to the counter")

    assert_agent(receipt).used("CounterTool").with_args(amount=5).then_answered("It is 5 now.")
    assert counter.functions.number().call() == 5
