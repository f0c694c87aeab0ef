# cpack: ingot-VERSION-SYSTEM.tar.gz and a .deb, without debug data.  The package holds static libraries: who links them needs the same libraries
# that were needed here.  For Debian's folders configure with -DCMAKE_INSTALL_PREFIX=/usr.
set(CPACK_GENERATOR TGZ)
find_program(INGOT_DPKG dpkg)
if(INGOT_DPKG)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_VENDOR "the ingot maintainers")
set(CPACK_PACKAGE_CONTACT "the ingot maintainers <maintainers@ingot.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "casts tensor graphs into libraries in C")
set(CPACK_PACKAGE_DESCRIPTION "Reads a tensor graph (an ONNX file, or the same as text) and casts it into
C sources and a static library without interpreter or allocator, for
desktops and microcontrollers, or runs it at once through libtcc. With the
library behind the program, its runtime, and their CMake package.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/pack-debian.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# Said, not found by dpkg-shlibdeps, which a machine that can build ingot need not have; the -dev packages bring the libraries themselves.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE "^glibc (.+)$" "libc6 (>= \\1), " libc "${libc}")
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${libc}libjansson-dev, libzip-dev, libxxhash-dev, libunistring-dev")
if(INGOT_WITH_TCC)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libtcc-dev")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc, pkg-config")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
