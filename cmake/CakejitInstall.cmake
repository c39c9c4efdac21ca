# Install rules: the headers, the shared library, the command lines, and a package config for find_package(cakejit). The
# installed tree may be moved.
include(CMakePackageConfigHelpers)

# What a user of the shared library sees: the public headers. The library's own language level and rooms stay its own.
set_target_properties(cakejit PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  INTERFACE_COMPILE_FEATURES "")

set(CAKEJIT_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/cakejit)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cakejit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS cakejit EXPORT cakejitTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# They hold the library's code themselves: none looks for the shared library.
foreach(tool cake-aot cake-cache cake-bench)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT cakejitTargets NAMESPACE cakejit:: DESTINATION ${CAKEJIT_INSTALL_CMAKEDIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cakejitConfig.cmake.in ${PROJECT_BINARY_DIR}/cakejitConfig.cmake
                              INSTALL_DESTINATION ${CAKEJIT_INSTALL_CMAKEDIR})
# Before 1.0 a new minor version may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cakejitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cakejitConfig.cmake ${PROJECT_BINARY_DIR}/cakejitConfigVersion.cmake
        DESTINATION ${CAKEJIT_INSTALL_CMAKEDIR})
