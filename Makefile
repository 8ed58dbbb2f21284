# SPDX-License-Identifier: MIT
# The entry point: CMake builds userland,
# kmod/Makefile the module, tests/vm/ runs kernels.

BUILD  ?= build
KERNEL ?= 6.1
CPUS   ?= 4
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local
# Tests that run at the same time, in half CPUs: a guest counts 2, any other test 1.
PARALLEL ?= $(shell expr 2 '*' $$(nproc))

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help configured guest-deps tool deps deps-more deps-all build build-check demo check check-more check-all check-debug matrix lint stress soak fuzz mutations coverage docs bench bench-full report module shell install uninstall dkms-install deb clean upstream check-upstream

help: ## list the targets
	@echo 'Perf meta-groups: the performance counters of all CPUs with one read()'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'KERNEL ($(KERNEL)) selects the kernel for demo, bench and shell, see tests/vm/kernels; CPUS ($(CPUS)) is for shell.'

deps: ## install missing Debian packages that make check needs
	@scripts/install-deps check

deps-more:
	@scripts/install-deps check-more

deps-all:
	@scripts/install-deps check-all

build: deps-more ## build library, tools, tests and benchmark
	@scripts/configure $(BUILD) -DMETAGROUP_BUILD_TESTS=ON -DMETAGROUP_BUILD_BENCH=ON -DMETAGROUP_BUILD_PYTHON=ON
	@echo 'make: building userland (5 minutes the first time) ...'
	@ninja -C $(BUILD) --quiet

# A tree that is configured for the tests will do as well.
configured:
	@[ -e $(BUILD)/build.ninja ] || scripts/configure $(BUILD) -DMETAGROUP_BUILD_TESTS=OFF -DMETAGROUP_BUILD_BENCH=OFF

guest-deps:
	@scripts/install-deps demo

tool: guest-deps configured
	@echo 'make: building metagroup (a minute or two the first time) ...'
	@ninja -C $(BUILD) --quiet metagroup-tool

demo: tool ## compare the module with a read() per CPU in virtual machines (5 minutes the first time, then 2)
	@ninja -C $(BUILD) --quiet metagroup_slow metagroup_throttle
	@scripts/demo $(BUILD) $(KERNEL)

# $(call run_tests,NAME,CTEST-OPTIONS): the log is kept as BUILD/NAME.log.
run_tests = ctest --test-dir $(BUILD) --output-on-failure --parallel $(PARALLEL) --no-tests=error \
	--output-junit $(1).xml $(2); status=$$?; cp $(BUILD)/Testing/Temporary/LastTest.log $(BUILD)/$(1).log
report_tests = tests/report.py --junit $(BUILD)/$(1).xml $(BUILD)/$(1).log && exit $$status

# A separate tree, because compiling without optimization and the benchmark takes a quarter of the time.
# Meanwhile, QEMU and the kernel are fetched, and the modules are built.
build-check: deps
	@scripts/configure $(BUILD)/check -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 \
		-DMETAGROUP_BUILD_BENCH=OFF
	@echo 'make: building library, command and tests (3 minutes the first time) ...'
	@tests/vm/run --module tests/testpmu --module bench/floor --build examples/kernel -- true \
		>$(BUILD)/check/guest.log 2>&1 & \
		ninja -C $(BUILD)/check --quiet; status=$$?; wait; exit $$status

check: build-check ## run the tests: unit, command, and one guest with all tiers (10 minutes the first time)
	@echo 'make: running the tests (4 minutes) ...'
	@$(MAKE) BUILD=$(BUILD)/check run-check
	@echo 'make: passed. make check-more adds other kernels, stress, sanitizers and static checks (30 minutes)'

.PHONY: run-check
run-check:
	@$(call run_tests,check,); $(call report_tests,check)

check-more: build ## run more tests: all lints, four kernels, stress, sanitizers, Python (30 minutes)
	@echo 'make: running more tests (30 minutes; make check-all runs all of them) ...'
	@$(call run_tests,check-more,-LE '^all$$'); $(call report_tests,check-more)

check-all: deps-all build ## run all tests, including all kernels, arm64, debug kernels, packages, slow motion (hours)
	@echo 'make: running all tests (5 hours) ...'
	@$(call run_tests,check-all); $(call report_tests,check-all)

