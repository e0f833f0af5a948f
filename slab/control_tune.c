/* SPDX-License-Identifier: MIT */
#include "control_answer.h"

void control_answer_set(struct slab_json *reply, const char *rest)
{
	slab_control_refuse(reply, "set \"%.64s\" cannot be done yet", rest);
}

void control_answer_reset(struct slab_json *reply, const char *rest)
{
	slab_control_refuse(reply, "reset \"%.64s\" cannot be done yet", rest);
}

void control_answer_trim(struct slab_json *reply, const char *rest)
{
	slab_control_refuse(reply, "trim \"%.64s\" cannot be done yet", rest);
}

void control_answer_count(struct slab_json *reply, const char *rest)
{
	slab_control_refuse(reply, "count \"%.64s\" cannot be done yet", rest);
}
