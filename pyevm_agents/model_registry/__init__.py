"""Names of models, their files and their profiles for genesis."""
