/* SPDX-License-Identifier: MIT */
/* Messages of LDAP for tests, made with liblber. */
#pragma once

#include <lber.h>

#include <string>
#include <vector>

using Message = std::vector<unsigned char>;

/* message: what ber_printf() makes of a format. */
template <typename... Args> Message message(const char *format, Args... args)
{
	BerElement *ber = ber_alloc_t(LBER_USE_DER);
	struct berval bytes = {0, nullptr};
	Message made;

	if (ber_printf(ber, format, args...) != -1 && ber_flatten2(ber, &bytes, 0) != -1)
		made.assign(bytes.bv_val, bytes.bv_val + bytes.bv_len);
	ber_free(ber, 1);
	return made;
}
