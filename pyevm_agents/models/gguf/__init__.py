"""GGUF files: locating, hashing, reading headers, LoRA adapters."""
