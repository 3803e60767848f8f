"""ABIs: values, artifacts, the bundled contracts, and errors and events of known contracts."""
