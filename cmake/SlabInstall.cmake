# SPDX-License-Identifier: MIT
#
# Installation. Nothing that is installed knows its prefix, so the tree can be
# moved: find_package(slab) and pkg-config find their way from their own place.

include(CMakePackageConfigHelpers)

set(SLAB_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/slab)
set(SLAB_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${SLAB_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/slab)
install(TARGETS slab slab_static EXPORT slab-targets)
set(pkgconfig cmake/libslab)
if(SLAB_BUILD_DIRSRV)
	install(FILES ${SLAB_DIRSRV_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/slab/dirsrv)
	install(TARGETS slab_dirsrv EXPORT slab-dirsrv-targets)
	install(EXPORT slab-dirsrv-targets NAMESPACE slab:: DESTINATION ${SLAB_CMAKE_DIR})
	list(APPEND pkgconfig dirsrv/libslab_dirsrv)
endif()
if(SLAB_BUILD_MALLOC)
	install(TARGETS slab_malloc EXPORT slab-targets)
	# Not among the libraries that programs are linked with: it has no version.
	install(TARGETS slab_389ds LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/slab)
endif()
if(SLAB_LTO)
	install(TARGETS slab_lto EXPORT slab-targets)
endif()
install(EXPORT slab-targets NAMESPACE slab:: DESTINATION ${SLAB_CMAKE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/slab-config.cmake.in
	${PROJECT_BINARY_DIR}/slab-config.cmake INSTALL_DESTINATION ${SLAB_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/slab-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/slab-config.cmake
	${PROJECT_BINARY_DIR}/slab-config-version.cmake DESTINATION ${SLAB_CMAKE_DIR})

file(RELATIVE_PATH SLAB_PC_PREFIX
	${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" SLAB_PC_PREFIX "${SLAB_PC_PREFIX}")
foreach(path IN LISTS pkgconfig)
	cmake_path(GET path FILENAME library)
	configure_file(${PROJECT_SOURCE_DIR}/${path}.pc.in
		${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${SLAB_PC_DIR})
endforeach()

# gdb finds a script beside the library, wherever that was moved, and asks its user once
# for leave (auto-load safe-path); of libraries below /usr it trusts those in its own folder.
set(SLAB_GDB_SCRIPT libslab.so.${PROJECT_VERSION}-gdb.py)
install(CODE "
	set(folder \"${CMAKE_INSTALL_LIBDIR}\")
	cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
	if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
		set(folder \"/usr/share/gdb/auto-load\${folder}\")
	endif()
	file(INSTALL DESTINATION \"\${folder}\" TYPE FILE RENAME \"${SLAB_GDB_SCRIPT}\"
		FILES \"${PROJECT_SOURCE_DIR}/tools/gdb/slab-gdb.py\")")

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual, and what belongs to the programs.
add_subdirectory(docs/man)

if(SLAB_BUILD_TOOLS)
	install(FILES tools/completion/slabinfo.bash RENAME slabinfo
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
	install(FILES tools/completion/_slabinfo
		DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
	install(FILES docs/schema/slabinfo.schema.json dirsrv/docs/schema/pblock.schema.json
		DESTINATION ${CMAKE_INSTALL_DATADIR}/slab/schema)
endif()
if(SLAB_BUILD_EXPORTER)
	install(FILES tools/metrics/slab-alerts.yml tools/metrics/slab-dashboard.json
		tools/metrics/prometheus.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/slab/metrics)
	set(SLAB_UNIT slab-exporter.service)
	configure_file(tools/metrics/${SLAB_UNIT}.in ${PROJECT_BINARY_DIR}/${SLAB_UNIT} @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${SLAB_UNIT} DESTINATION lib/systemd/system)
endif()
