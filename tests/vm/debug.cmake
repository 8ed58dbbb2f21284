# SPDX-License-Identifier: MIT
# All tiers once more, on kernels that watch memory and locks: `make check-debug`. They are
# built from sources, and slow.
set(METAGROUP_DEBUG_KERNELS 7.3-kasan CACHE STRING "Kernels to debug on; see tests/vm/kernels")
set(METAGROUP_DEBUG_CPUS 2 4 CACHE STRING "Numbers of virtual CPUs to debug with")

foreach(kernel ${METAGROUP_DEBUG_KERNELS})
  add_test(NAME "build ${kernel}" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fetch ${kernel})
  set_tests_properties("build ${kernel}" PROPERTIES
    LABELS debug TIMEOUT 3600 FIXTURES_SETUP kernel-${kernel})
endforeach()

# add_debug_test(NAME LABEL KERNEL CPUS ARGUMENT...)
function(add_debug_test name label kernel cpus)
  add_test(NAME ${name} COMMAND ${run} --kernel ${kernel} --cpus ${cpus} --timeout 1100
           --module ${PROJECT_SOURCE_DIR}/tests/testpmu ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS ${label} TIMEOUT 1300 RUN_SERIAL ON FIXTURES_REQUIRED kernel-${kernel})
endfunction()

foreach(kernel ${METAGROUP_DEBUG_KERNELS})
  foreach(cpus ${METAGROUP_DEBUG_CPUS})
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
  endforeach()
endforeach()

# They are believed as they tell of defects that are there.
foreach(kernel ${METAGROUP_DEBUG_KERNELS})
  add_test(NAME "defects are told of: ${kernel}"
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/watch-selftest ${kernel})
  set_tests_properties("defects are told of: ${kernel}" PROPERTIES
    LABELS debug-short TIMEOUT 600 RUN_SERIAL ON FIXTURES_REQUIRED kernel-${kernel})
endforeach()

# Short, and all that no other kernel can test.
list(GET METAGROUP_DEBUG_KERNELS 0 kernel)
add_debug_test("faults: ${kernel}, 2 CPUs" debug-short ${kernel} 2 --
               $<TARGET_FILE:metagroup_uapi_tests> "[fault]")
add_debug_test("stress: ${kernel}, 4 CPUs" debug-short ${kernel} 4 --append isolcpus=3 --
               $<TARGET_FILE:metagroup_stress> --seconds ${METAGROUP_STRESS_SECONDS})
add_debug_test("fuzz: ${kernel}, 4 CPUs" debug-short ${kernel} 4 --append isolcpus=3 --
               $<TARGET_FILE:metagroup_uapi_fuzz> --operations 1000000000
               --seconds ${METAGROUP_FUZZ_SECONDS})
