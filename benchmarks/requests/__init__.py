"""A table of requests in plain English, and the exact change of state that is right for each."""
