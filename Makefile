# `make setup` makes .venv with the pinned versions; `make report PYTHON=/path/to/python` uses that
# interpreter from the checkout instead: its torch is never touched and the project is not installed.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# sb3_subproc takes a minute more, in which it hangs: make report BACKENDS="--backend sb3_subproc".
BACKENDS = --backend reference --backend torchrl --backend torchrl_parallel --backend torchrl_serial \
  --backend numpy_ring $(gymnasium) $(sb3)
EXTRAS := torchrl,gymnasium,sb3,stacks,test,dev
PIP_FLAGS := --quiet --disable-pip-version-check

ifdef PYTHON
py := $(PYTHON)
harness := $(PYTHON) -m harness
export PYTHONPATH := $(CURDIR)
# Nothing here is installed there, so entry points cannot bring the plugins.
pytest_flags := -p xdist -p hypothesispytest -p harness.pytest_plugin
pytest_env := PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
find := import importlib.util, sys; print(sys.argv[2] * bool(importlib.util.find_spec(sys.argv[1])))
gymnasium = $(shell $(py) -c '$(find)' gymnasium "--backend gymnasium --backend gymnasium_sync")
sb3 = $(shell $(py) -c '$(find)' stable_baselines3 "--backend sb3_dummy")
else
py := .venv/bin/python
harness := .venv/bin/harness
venv := .venv/.stamp
gymnasium := --backend gymnasium --backend gymnasium_sync
sb3 := --backend sb3_dummy
endif

.PHONY: help setup report smoke test lint check selftest bench-pool bench-weights bench-storage clean
.NOTPARALLEL:

help:  ## Show the targets.
	@sed -n 's/^\([a-z-]*\):[^#]*## /  \1: /p' Makefile

setup: $(venv)  ## Make .venv with the pinned versions (or check PYTHON=...).
ifdef PYTHON
	@$(call require_311,$(py))
	@$(py) tools/install_missing.py stacks
endif

report: setup  ## Run all scenarios against every backend and write reports/latest/index.html.
	$(harness) run scenarios $(BACKENDS)

smoke: setup  ## Run the few scenarios that catch every planted bug against every backend: minutes.
	$(harness) run scenarios --smoke $(BACKENDS)

test: setup  ## Run the tests and the scenarios of the reference implementation.
ifdef PYTHON
	@$(py) tools/install_missing.py test
endif
	$(pytest_env) $(py) -m pytest $(pytest_flags) -n auto --dist loadgroup

lint: setup  ## Check format, lint rules, types and layers.
ifdef PYTHON
	@$(py) tools/install_missing.py dev
endif
	$(py) -m ruff check
	$(py) -m ruff format --check
	$(py) -m mypy
	$(py) -c 'import sys; from importlinter.cli import lint_imports_command as main; sys.exit(main())'

check: lint test  ## Everything that must be green before a commit.

selftest: setup  ## Show that each checker catches the bug planted for it.
	$(harness) selftest

bench-pool: setup  ## Time the reference's pool beside its peers; writes reports/bench/pool.json.
	$(py) -m tools.bench_pool

bench-weights: setup  ## Time the reference's weight schemes beside a copy and torchrl; writes reports/bench/weights.json.
	$(py) -m tools.bench_weights

bench-storage: setup  ## Time the reference's storage beside its peers; writes reports/bench/storage.json.
	$(py) -m tools.bench_storage

clean:  ## Remove .venv and caches; reports stay.
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define require_311
$(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
  { echo "$(1) is missing or older than 3.11; name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 1; }
endef

.venv/.stamp: pyproject.toml constraints.txt
	@$(call require_311,python3)
	@python3 -m venv .venv || { echo "python3 cannot make .venv: install its venv package (python3-venv)" >&2; exit 1; }
	.venv/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt setuptools torch
	.venv/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@
