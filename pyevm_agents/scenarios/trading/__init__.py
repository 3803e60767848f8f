"""A trading desk whose agents use models as tools."""
