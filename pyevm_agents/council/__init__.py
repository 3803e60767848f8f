"""Off-chain participants of councils after ERC-8033: info agents, judges and watchers.

messages.py        requests, answers and verdicts as Python values
council_client.py  an AgentCouncilOracle on the chain of a node
store.py           answers with their nonces, and verdicts, on disk
limits.py          which requests to take
answers.py         where answers come from
deployed_agents.py answers of agents that are contracts
verdicts.py        where a judge's verdicts come from
decisions.py       the due acts for a request: pure functions
council_worker.py  the loop: reads, computes, keeps, sends
participants.py    info agent, judge and keeper
disputes.py        costs and gains of a dispute, and the participant that makes one
"""
