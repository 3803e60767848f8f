"""Training of the default model's adapter: tasks, data, training. Not part of the wheel.

Data flows one way: `tasks` defines a task, `kinds` and related modules generate tasks from a seed,
`runs` renders a task's run as prompts and generations, `dataset` tokenizes runs. `train` trains on
the tokens and `export` writes the adapter: these two, and all that they import (`llama`, `lora`,
`attention`, `packing`, `learner` and others), need PyTorch and none of our packages. The benchmark
`agent_accuracy` executes held-out tasks on a chain.
"""
