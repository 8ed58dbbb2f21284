#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf stat --metagroup test (exclusive)
#
# A workload has the same page faults with and without --metagroup.

set -e

if [ ! -c /dev/perf_metagroup ]; then
	echo "Skipping: no /dev/perf_metagroup"
	exit 2
fi

faults()
{
	perf stat -x, -a -e "$@" -- dd if=/dev/zero of=/dev/null bs=64M count=1 2>&1 |
		awk -F, '/page-faults/ { print $1 }'
}

compare()
{
	alone=$(faults "$1")
	together=$(faults "$1" --metagroup)
	echo "$1: $alone page faults, with --metagroup $together"
	awk -v a="$alone" -v b="$together" \
		'BEGIN { exit !(a > 100 && b > 0.95 * a && b < 1.05 * a) }'
}

compare page-faults
compare '{page-faults,cpu-clock}'
