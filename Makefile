# Thin names for uv's commands; scripts/uv brings uv into the checkout where it is missing.
UV := scripts/uv

.DEFAULT_GOAL := help
.PHONY: help demo test test-changed slow instruments evidence coverage lint types imports check docs engine contracts page fixtures golden pin clean

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: ## Install what is missing and run the main job on the real model
	$(UV) run pyevm-agents demo
	@echo "To have pyevm-agents on the PATH: . .venv/bin/activate"

test: ## Install what is missing and run the tests; with ROOMS="council …", those that a change there can alter
	$(UV) run python -m scripts.rooms $(ROOMS)

test-changed: ## Run the tests that the changes since BASE (main) can alter
	$(UV) run python -m scripts.rooms --changed $(or $(BASE),main)

slow: ## Run the tests that take minutes
	$(UV) run python -m scripts.rooms --part slow $(ROOMS)

instruments: ## Run the tests of what measures; with BASE=…, those that the changes since can alter
	$(UV) run python -m scripts.rooms --part instruments $(if $(BASE),--changed $(BASE)) $(ROOMS)

evidence: ## Run the long counts and write them to benchmarks/reports/evidence (hours)
	$(UV) run python -m benchmarks.evidence

coverage: ## Run the tests and print which lines and branches they miss
	$(UV) run coverage run -m pytest
	$(UV) run coverage report

lint: ## Check style and formatting
	$(UV) run ruff check
	$(UV) run ruff format --check

types: ## Check types
	$(UV) run mypy

imports: ## Check which package imports which
	$(UV) run lint-imports

check: test lint types imports ## Run the tests and every other check

docs: ## Build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(UV) run --group docs python -m mkdocs build --quiet

engine: ## Compile llama-cpp-python again, with the flags of pyproject.toml
	$(UV) cache clean llama-cpp-python
	$(UV) sync --reinstall-package llama-cpp-python

contracts: ## Compile the Solidity contracts into contracts/build (needs npm)
	cd contracts && npm ci && npm run build

page: ## Build the node's page into pyevm_agents/server/page (needs npm)
	cd page && npm ci && npm run build

fixtures: ## Record chain_fixtures/ and the cassettes of tests anew, on the default model
	$(UV) run pyevm-agents record --scenario all -o chain_fixtures
	$(UV) run pyevm-agents replay chain_fixtures/*.json
	$(UV) run pytest --record tests/examples/test_cassette.py

golden: ## Write tests/golden/ anew, where consensus or a user's file is to change
	$(UV) run python -m tests.golden

pin: ## Resolve the dependencies anew and write the pins
	$(UV) run --no-project scripts/pin.py $(PIN)
	rm -f uv.lock
	$(UV) lock

clean: ## Remove what was installed, built or cached in the checkout
	rm -rf .venv .uv uv.lock dist site .coverage .hypothesis contracts/node_modules page/node_modules
	rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
