# SPDX-License-Identifier: MIT
# The front door: everything a person types begins here. CMake builds userland,
# kmod/Makefile the module, tests/vm/ runs kernels.

BUILD  ?= build
KERNEL ?= 6.1
CPUS   ?= 4
FUZZ_SECONDS ?= 600
PREFIX ?= /usr/local

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help deps build demo check check-debug matrix lint stress soak fuzz coverage bench bench-full module shell install uninstall dkms-install deb clean

help: ## list the targets
	@echo 'Perf meta-groups: the performance counters of all CPUs with one read()'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Set KERNEL (now $(KERNEL); see tests/vm/kernels) and CPUS (now $(CPUS)) for demo, bench and shell.'

deps: ## install the Debian packages that are missing
	@scripts/install-deps

build: deps ## build library, tools, tests and benchmark
	@mkdir -p $(BUILD)
	@test -e $(BUILD)/build.ninja || { echo 'make: configuring ...'; \
		cmake -S . -B $(BUILD) -G Ninja >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; rm -f $(BUILD)/build.ninja; exit 1; }; }
	@echo 'make: building userland (5 minutes the first time) ...'
	@ninja -C $(BUILD) --quiet

demo: build ## boot a kernel with the module and read its counters in both ways
	@echo 'make: a kernel with the module in a virtual machine (10 s; the first time 40 s) ...'
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --add $(BUILD)/tools/metagroup:/usr/bin/metagroup -- \
		/bin/sh -c 'metagroup compare && metagroup stat -- sleep 1'

check: build ## run all tests: lint, all tiers on two kernels, some on more, sanitizers, benchmark
	@echo 'make: all tests (an hour) ...'
	@ctest --test-dir $(BUILD) --output-on-failure --parallel 2 --no-tests=error --output-junit check.xml -LE '^(matrix|debug)$$'; \
		status=$$?; \
		tests/report --junit $(BUILD)/check.xml $(BUILD)/Testing/Temporary/LastTest.log && exit $$status

matrix: build ## run the tiers that need the module on all kernels, 5.10 to 7.3 (an hour and a half)
	@echo 'make: the module on all kernels (about an hour and a half; the first time 10 minutes more) ...'
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L '^guest$$'; status=$$?; \
		cp $(BUILD)/Testing/Temporary/LastTest.log $(BUILD)/matrix.log; \
		tests/matrix-table $(BUILD)/matrix.log && exit $$status

check-debug: build ## run all tiers on kernels with KASAN, lockdep and KCSAN (an hour or more; they are built first)
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L '^debug'

lint: build ## run the style and static checks only
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L lint

stress: build ## everything at once for SECONDS (600) on 4 and on 8 CPUs
	@for cpus in 4 8; do \
		tests/vm/run --kernel $(KERNEL) --cpus $$cpus --module tests/testpmu --append isolcpus=3 \
			--timeout $$(($(or $(SECONDS),600) + 120)) -- \
			$(BUILD)/tests/stress/metagroup_stress --seconds $(or $(SECONDS),600) || exit 1; done

soak: build ## sweeps at full rate for SECONDS (1800), with CPU hotplug; memory must not grow
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --timeout $$(($(or $(SECONDS),1800) + 120)) -- \
		$(BUILD)/tests/soak/metagroup_soak --seconds $(or $(SECONDS),1800)

fuzz: deps ## give decoders and parsers anything, FUZZ_SECONDS (600) each (40 minutes)
	@tests/fuzz/library/run --build $(BUILD)/fuzz --seconds $(FUZZ_SECONDS)

coverage: deps ## tell which lines of the library the unit tier does not reach
	@tests/coverage $(BUILD)/coverage

bench: build ## compare all ways to read on 8 and 32 CPUs, in slow motion, and check the goals (5 minutes)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check

bench-full: build ## the same on 2 to 64 CPUs, for more events and groups (an hour or more)
	@bench/run --build $(BUILD) --kernel $(KERNEL) --check --full

module: deps ## build the module for the kernel of the guests
	@tests/vm/build-module $(KERNEL)

shell: build ## boot a kernel with the module and give a shell in it
	@tests/vm/run --kernel $(KERNEL) --cpus $(CPUS) --add $(BUILD)/tools/metagroup:/usr/bin/metagroup --shell

install: build ## install library, headers, metagroup, manual pages, completions, udev rule (PREFIX, DESTDIR)
	@grep -qx 'CMAKE_INSTALL_PREFIX:PATH=$(PREFIX)' $(BUILD)/CMakeCache.txt || \
		cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(BUILD) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@ninja -C $(BUILD) --quiet
	@cmake --install $(BUILD)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig

uninstall: ## remove what the last install has installed (DESTDIR)
	@while read -r file || [ -n "$$file" ]; do rm -f -- "$(DESTDIR)$$file"; done <$(BUILD)/install_manifest.txt

dkms-install: ## install the module's source for DKMS, which builds it for every kernel (DESTDIR)
	@source=$$(packaging/dkms-source $(DESTDIR)/usr/src) && \
		echo "make: $$source is there; now: dkms install $$(basename "$$source" | sed 's,-\([0-9]\),/\1,')"

deb: deps ## build the Debian packages into build/deb (2 minutes)
	@packaging/build-deb $(BUILD)/deb

clean: ## remove what was built; what was fetched stays in the cache
	@rm -rf $(BUILD)
