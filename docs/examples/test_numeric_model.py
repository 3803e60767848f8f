"""A numeric model as a tool: docs/testing.md."""

import pytest
from pyevm_agents.models.numeric import open_shipped
from pyevm_agents.testing import answer, assert_agent, use

SENTENCE = ("Sentiment", [], [], [(0, "", "", 0, 2, 1, [(-1, "negative"), (1, "positive")])])


@pytest.mark.agent_numeric_models(["sentiment"])
def test_a_post_is_rated(agent_chain, deploy, model):
    models = "0x000000000000000000000000000000000000001a"
    rate = deploy(
        "TextModelTool",
        "Rate",
        "Rates a post",
        "post",
        "text of the post",
        (models, "sentiment", open_shipped("sentiment").digest),
        2_097_152,
        SENTENCE,
    )
    reader = deploy(
        "SimpleAgent",
        agentExecutorContract="0x0000000000000000000000000000000000000019",
        modelId="default",
        name="Reader",
        description="Reads posts",
        inputDescription="The post",
        basePrompt="You rate posts.",
        tools=[rate],
        agentMaxIterations=3,
    )
    model.script(use("Rate", post="I love it"), answer("It is positive."))

    receipt = agent_chain.ask(reader, "Rate this post: I love it")

    assert_agent(receipt).used("Rate").observed("Sentiment: 0.32 (positive)")
