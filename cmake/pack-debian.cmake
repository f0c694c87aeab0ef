# Runs before cpack closes the .deb: what Debian's rules ask for and a plain install has not: the licence as `copyright`, a changelog, and
# packed manual pages.  gzip -n: no dates.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(doc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/ingot)
  file(MAKE_DIRECTORY ${doc})
  file(RENAME ${doc}/LICENSE ${doc}/copyright)
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog ${doc}/changelog)
  file(GLOB pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
