# cpack: ingot-VERSION-SYSTEM.tar.gz and two .debs, without debug data: libingot0, the shared library, and ingot, all the rest.  The static
# libraries of the latter need the same libraries that were needed here.  For Debian's folders configure with -DCMAKE_INSTALL_PREFIX=/usr.
set(CPACK_GENERATOR TGZ)
find_program(INGOT_DPKG dpkg-query)
if(INGOT_DPKG)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_VENDOR "the ingot maintainers")
set(CPACK_PACKAGE_CONTACT "the ingot maintainers <maintainers@ingot.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiles tensor graphs into libraries in C")
set(CPACK_PACKAGE_DESCRIPTION "Reads a tensor graph (an ONNX file, the same as text, or a TensorFlow Lite
file) and compiles it into C sources and a static library without interpreter or allocator, for
desktops and microcontrollers, or runs it at once through libtcc. With the
library behind the program, its runtime, and their CMake package.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/pack-debian.cmake)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENTS_ALL ingot libingot0)
set(CPACK_DEB_COMPONENT_INSTALL ON)

# Said, not found by dpkg-shlibdeps, which a machine that can build ingot need not have.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE "^glibc (.+)$" "libc6 (>= \\1), " libc "${libc}")
set(dev "libjansson-dev, libzip-dev, libxxhash-dev, libunistring-dev")

set(CPACK_COMPONENT_INGOT_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_INGOT_PACKAGE_NAME ingot)
set(CPACK_DEBIAN_INGOT_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_INGOT_PACKAGE_DEPENDS "libingot0 (= ${PROJECT_VERSION}), ${libc}${dev}")
if(INGOT_WITH_TCC)
  string(APPEND CPACK_DEBIAN_INGOT_PACKAGE_DEPENDS ", libtcc-dev")
endif()
set(CPACK_DEBIAN_INGOT_PACKAGE_RECOMMENDS "gcc, pkg-config")

# The packages of the libraries that it is linked with; where they are nobody's, those that bring them.
set(files "")
foreach(file ${INGOT_JANSSON_LINK_LIBRARIES} ${INGOT_XXHASH_LINK_LIBRARIES} ${INGOT_UNISTRING_LIBRARY})
  file(REAL_PATH "${file}" file)
  list(APPEND files "${file}")
endforeach()
set(code 1)
if(INGOT_DPKG)
  execute_process(COMMAND ${INGOT_DPKG} -S ${files} RESULT_VARIABLE code OUTPUT_VARIABLE owners ERROR_QUIET)
endif()
if(code EQUAL 0)
  string(REGEX MATCHALL "[^\n:]+:[^\n]*" owners "${owners}")
  list(TRANSFORM owners REPLACE ":.*" "")
  list(JOIN owners ", " owners)
else()
  set(owners "${dev}")
endif()
set(CPACK_COMPONENT_LIBINGOT0_DESCRIPTION "The shared library behind ingot/ingot.h: reads a tensor graph (an ONNX
file, or the same as text) and runs it in the process that asks, by an
interpreter, through libtcc, or compiled by the system's C compiler.")
set(CPACK_DEBIAN_LIBINGOT0_PACKAGE_NAME libingot0)
set(CPACK_DEBIAN_LIBINGOT0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBINGOT0_PACKAGE_DEPENDS "${libc}${owners}")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "libingot ${PROJECT_VERSION_MAJOR} libingot0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBINGOT0_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
include(CPack)