matrix: deps-all build ## run the tiers that need the module on all kernels from 5.10 to 7.3 (an hour)
	@echo 'make: testing the module on all kernels (about an hour; 10 minutes more the first time) ...'
	@$(call run_tests,matrix,-L '^guest$$'); tests/matrix-table $(BUILD)/matrix.log && exit $$status

check-debug: build ## build kernels with KASAN, lockdep and KCSAN, and run all tiers on them (an hour or more)
	@$(call run_tests,check-debug,-L '^debug$$'); $(call report_tests,check-debug)

upstream: ## apply the patch series for the kernel to its sources, in build/upstream (a minute)
	@upstream/make

check-upstream: build ## check the patches of that series, and run its tests on kernels that have it (25 minutes)
	@$(call run_tests,check-upstream,-L '^upstream$$'); $(call report_tests,check-upstream)

lint: build ## run the style and static checks only
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L '^lint$$'

stress: build ## run all operations concurrently for SECONDS (600) on 4 and on 8 CPUs
	@for cpus in 4 8; do \
		tests/vm/run --kernel $(KERNEL) --cpus $$cpus --module tests/testpmu --append isolcpus=3 \
			--timeout $$(($(or $(SECONDS),600) + 120)) -- \
			$(BUILD)/tests/stress/metagroup_stress --seconds $(or $(SECONDS),600) || exit 1; done

soak: build ## sweep at full rate for SECONDS (1800) with CPU hotplug, and check that memory does not grow
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --timeout $$(($(or $(SECONDS),1800) + 120)) -- \
		$(BUILD)/tests/soak/metagroup_soak --seconds $(or $(SECONDS),1800)

fuzz: deps-more ## fuzz decoders and parsers, FUZZ_SECONDS (600) each (40 minutes)
	@tests/fuzz/library/run --build $(BUILD)/fuzz --seconds $(FUZZ_SECONDS)

mutations: build ## check that the tests fail with each defect in tests/mutations (an hour)
	@tests/mutations/run --build $(BUILD)

docs: ## build the reference of the libraries, as HTML in build/docs/html and as manual pages
	@scripts/install-deps docs
	@tests/lint/run reference $(BUILD) && echo '$(BUILD)/docs/html/index.html'

coverage: deps-all ## print the lines of the library that the unit tier does not reach
	@tests/lint/run coverage $(BUILD)

bench: build ## compare all methods of reading on 8 and 32 CPUs in slow motion, and check the goals (half an hour)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check

report: ## run the benchmark on this machine, and pack the results into one file to send in (sudo)
	@[ -z "$$(command -v apt-get)" ] || scripts/install-deps report
	@$(MAKE) configured
	@scripts/configure $(BUILD) -DMETAGROUP_BUILD_BENCH=ON
	@ninja -C $(BUILD) --quiet metagroup_bench metagroup-tool
	@$$([ "$$(id -u)" = 0 ] || echo sudo) bench/run --build $(BUILD) --here --pack $(BUILD)/bench/report.tar.gz

bench-full: build ## run make bench on 2 to 64 CPUs, with more events and groups (an hour or more)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check --full

module: guest-deps ## build the module for KERNEL
	@tests/vm/build-module $(KERNEL)

shell: tool ## boot a kernel with the module and start a shell in it
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --add $(BUILD)/tools/metagroup:/usr/bin/metagroup --shell

install: configured ## install library, headers, command, manual pages, completions, udev rule (PREFIX, DESTDIR)
	@scripts/configure $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@ninja -C $(BUILD) --quiet
	@DESTDIR=$(DESTDIR) scripts/install $(BUILD) $(PREFIX)

uninstall: ## remove what was installed (PREFIX, DESTDIR)
	@DESTDIR=$(DESTDIR) scripts/install --uninstall $(PREFIX)

dkms-install: ## install the module's sources for DKMS, which builds it for every kernel (DESTDIR)
	@source=$$(packaging/dkms-source $(DESTDIR)/usr/src) && \
		echo "make: installed $$source; next, run: dkms install $$(basename "$$source" | sed 's,-\([0-9]\),/\1,')"

deb: ## build the Debian packages into build/deb (2 minutes)
	@scripts/install-deps deb
	@packaging/build-deb $(BUILD)/deb

clean: ## remove build results; downloads stay in the cache
	@rm -rf $(BUILD)
