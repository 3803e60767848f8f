"""A council that judges answers, and its participants."""
