"""How the default model's adapter came to be: tasks, data, training. Not part of the wheel.

Data flow one way: `tasks` says what a task is, `kinds` and its neighbours make them up from a seed,
`runs` renders one as the model will read and write it, `dataset` turns runs into tokens. `train`
learns from these and `export` writes what was learned: they, and all that they import (`llama`,
`lora`, `attention`, `packing`, `learner` and others), need PyTorch and none of our packages. The
benchmark `agent_accuracy` plays held-out tasks on a chain.
"""
