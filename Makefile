# Each target does its own set-up and repeats only what changed. Start with `make demo` or `make test`.
#
# PYTHON=python3.12   the interpreter the environment is made from (3.11 or newer)
# CXX=clang++         the compiler
# JOBS=4              compile jobs and processes of tests at once
# PYTEST="-k name"    more arguments for pytest
# ARGS="--help"       arguments for tools/score.py, tests/ecosystem/run.py and benchmarks/map.py
# ECOSYSTEM_VENV=...  an environment that has the packages of make ecosystem, instead of one of our own
# The package is built in place (src/ plus the libraries compiled into it), so a Python edit needs no build.
#
# Two builds: what `make build` makes is for work, a few files at a time and for this processor alone, so that a change is usable
# again in seconds. `make release` has loops for all processors, optimises the road from Python to the kernels as one, as wheels
# do, and takes minutes to link: measure with that one.

# Also where the environment asks for none, Python keeps what it compiled: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
JOBS ?= $(shell nproc)
PYTEST ?=
ARGS ?=

VENV := $(CURDIR)/.venv
PARITY_VENV := $(CURDIR)/.venv-parity
TORCH_NPU_VENV := $(CURDIR)/.venv-torch-npu
HF_VENV := $(CURDIR)/.venv-hf
HTA_VENV := $(CURDIR)/.venv-hta
PAGE_VENV := $(CURDIR)/.venv-page
# The browser of make memory-page.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
# An environment that somebody names is theirs: nothing is installed into it.
ECOSYSTEM_READY := $(if $(ECOSYSTEM_VENV),,$(CURDIR)/.venv-ecosystem/.ready)
ECOSYSTEM_VENV ?= $(CURDIR)/.venv-ecosystem
BUILD := build/dev
ASAN_BUILD := build/asan
TSAN_BUILD := build/tsan
STUBS := build/stubs
STUB_FILES := $(addprefix _C/,__init__.pyi _functions.pyi _linalg.pyi _fft.pyi _special.pyi _nn.pyi _aten.pyi \
  _torchvision.pyi _image.pyi _torchaudio.pyi __torchaudio.pyi)
