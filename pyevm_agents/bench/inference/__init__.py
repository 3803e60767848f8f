"""What inference takes: probes of engine and calls, fitted terms, models of other shapes."""
