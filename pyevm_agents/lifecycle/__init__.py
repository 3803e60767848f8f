"""Runs in nine phases: discover, plan, trust check, policy check, dry run, execute, verify, record.

A run belongs to a task. Its dry run executes the plan on a draft of the next block; execution must
give the same digest, or no block holds it. Each phase is a row of a SQLite file, so that a run
continues after a kill.

* module.py, task.py, plan.py, context.py: what an agent implements, and what it is given
* trust.py, policy.py: what stops a run before it does anything
* session.py: everything that an agent does on the chain, with its limits
* chain_port.py, local_chain.py: the chain as the phases need it
* orchestrator.py, store.py: the state machine, and what it keeps

Source: docs/lifecycle-reference.md.
"""
