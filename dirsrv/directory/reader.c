/* SPDX-License-Identifier: MIT */
/* The reader of a source: that of LDIF, or that of the package catalogue. */
#include "source.h"

#include <errno.h>
#include <string.h>

enum source_status source_next(struct source *source, struct record *record)
{
	enum source_status status;

	record_clear(record);
	status = source->is_ldif ? ldif_next(source, record) : dpkg_next(source, record);
	if (status == SOURCE_END && ferror(source->file)) {
		fprintf(stderr, "directory: cannot read %s: %s\n", source->path, strerror(errno));
		return SOURCE_FAILED;
	}
	return status;
}
