# Two commands for everyone: `make app` and `make test`. Both make .venv first, once.
# Pass pip options with PIP_FLAGS, for instance an index of PyTorch's small CPU builds.

PYTHON ?= python3
PIP_FLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
APP_READY := $(VENV)/.app-ready
DEV_READY := $(VENV)/.dev-ready

# The tests start dozens of processes: each would compile every file of the app anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test soak lint format bench screenshots presets static preview lock clean

app: $(APP_READY)
	$(BIN)/streamlit run app.py

test: $(DEV_READY)
	$(BIN)/python -m pytest

soak: $(DEV_READY)
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest
	$(BIN)/python -m tests.load --sessions 30 --minutes 15 --students 300

lint: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2

format: $(DEV_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV_READY)
	$(BIN)/python -m tests.benchmarks

screenshots: $(DEV_READY)
	$(BIN)/python -m tests.browser.screenshots

# After the tests have passed with newer versions.
lock: $(DEV_READY)
	$(BIN)/python -m tests.lock > requirements.lock

# The landing page as one file: dist/flat_or_curved.html needs no server and no network.
static: $(APP_READY)
	$(BIN)/python -m ui.landing

# Pictures of that file, for README.md and previews of links, in assets/.
preview: $(DEV_READY)
	$(BIN)/python -m tests.browser.preview

presets: $(APP_READY)
	$(BIN)/python -m gating_core.experiments
	$(BIN)/python -m gating_core.experts
	$(BIN)/python -m ui.gates
	$(BIN)/python -m gating_core.claims run --full
	$(BIN)/python -m gating_core.claims run --v2
	$(BIN)/python -m ui.claims

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(APP_READY): requirements.txt requirements.lock $(VENV)/bin/python
	$(BIN)/python -m pip install $(PIP_FLAGS) -r requirements.txt -c requirements.lock
	touch $@

$(DEV_READY): tests/requirements.txt $(APP_READY)
	$(BIN)/python -m pip install $(PIP_FLAGS) -r tests/requirements.txt -c requirements.lock
	touch $@

clean:
	rm -rf $(VENV)
