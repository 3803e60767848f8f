"""An Ethereum chain whose contracts can ask a language model, for development and tests."""
