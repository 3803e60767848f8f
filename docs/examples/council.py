"""A council of three agents and its rewards: docs/council.md."""

from pyevm_agents.testing import AgentChain

ZERO = "0x0000000000000000000000000000000000000000"
TERMS = dict(
    revealTime=600,
    drawTime=3_000,
    judgeTime=900,
    disputeWindow=0,  # no disputes
    disputeRegistrationTime=600,
    callbackGas=200_000,
    judgeFee=1_000,  # the judge gets 10 % of the reward
    disputeBond=0,
    disputerReimbursement=0,
    judgeReimbursement=0,
    seedDelay=2,
    deterministic=False,
    weightedVotes=False,
    proportionalRewards=False,
    minBond=1,
    minAgentReputation=-(2**31),
    minJudgeReputation=-(2**31),
    minDisputeJudgeReputation=-(2**31),
    disputeJudges=3,  # of a dispute; without disputes it does not count
    plainCommitments=False,  # bound to the agent, so that nobody can copy them
)

with AgentChain() as chain:
    requester, *agents = chain.w3.eth.accounts[:4]
    oracle = chain.deploy("AgentCouncilOracle", TERMS, ZERO)
    request = ("Is 7 a prime?", 3, 10**17, chain.time + 600, ZERO, "OPTIONS: yes|no", ((), ()))
    oracle.functions.createRequest(*request).transact({"from": requester, "value": 10**18})
    for agent, answer in zip(agents, (b"yes", b"yes", b"no")):
        commitment = oracle.functions.commitmentOf(1, agent, answer, 7).call()
        oracle.functions.commit(1, commitment).transact({"from": agent, "value": 10**17})
    for agent, answer in zip(agents, (b"yes", b"yes", b"no")):
        oracle.functions.reveal(1, answer, 7).transact({"from": agent})
    oracle.functions.distributeRewards(1).transact({"from": requester})
    print(oracle.functions.getResolution(1).call())
    print([oracle.functions.claimable(ZERO, agent).call() / 10**18 for agent in agents])
