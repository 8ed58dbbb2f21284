# SPDX-License-Identifier: MIT
# Short forms of the programs that try everything at once; `make stress` and `make soak` run longer.
set(METAGROUP_STRESS_SECONDS 30 CACHE STRING "Duration of the stress test in seconds")
set(METAGROUP_FUZZ_SECONDS 60 CACHE STRING "Duration of the fuzzer's test in seconds")
set(METAGROUP_SOAK_SECONDS 60 CACHE STRING "Duration of the soak test in seconds")

# add_stress_test(NAME CPUS PROGRAM ARGUMENT...)
function(add_stress_test name cpus program)
  add_test(NAME "${name}: ${first}, ${cpus} CPUs"
    COMMAND ${run} --kernel ${first} --cpus ${cpus} --timeout 400
            --module ${PROJECT_SOURCE_DIR}/tests/testpmu --append isolcpus=3 --
            $<TARGET_FILE:${program}> ${ARGN})
  set_tests_properties("${name}: ${first}, ${cpus} CPUs" PROPERTIES
    LABELS "vm;${name}" TIMEOUT 600 RESOURCE_LOCK guest FIXTURES_REQUIRED kernel-${first})
endfunction()

add_stress_test(stress 5 metagroup_stress --seconds ${METAGROUP_STRESS_SECONDS})
add_stress_test(fuzz 4 metagroup_uapi_fuzz --operations 1000000000
                --seconds ${METAGROUP_FUZZ_SECONDS})
add_stress_test(soak 4 metagroup_soak --seconds ${METAGROUP_SOAK_SECONDS})

# The stress test is believed as it notices a PMU whose counts go back.
set(name "stress finds a defect: ${first}, 2 CPUs")
add_test(NAME ${name} COMMAND ${run} --kernel ${first} --timeout 200
         --module ${PROJECT_SOURCE_DIR}/tests/testpmu --add $<TARGET_FILE:metagroup_stress> -- sh -c
         "echo Y >/sys/module/metagroup_testpmu/parameters/backwards && $<TARGET_FILE:metagroup_stress> --seconds 60")
set_tests_properties(${name} PROPERTIES
  LABELS "vm;stress" TIMEOUT 300 RESOURCE_LOCK guest FIXTURES_REQUIRED kernel-${first}
  PASS_REGULAR_EXPRESSION "the count went back")
