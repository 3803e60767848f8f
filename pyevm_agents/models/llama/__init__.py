"""llama.cpp in a child process: engine, worker, bindings, context, prefix cache, identity."""
