# Two commands matter: `make demo` (core only) and `make test` (everything). Each stands alone on a fresh clone.
PYTHON ?= python3
# Where pip finds torch. Set TORCH_INDEX to PyTorch's CPU wheel index for the small build: make test TORCH_INDEX=URL
TORCH_INDEX ?=
TORCH ?= torch==2.13.0
TRITON ?= triton==3.6.0
OUT ?= reports/demo.repro
BARS ?= demo rng samplers exact drift sample_stream

BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt
TORCH_ARGS := $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))

.PHONY: demo test check bars gpu clean

demo: .venv/core
	$(BIN)/repro run --suite sampling --jobs 2 --out $(OUT)

test: .venv/dev
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bars: .venv/dev
	for bar in $(BARS); do $(BIN)/python benchmarks/$$bar.py --out reports/bars/$$bar.json || exit 1; done

# on a machine with a GPU, and torch, triton and nvcc of its own
gpu:
	$(PYTHON) benchmarks/gpu/run_all.py --out reports/h200

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# torch goes first and by itself, so that nothing else picks another build of it; a CPU build brings no triton
.venv/dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) $(TORCH_ARGS) "$(TORCH)"
	$(BIN)/python -c "import triton" 2>/dev/null || $(PIP) "$(TRITON)"
	$(PIP) -e '.[dev]'
	touch $@ .venv/core
