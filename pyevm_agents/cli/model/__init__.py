"""`pyevm-agents model`: names of GGUF models, and files of numeric models."""