RELEASE_BUILD := build/release
ASAN_SITE := $(CURDIR)/$(ASAN_BUILD)/site
RELEASE_SITE := $(CURDIR)/$(RELEASE_BUILD)/site
# What runs under the sanitizer besides the C++ tests: everything that is not about speed or PyTorch.
ASAN_TESTS ?= tests

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
CMAKE := $(VENV)/bin/cmake
CTEST := $(VENV)/bin/ctest --output-on-failure --parallel $(JOBS)
# A file's tests stay together, because they share what is costly to make, and come in the order of tests/conftest.py. One
# process more than there are processors: many tests wait, for other processes or for a time limit.
RUN_TESTS := -m pytest --numprocesses $(shell expr $(JOBS) + 1) --dist loadfile --no-loadscope-reorder
SITE_PACKAGES = $(shell $(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
CPP_FILES = $(shell find csrc softnpu tests -name '*.cpp' -o -name '*.h')
CONFIGURE = CXX=$$(tools/find_compiler) $(CMAKE) -S . -G Ninja -DPython_EXECUTABLE=$(PY) -DMT_TESTS=ON \
	-DCMAKE_MAKE_PROGRAM=$(VENV)/bin/ninja

# In a fresh folder: what the generator no longer writes must not look as if it did.
define MAKE_STUBS
rm -rf $(STUBS)
$(PY) -m codegen --out $(STUBS)
$(VENV)/bin/ruff check --quiet --select I --fix $(addprefix $(STUBS)/python/,$(STUB_FILES))
$(VENV)/bin/ruff format --quiet $(addprefix $(STUBS)/python/,$(STUB_FILES))
endef

# Two of our targets at once must not build in the same folder.
LOCK := flock

export MINDTORCH_NPU := soft
# Also where there is no terminal, a line for each step of a build: how many are done, and after how many seconds.
export NINJA_STATUS := [%f/%t, %e s] $(empty)

.PHONY: help build build-tests release demo test parity score cuda torch-npu hf hta memory-page ecosystem bench map lint format stubs asan tsan clean

help:
	@echo "make demo    train a small GPT on the software NPU; writes a trace and a memory snapshot to demo_out"
	@echo "make test    C++ and Python tests (no PyTorch needed)"
	@echo "make parity  compare with PyTorch 2.13.0, which is installed for it"
	@echo "make score   count the operators of PyTorch's database that agree with it: the table in the README"
	@echo "make cuda    tests that need a GPU; says what is missing where there is none"
	@echo "make torch-npu  run Huawei's torch_npu 2.13.0, which is installed for it, on the software NPU"
	@echo "make hf      run Hugging Face's transformers, which is installed for it, with 'mindtorch run'"
	@echo "make hta     compare our traces with what HolisticTraceAnalysis, which is installed for it, finds in them"
	@echo "make memory-page  look at the page of 'mindtorch memory view' in Chromium, with playwright, which is installed for it"
	@echo "make ecosystem  compare programs over packages built on torch, which are installed for it, with PyTorch"
	@echo "make bench   host and kernel times, loading of data and all_reduce, beside PyTorch's"
	@echo "make map     times of every operator beside PyTorch's: docs/map_<architecture>.md and its picture"
	@echo "make lint    ruff, mypy, clang-format;  make format applies them"
	@echo "make stubs   write the generated stub and support matrix into the source tree"
	@echo "make asan    tests under the address and undefined-behaviour sanitizers;  make tsan: C++ tests, threads"
	@echo "make release  the build that wheels have, in $(RELEASE_SITE): measure with it"
	@echo "make build   only build;  make clean removes builds and environments"

# --- environments -------------------------------------------------------------------------------------------------

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is not Python 3.11 or newer. Install one (Debian/Ubuntu: apt install python3 python3-venv python3-dev) or set PYTHON=." >&2; exit 1; }
	@$(PYTHON) -c 'import sys, sysconfig, pathlib; sys.exit(not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists())' || { \
	  echo "$(PYTHON) has no Python.h. Install its headers (Debian/Ubuntu: apt install python3-dev; Fedora/openEuler: dnf install python3-devel)." >&2; exit 1; }
	@tools/find_compiler >/dev/null
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: pyproject.toml tools/requirements.py | $(VENV)/bin/python
	$(PY) tools/requirements.py build run test > $(VENV)/requirements.txt
	$(PIP) install -r $(VENV)/requirements.txt
	$(PY) tools/requirements.py distributed > $(VENV)/requirements-distributed.txt
	$(PIP) install --no-deps -r $(VENV)/requirements-distributed.txt
	echo $(CURDIR)/src > $(SITE_PACKAGES)/mindtorch_v2_in_place.pth
	@# What an installation would make of [project.scripts].
	printf '%s\n' '#!$(PY)' 'import sys' 'from mindtorch_v2._cli import main' 'sys.exit(main())' > $(VENV)/bin/mindtorch
	chmod +x $(VENV)/bin/mindtorch
	@touch $@

$(VENV)/.lint-ready: pyproject.toml $(VENV)/.ready
	$(PY) tools/requirements.py lint > $(VENV)/requirements-lint.txt
	$(PIP) install -r $(VENV)/requirements-lint.txt
	@touch $@

# PyTorch lives in an environment of its own, over the first, so that the default suite cannot come to need it.
$(PARITY_VENV)/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(PARITY_VENV)
	$(PY) tools/requirements.py parity > $(PARITY_VENV)/requirements.txt
	$(PIP) --python $(PARITY_VENV)/bin/python install -r $(PARITY_VENV)/requirements.txt
	printf '%s\n' $(SITE_PACKAGES) $(CURDIR)/src > \
	  $$($(PARITY_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth
	@touch $@

# torch_npu has an environment of its own: where it is installed, PyTorch loads it at every import.
$(TORCH_NPU_VENV)/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(TORCH_NPU_VENV)
	$(PY) tools/requirements.py torch-npu test > $(TORCH_NPU_VENV)/requirements.txt
	$(PIP) --python $(TORCH_NPU_VENV)/bin/python install -r $(TORCH_NPU_VENV)/requirements.txt
	@touch $@

# Hugging Face's libraries, and no PyTorch: accelerate asks for it, but what they get is this package under its name.
$(HF_VENV)/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(HF_VENV)
	$(PY) tools/requirements.py run hf distributed test > $(HF_VENV)/requirements.txt
	$(PIP) --python $(HF_VENV)/bin/python install -r $(HF_VENV)/requirements.txt
	$(PY) tools/requirements.py hf-without-torch > $(HF_VENV)/requirements-without-torch.txt
	$(PIP) --python $(HF_VENV)/bin/python install --no-deps -r $(HF_VENV)/requirements-without-torch.txt
	echo $(CURDIR)/src > $$($(HF_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/in_place.pth
	@touch $@

# HolisticTraceAnalysis brings notebooks and a data frame library along.
$(HTA_VENV)/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(HTA_VENV)
	$(PY) tools/requirements.py hta > $(HTA_VENV)/requirements.txt
	$(PIP) --python $(HTA_VENV)/bin/python install -r $(HTA_VENV)/requirements.txt
	@touch $@

# playwright drives a browser that is there already; over the first environment, as PyTorch's.
$(PAGE_VENV)/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(PAGE_VENV)
	$(PY) tools/requirements.py page > $(PAGE_VENV)/requirements.txt
	$(PIP) --python $(PAGE_VENV)/bin/python install -r $(PAGE_VENV)/requirements.txt
	printf '%s\n' $(SITE_PACKAGES) $(CURDIR)/src > \
	  $$($(PAGE_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth
	@touch $@

# Packages built on torch with all that they require, PyTorch too: more than a gigabyte, so pip says what it does.
$(CURDIR)/.venv-ecosystem/.ready: pyproject.toml $(VENV)/.ready
	$(PY) -m venv --without-pip $(@D)
	$(PY) tools/requirements.py run ecosystem > $(@D)/requirements.txt
	$(PY) -m pip --disable-pip-version-check --python $(@D)/bin/python install -r $(@D)/requirements.txt
	@touch $@

# --- builds -------------------------------------------------------------------------------------------------------

$(BUILD)/.configured: $(VENV)/.ready
	$(CONFIGURE) -B $(BUILD) -DMT_WHOLE_PROGRAM=OFF
	@touch $@

define BUILD_AND_INSTALL
$(LOCK) $(BUILD)/lock $(CMAKE) --build $(BUILD) -j $(JOBS) --target $(1)
@$(LOCK) $(BUILD)/lock $(CMAKE) --install $(BUILD) --prefix src > $(BUILD)/install.log
endef

build: $(BUILD)/.configured
	$(call BUILD_AND_INSTALL,all)

# With the C++ tests, which only `make test` runs.
build-tests: $(BUILD)/.configured
	$(call BUILD_AND_INSTALL,all tests)

$(RELEASE_BUILD)/.configured: $(VENV)/.ready
	$(CONFIGURE) -B $(RELEASE_BUILD) -DMT_WHOLE_PROGRAM=ON
	@touch $@

# A copy of the package beside its build, for PYTHONPATH. Libraries that came along are those of another build, and one that
# was copied in the second in which its own was linked would count as up to date.
define COPY_PACKAGE
rm -rf $(1)/site && mkdir -p $(1)/site && cp -r src/mindtorch_v2 $(1)/site/ && find $(1)/site -name '*.so' -delete
$(CMAKE) --install $(1) --prefix $(1)/site > $(1)/install.log
endef

release: $(RELEASE_BUILD)/.configured
	$(LOCK) $(RELEASE_BUILD)/lock $(CMAKE) --build $(RELEASE_BUILD) -j $(JOBS)
	$(call COPY_PACKAGE,$(RELEASE_BUILD))

$(ASAN_BUILD)/.configured: $(VENV)/.ready
	$(CONFIGURE) -B $(ASAN_BUILD) -DMT_SANITIZE=address
	@touch $@

$(TSAN_BUILD)/.configured: $(VENV)/.ready
	$(CONFIGURE) -B $(TSAN_BUILD) -DMT_SANITIZE=thread
	@touch $@

# --- jobs ---------------------------------------------------------------------------------------------------------

demo: build
	$(PY) -m mindtorch_v2 run --npu soft examples/char_gpt.py --out demo_out

test: build-tests
	$(CTEST) --test-dir $(BUILD)
	$(PY) $(RUN_TESTS) tests --ignore=tests/parity --ignore=tests/torch_npu --ignore=tests/hf --ignore=tests/memory_page $(PYTEST)

# PyTorch's threads wait awake: with as many in each process as there are processors, its programs take four times as long.
parity torch-npu: export OMP_NUM_THREADS ?= 1
parity torch-npu: export MINDTORCH_NUM_THREADS ?= $(JOBS)

parity: build $(PARITY_VENV)/.ready
	$(PARITY_VENV)/bin/python $(RUN_TESTS) --dist worksteal tests/parity $(PYTEST)

# Without ARGS, the whole table, which must be the README's.
score: build $(PARITY_VENV)/.ready
	$(PARITY_VENV)/bin/python tools/score.py $(if $(ARGS),$(ARGS),--readme README.md)

# PyTorch with CUDA is compared with where it can be imported; PY=python3 takes an environment that has it.
cuda: export MINDTORCH_NPU := off
cuda: export MINDTORCH_CUDA_TESTS := 1
cuda: build $(HF_VENV)/.ready
	@$(PY) tools/check_gpu.py
	$(PY) -m pytest tests/cuda_device $(PYTEST)
	$(HF_VENV)/bin/python -m mindtorch_v2 run -m pytest tests/hf/test_models.py tests/hf/test_trainer.py $(PYTEST)

hta: build $(HTA_VENV)/.ready
	$(PY) tools/check_trace_with_hta.py record out/hta
	$(HTA_VENV)/bin/python tools/check_trace_with_hta.py compare out/hta

memory-page: build $(PAGE_VENV)/.ready
	CHROMIUM=$(CHROMIUM) $(PAGE_VENV)/bin/python -m pytest tests/memory_page $(PYTEST)

torch-npu: build $(TORCH_NPU_VENV)/.ready
	$(PY) -m mindtorch_v2 softnpu run -- $(TORCH_NPU_VENV)/bin/python $(RUN_TESTS) --dist worksteal tests/torch_npu $(PYTEST)

hf: build $(HF_VENV)/.ready
	$(HF_VENV)/bin/python -m mindtorch_v2 run -m pytest tests/hf $(PYTEST)

# Without ARGS, all of it, and the table must be the page's.
ecosystem: build $(ECOSYSTEM_READY)
	$(ECOSYSTEM_VENV)/bin/python tests/ecosystem/run.py $(if $(ARGS),$(ARGS),--page docs/running_pytorch_programs.md)

bench: export PYTHONPATH := $(RELEASE_SITE)
bench: release $(PARITY_VENV)/.ready
	$(PARITY_VENV)/bin/python benchmarks/paired.py
	$(PARITY_VENV)/bin/python benchmarks/host.py --cases ew,mm,train
	$(PARITY_VENV)/bin/python benchmarks/dataloader.py
	$(PARITY_VENV)/bin/python benchmarks/distributed.py --backends gloo

# Without ARGS, the whole map, which takes hours; ARGS="--only unary --threads 2 --quick" a part of it.
map: export PYTHONPATH := $(RELEASE_SITE)
map: release $(PARITY_VENV)/.ready
	$(PARITY_VENV)/bin/python -W ignore benchmarks/map.py $(ARGS)

lint: $(VENV)/.lint-ready
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/clang-format --dry-run --Werror $(CPP_FILES)
	$(MAKE_STUBS)
	@for stub in $(STUB_FILES); do diff -u src/mindtorch_v2/$$stub $(STUBS)/python/$$stub || exit 1; done && \
	  diff -u docs/support_matrix.md $(STUBS)/docs/support_matrix.md || { \
	  echo "The checked-in stub or support matrix differs from what the table gives. Run 'make stubs' and review the diff." >&2; exit 1; }
	$(VENV)/bin/mypy

format: $(VENV)/.lint-ready
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format
	$(VENV)/bin/clang-format -i $(CPP_FILES)

# Checked in although generated, so that a change of the public interface is a readable diff.
stubs: $(VENV)/.lint-ready
	$(MAKE_STUBS)
	cp $(STUBS)/python/_C/*.pyi src/mindtorch_v2/_C/
	cp $(STUBS)/docs/support_matrix.md docs/support_matrix.md

# Python itself is not instrumented, so the sanitizer is preloaded; its leak check would report the interpreter's own.
# libstdc++ comes along because the sanitizer must find __cxa_throw before the first library that throws is loaded. Tests have
# five times as long. Frames that GCC 13 keeps to find uses after a return are not aligned for vectors of 64 bytes.
asan: $(ASAN_BUILD)/.configured
	$(LOCK) $(ASAN_BUILD)/lock $(CMAKE) --build $(ASAN_BUILD) -j $(JOBS) --target all tests
	ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1 $(CTEST) --test-dir $(ASAN_BUILD)
	$(call COPY_PACKAGE,$(ASAN_BUILD))
	compiler=$$(tools/find_compiler) && \
	LD_PRELOAD="$$($$compiler -print-file-name=libasan.so) $$($$compiler -print-file-name=libstdc++.so.6)" \
	ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:suppressions=$(CURDIR)/tests/asan_suppressions.txt UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	MINDTORCH_BUILD=asan PYTHONPATH=$(ASAN_SITE) $(PY) $(RUN_TESTS) $(ASAN_TESTS) --ignore=tests/parity --ignore=tests/torch_npu --ignore=tests/hf --ignore=tests/memory_page -o timeout=600 $(PYTEST)

tsan: $(TSAN_BUILD)/.configured
	$(LOCK) $(TSAN_BUILD)/lock $(CMAKE) --build $(TSAN_BUILD) -j $(JOBS) --target tests
	$(CTEST) --test-dir $(TSAN_BUILD)

clean:
	rm -rf build $(VENV) $(PARITY_VENV) $(TORCH_NPU_VENV) $(HF_VENV) $(HTA_VENV) $(PAGE_VENV) $(CURDIR)/.venv-ecosystem
	find src -name '*.so' -delete
