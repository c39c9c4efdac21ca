# cakejit_room(<name> <source>... LINK <target>...): one static, position-independent library per room. What a room does
# not link, it can't use: the include root is shared, the symbols are not.
function(cakejit_room name)
  cmake_parse_arguments(room "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${room_UNPARSED_ARGUMENTS})
  cakejit_compile_settings(${name})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC ${room_LINK})
endfunction()

# Language, warnings, sanitizers and include roots of everything that is compiled here.
function(cakejit_compile_settings name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(CAKEJIT_WARNINGS_AS_ERRORS)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(CAKEJIT_SANITIZE)
    target_compile_options(${name} PUBLIC -fsanitize=${CAKEJIT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${name} PUBLIC -fsanitize=${CAKEJIT_SANITIZE})
  endif()
endfunction()

# cakejit_embed(<output.cpp> <header> <namespace> <path>...): a rule that makes the source which holds these files' text.
function(cakejit_embed output header namespace)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DSOURCES=${ARGN}" -DOUTPUT=${output} -DHEADER=${header} -DNAMESPACE=${namespace}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedSources.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/EmbedSources.cmake
    COMMENT "Embedding ${output}"
    VERBATIM)
endfunction()
