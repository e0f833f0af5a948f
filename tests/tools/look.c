/* SPDX-License-Identifier: MIT */
/* What libslab_inspect answers about a process: look PID REQUEST... */
#include "memory.h"

int main(int argc, char **argv)
{
	struct memory *memory = memory_open_process(argc > 1 ? atoi(argv[1]) : 0, "");

	for (int i = 2; memory && i < argc; i++) {
		struct slab_answer answer = {0};

		memory_query(memory, argv[i], &answer);
		fputs(answer.text ? answer.text : "", stdout);
		slab_answer_free(&answer);
	}
	memory_close(memory);
	return memory ? 0 : 1;
}
