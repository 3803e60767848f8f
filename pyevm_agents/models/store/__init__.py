"""Generation store: a SQLite cache of generations, and the model that uses it."""
