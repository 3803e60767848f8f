"""Passages that an agent searches: docs/retrieval.md."""

from pyevm_agents.testing import answer, use


def test_the_handbook_is_read(agent_chain, deploy, model, accounts):
    base = deploy("KnowledgeBase", accounts[0], "a an and of the", 1200, 750)
    base.functions.add(
        ["The fee of the blue pool is 35 percent.", "Owls sleep by day."], True
    ).transact()
    tool = deploy("RetrievalTool", base, "Handbook", "Finds passages", "Words to look for", 3, 400)
    executor = "0x0000000000000000000000000000000000000019"
    clerk = deploy(
        "SimpleAgent", executor, "default", "Clerk", "Answers", "A question", "Answer.", [tool], 3
    )
    model.script(use("Handbook", query="fee of the blue pool"), answer("35 percent."))
    receipt = agent_chain.ask(clerk, "What is the fee?")
    assert (
        agent_chain.steps(receipt)[0].observation == '[a] "The fee of the blue pool is 35 percent."'
    )
