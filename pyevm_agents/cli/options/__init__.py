"""Options that several commands share, with the types of their values."""
