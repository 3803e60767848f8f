"""Generation store: a SQLite cache of generations, and the model on top."""
