# SPDX-License-Identifier: MIT
# The tiers on arm64, whose emulation has hardware counters. Programs for it are in a build tree of
# their own. Included by CMakeLists.txt. The first kernel is tested with few CPUs always; the rest
# has the label matrix.
set(METAGROUP_ARM64_KERNELS 6.1-arm64 6.12-arm64 CACHE STRING
    "Kernels for arm64 to test on; see tests/vm/kernels")
list(GET METAGROUP_ARM64_KERNELS 0 first_arm64)
set(arm64 ${PROJECT_BINARY_DIR}/arm64)

add_test(NAME "build for arm64" COMMAND ${in_background} ${CMAKE_CURRENT_SOURCE_DIR}/build-userland arm64 ${arm64})
set_tests_properties("build for arm64" PROPERTIES
  LABELS "vm;arm64" TIMEOUT 1800 RESOURCE_LOCK build FIXTURES_SETUP userland-arm64)

# add_arm64_test(TIER KERNEL CPUS ARGUMENT...): `run ARGUMENT...` in a guest.
function(add_arm64_test tier kernel cpus)
  set(name "${tier}: ${kernel}, ${cpus} CPUs")
  set(labels vm guest arm64 "${tier}")
  if(NOT kernel STREQUAL first_arm64 OR cpus GREATER 4)
    list(APPEND labels matrix)
  endif()
  add_test(NAME ${name} COMMAND ${run} --kernel ${kernel} --cpus ${cpus} --timeout 900
           --module ${PROJECT_SOURCE_DIR}/tests/testpmu ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" TIMEOUT 1100 RESOURCE_LOCK guest
    FIXTURES_REQUIRED "kernel-${kernel};userland-arm64")
endfunction()

foreach(kernel ${METAGROUP_ARM64_KERNELS})
  add_test(NAME "fetch ${kernel}" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fetch ${kernel})
  set_tests_properties("fetch ${kernel}" PROPERTIES
    LABELS "vm;arm64" TIMEOUT 900 FIXTURES_SETUP kernel-${kernel})
  if(NOT kernel STREQUAL first_arm64)
    set_tests_properties("fetch ${kernel}" PROPERTIES LABELS "vm;arm64;matrix")
  endif()

  foreach(cpus 2 5)
    add_arm64_test(uapi ${kernel} ${cpus} -- ${arm64}/tests/uapi/metagroup_uapi_tests)
  endforeach()
  # The event `instructions` exists only where instructions make the time.
  add_arm64_test("uapi with instructions" ${kernel} 2 --icount --
                 ${arm64}/tests/uapi/metagroup_uapi_tests "[hardware]")
  add_arm64_test("uapi with isolated CPUs" ${kernel} 4
                 --append nohz_full=1 --append isolcpus=2 --
                 ${arm64}/tests/uapi/metagroup_uapi_tests "[isolated]")
  add_arm64_test("uapi for 32 bits" ${kernel} 2 -- ${arm64}/tests/uapi/metagroup_abi32)
  add_arm64_test("unit in a guest" ${kernel} 2 -- ${arm64}/tests/unit/metagroup_unit_tests)
  add_arm64_test(integration ${kernel} 2 --
                 ${arm64}/tests/integration/metagroup_integration_tests)
  add_arm64_test(tools ${kernel} 2 ${for_tools}
                 --add ${arm64}/tools/metagroup --add ${arm64}/bench/metagroup_bench
                 --add ${arm64}/examples/ioctls --add ${arm64}/examples/ipc
                 --add ${arm64}/examples/sampler --
                 ${arm64}/tests/tools/metagroup_tools_tests "~[no-module]")
endforeach()
