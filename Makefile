# SPDX-License-Identifier: MIT
# The front door: everything a person types begins here. CMake builds userland,
# kmod/Makefile the module, tests/vm/ runs kernels.

BUILD  ?= build
KERNEL ?= 6.1
CPUS   ?= 4

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help deps build demo check check-debug lint bench bench-full module shell install clean

help: ## list the targets
	@echo 'Perf meta-groups: the performance counters of all CPUs with one read()'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Set KERNEL (now $(KERNEL); see tests/vm/kernels) and CPUS (now $(CPUS)) for demo, bench and shell.'

deps: ## install the Debian packages that are missing
	@scripts/install-deps

build: deps ## build library, tools, tests and benchmark
	@mkdir -p $(BUILD)
	@test -e $(BUILD)/build.ninja || { echo 'make: configuring ...'; \
		cmake -S . -B $(BUILD) -G Ninja >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; rm -f $(BUILD)/build.ninja; exit 1; }; }
	@echo 'make: building userland (2 minutes the first time) ...'
	@ninja -C $(BUILD) --quiet

demo: build ## boot a kernel with the module and read its counters in both ways
	@echo 'make: a kernel with the module in a virtual machine (10 s; the first time 40 s) ...'
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) -- $(BUILD)/tools/metagroup-demo

check: build ## run all tests: lint, all tiers on all kernels, sanitizers, benchmark
	@echo 'make: all tests (about 30 minutes; the first time 3 more) ...'
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -LE '^debug$$'; status=$$?; \
		tests/report $(BUILD)/Testing/Temporary/LastTest.log && exit $$status

check-debug: build ## run all tiers on a kernel with KASAN and lockdep (an hour or more; it is built first)
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L '^debug'

lint: build ## run the style and static checks only
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L lint

bench: build ## compare all ways to read on 8 and 32 CPUs, in slow motion, and check the goals (8 minutes)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check

bench-full: build ## the same on 2 to 64 CPUs, for more events and groups (1 hour)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check --full

module: deps ## build the module for the kernel of the guests
	@tests/vm/build-module $(KERNEL)

shell: build ## boot a kernel with the module and give a shell in it
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --add $(BUILD)/tools/metagroup-demo:/usr/bin/metagroup-demo --shell

install: build ## install library, headers, manual page and udev rule (DESTDIR, as cmake --install)
	@cmake --install $(BUILD)

clean: ## remove what was built; what was fetched stays in the cache
	@rm -rf $(BUILD)
