# What is installed, and how others find it: the program with its pages, the libraries with their headers, the CMake package, the
# pkg-config files, licence and docs.  Everything hangs on `ingot`, so that `cmake --build . --target ingot` is enough.
include(CMakePackageConfigHelpers)
add_dependencies(ingot ingot_runtime libingot-shared)
set_target_properties(ingot PROPERTIES EXPORT_NAME compiler)
set_target_properties(ingot_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(libingot-jit PROPERTIES EXPORT_NAME jit)
add_library(ingot::runtime ALIAS ingot_runtime)
add_executable(ingot::compiler ALIAS ingot)

include(${PROJECT_SOURCE_DIR}/cmake/ingot-add-model.cmake)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)
install(TARGETS ingot EXPORT ingot-compiler-targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libingot libingot-jit ingot_runtime EXPORT ingot-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libingot-shared EXPORT ingot-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libingot0 NAMELINK_COMPONENT ingot)
install(EXPORT ingot-compiler-targets NAMESPACE ingot:: DESTINATION ${package})
install(EXPORT ingot-targets NAMESPACE ingot:: DESTINATION ${package})
install(FILES ${PROJECT_SOURCE_DIR}/generator/include/ingot/ingot.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ingot)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ingot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ingot-config.cmake.in ${PROJECT_BINARY_DIR}/ingot-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ingot-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/ingot-config.cmake ${PROJECT_BINARY_DIR}/ingot-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/ingot-dependencies.cmake ${PROJECT_SOURCE_DIR}/cmake/ingot-add-model.cmake DESTINATION ${package})

set(INGOT_PC_TCC "")
if(INGOT_WITH_TCC)
  set(INGOT_PC_TCC "-ltcc")
endif()
file(RELATIVE_PATH INGOT_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" INGOT_PC_UP "${INGOT_PC_UP}")
foreach(one ingot ingot-shared)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${one}.pc.in ${PROJECT_BINARY_DIR}/${one}.pc @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/ingot.pc ${PROJECT_BINARY_DIR}/ingot-shared.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# `cmake --install --strip` strips programs and shared libraries; the archives' debug data (three quarters of them) go too.
install(CODE "
  if(CMAKE_INSTALL_DO_STRIP)
    foreach(archive libingot.a libingot-jit.a libingot_runtime.a)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug --enable-deterministic-archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/\${archive}\"
        COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
  endif()")
