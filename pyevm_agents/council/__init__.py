"""Off-chain participants of councils after ERC-8033: info agents, judges and watchers.

messages.py        requests, answers and verdicts as Python values
council_client.py  an oracle on the chain of a node, with ICouncil or with the ERC alone
erc_oracle.py      an oracle of the ERC alone, by its functions and events
erc_phases.py      phases by the ERC's getters, events and deadlines: pure functions
questions.py       the call that asks a question
commitments.py     forms of commitments, and how an oracle's is found out
commitment_trials.py  a commitment and its reveal, simulated
reputation.py      the source of a new council's reputation
store.py           answers with their nonces, and verdicts, on disk
limits.py          which requests to take
answers.py         where answers come from
deployed_agents.py answers of agents that are contracts
verdicts.py        where a judge's verdicts come from
decisions.py       the due acts for a request: pure functions
seats.py           whether an account can commit, and a lock among those who race
council_worker.py  the loop: reads, computes, keeps, sends
participants.py    info agent, judge and keeper
disputes.py        costs and gains of a dispute, and the participant that makes one
"""
