"""How the benchmark measures: rounds, intervals, fits, usage, and the results that it keeps."""
