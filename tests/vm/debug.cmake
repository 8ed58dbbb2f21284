# SPDX-License-Identifier: MIT
# All tiers once more, on kernels that watch memory, locks and races: `make check-debug`. They are
# built from sources, and slow.

foreach(kernel 7.3-kasan 7.3-kcsan)
  add_test(NAME "build ${kernel}" COMMAND ${in_background} ${CMAKE_CURRENT_SOURCE_DIR}/fetch ${kernel})
  set_tests_properties("build ${kernel}" PROPERTIES
    LABELS debug TIMEOUT 3600 RESOURCE_LOCK build FIXTURES_SETUP kernel-${kernel})
endforeach()

# add_debug_test(NAME LABEL KERNEL CPUS ARGUMENT...)
function(add_debug_test name label kernel cpus)
  add_test(NAME ${name} COMMAND ${run} --kernel ${kernel} --cpus ${cpus} --timeout 3000
           --module ${PROJECT_SOURCE_DIR}/tests/testpmu ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS ${label} TIMEOUT 3200 RESOURCE_LOCK guest FIXTURES_REQUIRED kernel-${kernel})
endfunction()

# add_debug_tiers(KERNEL CPUS)
function(add_debug_tiers kernel cpus)
  set(guest "${kernel}, ${cpus} CPUs")
  add_debug_test("uapi: ${guest}" debug ${kernel} ${cpus} --
                 $<TARGET_FILE:metagroup_uapi_tests>)
  add_debug_test("uapi for 32 bits: ${guest}" debug ${kernel} ${cpus} --
                 ${PROJECT_BINARY_DIR}/tests/uapi/metagroup_abi32)
  add_debug_test("unit in a guest: ${guest}" debug ${kernel} ${cpus} --
                 $<TARGET_FILE:metagroup_unit_tests>)
  add_debug_test("integration: ${guest}" debug ${kernel} ${cpus} --
                 $<TARGET_FILE:metagroup_integration_tests>)
  add_debug_test("tools: ${guest}" debug ${kernel} ${cpus} ${tools_tests})
endfunction()

add_debug_tiers(7.3-kasan 2)
add_debug_tiers(7.3-kasan 4)
add_debug_tiers(7.3-kcsan 4)
add_debug_test("stress: 7.3-kcsan, 4 CPUs" debug 7.3-kcsan 4 --append isolcpus=3 --
               $<TARGET_FILE:metagroup_stress> --seconds ${METAGROUP_STRESS_SECONDS})

# They are believed as they tell of defects that are there.
function(add_watch_test kernel label)
  add_test(NAME "defects are told of: ${kernel}"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/watch-selftest ${kernel})
  set_tests_properties("defects are told of: ${kernel}" PROPERTIES
    LABELS ${label} TIMEOUT 600 RESOURCE_LOCK guest FIXTURES_REQUIRED kernel-${kernel})
endfunction()

add_watch_test(7.3-kasan debug-short)
add_watch_test(7.3-kcsan debug)

# Short, and all that no other kernel can test.
add_debug_test("faults: 7.3-kasan, 2 CPUs" debug-short 7.3-kasan 2 --
               $<TARGET_FILE:metagroup_uapi_tests> "[fault]")
add_debug_test("stress: 7.3-kasan, 4 CPUs" debug-short 7.3-kasan 4 --append isolcpus=3 --
               $<TARGET_FILE:metagroup_stress> --seconds ${METAGROUP_STRESS_SECONDS})
add_debug_test("fuzz: 7.3-kasan, 4 CPUs" debug-short 7.3-kasan 4 --append isolcpus=3 --
               $<TARGET_FILE:metagroup_uapi_fuzz> --operations 1000000000
               --seconds ${METAGROUP_FUZZ_SECONDS})
