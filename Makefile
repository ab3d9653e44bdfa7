# Builds, tests and packages attend with CMake; `make help` lists the targets. BUILD is the build directory. packages.txt lists the Debian packages
# that each target needs; they are installed if possible.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=
CTEST_FLAGS ?=
CUDA ?=
FUZZ_FLAGS ?= -max_total_time=60
HOSTILE_FLAGS ?= 150
SOAK_REQUESTS ?= 1000000 1800
MAKEFLAGS += --no-print-directory

# CUDA=1: the CUDA plug-in must be built; CUDA=0: it is not; else it is built if nvcc is installed
cuda = $(if $(CUDA),-DATTEND_CUDA=$(if $(filter 0 no off,$(CUDA)),OFF,ON),-DATTEND_CUDA=AUTO)
configure = cmake -S . -B $(1) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(cuda) $(2) $(CMAKE_FLAGS) >$(1).log 2>&1 || { cat $(1).log; exit 1; }
compile = $(call configure,$(1),$(2)) && cmake --build $(1) -j $(JOBS)
run_tests = ctest --test-dir $(1) --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

.PHONY: all test test-cuda bench recipes demo soak asan clang tsan tidy layers cross fuzz hostile install python deb deb-check format format-check docs docs-check exhaustive clean help packages-build packages-test

all: packages-build                     ## build the command and the libraries (CUDA=1: and the CUDA plug-in, which is else built if nvcc is there)
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=OFF -DATTEND_WERROR=OFF)

test: packages-test                     ## build everything and run every test
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@$(call run_tests,$(BUILD))

asan: packages-test                     ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call compile,$(BUILD)-asan,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DATTEND_TESTS=ON -DATTEND_SANITIZE=ON)
	@$(call run_tests,$(BUILD)-asan)

clang: packages-test                    ## build everything with clang and run the tests
	@tools/packages.sh ci
	@$(call compile,$(BUILD)-clang,-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_CUDA=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
	@$(call run_tests,$(BUILD)-clang)

test-cuda: packages-test                ## build the CUDA plug-in and run the tests of devices on a GPU; skips where there is none
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON -DATTEND_CUDA=ON)
	@tools/test_cuda.sh $(BUILD)

