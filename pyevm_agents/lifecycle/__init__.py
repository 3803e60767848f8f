"""Runs in nine phases: discover, plan, trust check, policy check, dry run, execute, verify, record.

A run belongs to a task. The dry run executes the plan on a draft of the next block; execution must
give the same digest, or no block holds the run. Each phase is a row of a SQLite file, so that a run
continues after a kill.

* module.py, task.py, plan.py, context.py: the interface of an agent, and an agent's inputs
* trust.py, policy.py: checks that stop a run before the first act
* session.py: everything that an agent does on the chain, with limits
* run_block.py, local_chain.py: the block of a run, and the chain
* orchestrator.py, store.py: the state machine, and the kept state

Source: docs/lifecycle-reference.md.
"""
