# Runs before cpack closes the .debs: what Debian's rules ask for and a plain install has not: the licence as `copyright`, a changelog, and
# packed manual pages.  gzip -n: no dates.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(doc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/ingot/usr/share/doc/ingot)
  file(RENAME ${doc}/LICENSE ${doc}/copyright)
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog ${doc}/changelog)
  file(GLOB pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/ingot/usr/share/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
  file(COPY ${doc}/copyright ${doc}/changelog.gz DESTINATION ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/libingot0/usr/share/doc/libingot0)
endif()
