# An installed cakejit works from wherever it is moved to, for a C++ and a C program that know only find_package(cakejit).
# Run with cmake -P; see CMakeLists.txt for the variables.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
  message("${output}")
endfunction()

set(staged ${WORK_DIR}/staged)
set(prefix "${WORK_DIR}/moved here")
file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${staged} --strip)
file(RENAME ${staged} ${prefix})

foreach(header cakejit.h cakejit.hpp cake_causal_conv1d_det_train.h error.hpp status.h)
  if(NOT EXISTS ${prefix}/include/cakejit/${header})
    message(FATAL_ERROR "include/cakejit/${header} wasn't installed")
  endif()
endforeach()
foreach(tool IN LISTS TOOLS)
  run(${prefix}/${tool} --version)
endforeach()

set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} -S ${HOST_APP} -B ${WORK_DIR}/host_app -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_C_FLAGS=${flags} -DCMAKE_CXX_FLAGS=${flags}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/host_app)
run(${WORK_DIR}/host_app/host_app)
run(${WORK_DIR}/host_app/host_app_c)
file(REMOVE_RECURSE ${WORK_DIR})
