# SPDX-License-Identifier: MIT
#
# Installation. Nothing that is installed knows its prefix, so the tree can be
# moved: find_package(slab) and pkg-config find their way from their own place.

include(CMakePackageConfigHelpers)

install(FILES ${SLAB_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/slab)
install(TARGETS slab slab_static slab_inspect EXPORT slab-targets)
slab_install_pkgconfig(cmake/libslab.pc)
if(SLAB_BUILD_MALLOC)
	install(TARGETS slab_malloc EXPORT slab-targets)
endif()
if(TARGET slab_token)
	install(TARGETS slab_token EXPORT slab-targets)
	slab_install_pkgconfig(malloc/libslab-token.pc)
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
	install(FILES docs/schema/slabinfo.schema.json
		DESTINATION ${CMAKE_INSTALL_DATADIR}/slab/schema)
endif()
if(SLAB_BUILD_EXPORTER)
	install(FILES tools/metrics/slab-alerts.yml tools/metrics/slab-dashboard.json
		tools/metrics/prometheus.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/slab/metrics)
	set(SLAB_UNIT slab-exporter.service)
	configure_file(tools/metrics/${SLAB_UNIT}.in ${PROJECT_BINARY_DIR}/${SLAB_UNIT} @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${SLAB_UNIT} DESTINATION lib/systemd/system)
endif()