tsan: packages-test                     ## run the tests that use threads under ThreadSanitizer
	@tools/packages.sh ci
	@$(call configure,$(BUILD)-tsan,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DATTEND_TESTS=ON -DATTEND_THREAD_SANITIZE=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
	@cmake --build $(BUILD)-tsan -j $(JOBS) --target threaded_tests
	@ctest --test-dir $(BUILD)-tsan --output-on-failure -j $(JOBS) --no-tests=error -L threads

# The CUDA sources as the tests compile them, for the CPU.
emulated = -x c++ -std=c++17 -Iinclude -Isrc -DATTEND_CUDA_EMULATED -D_GNU_SOURCE
# Without the vector kernels: their sizes are products of small constants, which a check of widened products reports.
tidy: packages-test                     ## clang-tidy with the checks of .clang-tidy over the sources
	@tools/packages.sh ci
	@$(call configure,$(BUILD)-tidy,-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=OFF -DATTEND_CUDA=OFF -DCMAKE_C_COMPILER=clang)
	@cmake --build $(BUILD)-tidy --target attend_page >/dev/null # a generated source
	@git ls-files 'src/*.c' 'cli/*.c' ':!src/kernel/vector_*.c' | xargs -P $(JOBS) -n 8 clang-tidy -p $(BUILD)-tidy --quiet 2>$(BUILD)-tidy.log || { cat $(BUILD)-tidy.log; exit 1; }
	@git ls-files 'src/*.cu' 'src/*.cpp' | xargs -P $(JOBS) -n 4 sh -c 'clang-tidy --quiet "$$@" -- $(emulated)' tidy 2>$(BUILD)-tidy.log || { cat $(BUILD)-tidy.log; exit 1; }

layers:                                 ## check the #include lines against the list of layers in docs/design.md
	@tools/packages.sh ci
	@tools/check_layers.py

cross:                                  ## build core to model for aarch64, with NEON, and run their tests under qemu-user
	@tools/packages.sh build cross
	@cmake -S test/cross -B $(BUILD)-cross -DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/test/cross/aarch64.cmake >$(BUILD)-cross.log 2>&1 || { cat $(BUILD)-cross.log; exit 1; }
	@cmake --build $(BUILD)-cross -j $(JOBS)
	@$(call run_tests,$(BUILD)-cross)

fuzz: packages-test                     ## feed each reader of files inputs made to break it (FUZZ_FLAGS="-runs=1000000")
	@tools/packages.sh ci
	@$(call configure,$(BUILD)-fuzz,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DATTEND_TESTS=ON -DATTEND_SANITIZE=ON -DATTEND_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
	@cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzzers
	@tools/fuzz.sh $(BUILD)-fuzz $(FUZZ_FLAGS)

bench: packages-test                    ## measure against this machine's ceilings, and PyTorch where there is one
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@$(BUILD)/bench/bench $(BENCH_FLAGS)

recipes: packages-test                  ## the recipes at full length (minutes to hours)
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@$(BUILD)/recipes/bottleneck
	@if [ -n "$(DATA)" ]; then for r in recipes/*/run.sh; do DATA="$(DATA)" ATTEND=$(BUILD)/attend $$r || exit 1; done; \
	else echo "the recipes on real data need DATA=directory"; fi

demo: all                               ## train on built-in pairs, translate, show the attention (about a minute)
	@$(BUILD)/attend demo --output $(BUILD)/demo $(DEMO_FLAGS)

soak: packages-test                     ## interrupt a training at every system call of every save; refuse every allocation of ranks and of the Python package; a million lines of random bytes; a million requests (SOAK_REQUESTS="NUMBER SECONDS"; many minutes)
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@ATTEND_TEST_LONG=1 $(BUILD)/test/test_trainer
	@ATTEND_TEST_LONG=1 $(BUILD)/test/test_rank_training
	@ATTEND_TEST_LONG=1 ctest --test-dir $(BUILD) --output-on-failure --timeout 7200 -R '^python_robust$$'
	@test/cli/kill.sh $(abspath $(BUILD))/attend 50
	@test/cli/garbage.sh $(abspath $(BUILD))/attend $(abspath $(BUILD))/test/garbage $(abspath $(BUILD))/test/json_lines 1000000
	@python3 -B test/serve/test_mutations.py $(abspath $(BUILD))/attend 300 2
	@python3 -B test/serve/soak.py $(abspath $(BUILD))/attend $(SOAK_REQUESTS)

hostile: packages-test                  ## many minutes of input made to break the command, under the sanitizers (HOSTILE_FLAGS="SECONDS SEED")
	@$(call compile,$(BUILD)-asan,-DCMAKE_BUILD_TYPE=RelWithDebInfo -DATTEND_TESTS=ON -DATTEND_SANITIZE=ON)
	@test/hostile/run.sh $(abspath $(BUILD))-asan $(HOSTILE_FLAGS)

exhaustive: packages-test               ## exp, tanh and sigmoid on every float there is (minutes)
	@$(call compile,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@$(BUILD)/test/test_elementary --every-float

install: all                            ## install under PREFIX (and DESTDIR)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --strip

python: packages-build                  ## the wheel of the Python package, in BUILD-python/wheel
	@tools/packages.sh python
	@$(call configure,$(BUILD)-python,-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=OFF -DATTEND_WERROR=OFF -DATTEND_PYTHON_ONLY=ON)
	@cmake --build $(BUILD)-python -j $(JOBS) --target attend_python attend_python_double
	@rm -rf $(BUILD)-python/package
	@cmake --install $(BUILD)-python --strip --prefix $(BUILD)-python/package --component python >/dev/null
	@python3 python/make_wheel.py $(BUILD)-python/package $(BUILD)-python/wheel

deb: packages-build                     ## Debian packages of the command and the library, in BUILD/deb
	@tools/packages.sh deb
	@$(MAKE) all PREFIX=/usr
	@tools/deb.sh $(BUILD) $(BUILD)/deb

deb-check: deb                          ## install the packages in a new, bare Debian, train there and translate (root, network, minutes)
	@tools/packages.sh deb-check
	@tools/check_deb.sh $(BUILD)/deb

# examples/ is laid out by hand, for reading
SOURCES = git ls-files '*.c' '*.h' '*.cpp' '*.cu' ':!examples/'

format:                                 ## lay out the C, C++ and CUDA sources
	@tools/packages.sh format
	@$(SOURCES) | xargs clang-format -i

format-check:                           ## check the layout of the C, C++ and CUDA sources
	@tools/packages.sh format
	@$(SOURCES) | xargs clang-format --dry-run --Werror

docs:                                   ## write the C API reference from the headers: BUILD/docs/api/index.html
	@tools/packages.sh docs
	@python3 tools/make_api_reference.py include/attend $(BUILD)/docs/api

# configured as for the tests, so that in .ci/run, after make test, nothing is compiled again
docs-check: packages-test docs          ## check that every public function has a comment and that the documents name what exists
	@$(call configure,$(BUILD),-DCMAKE_BUILD_TYPE=Release -DATTEND_TESTS=ON -DATTEND_WERROR=ON)
	@cmake --build $(BUILD) -j $(JOBS) --target attend_command
	@python3 tools/check_docs.py $(BUILD)/attend

clean:                                  ## remove what was built
	@rm -rf $(foreach b,$(BUILD) $(BUILD)-asan $(BUILD)-clang $(BUILD)-tsan $(BUILD)-tidy $(BUILD)-cross $(BUILD)-fuzz $(BUILD)-python,$(b) $(b).log)

help:                                   ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile | expand -t 20

packages-build:
	@tools/packages.sh build

packages-test:
	@tools/packages.sh build test
