# SPDX-License-Identifier: MIT
#
# types.awk: writes a program with TYPES types of one size, and a function for each that frees an
# object of it. main() frees one object of each type twice, so that a report must name each of the
# functions. `kind` is "defined" (SLAB_DEFINE_CACHE), "typed" (SLAB_DEFINE_TYPED), "raw" (slab_free())
# or "class" (slab::cache, C++).

function type(n)
{
	print "struct t" n " { char bytes[64]; };"
	if (kind == "defined") {
		print "SLAB_DEFINE_CACHE(t" n ", struct t" n ");"
		free = "t" n "_free(object)"
		alloc = "t" n "_alloc()"
	} else if (kind == "typed") {
		print "SLAB_DEFINE_TYPED(t" n ", struct t" n ");"
		print "static struct slab_cache *cache" n ";"
		free = "t" n "_free(cache" n ", object)"
		alloc = "t" n "_alloc(cache" n ")"
	} else if (kind == "raw") {
		print "static struct slab_cache *cache" n ";"
		free = "slab_free(cache" n ", object)"
		alloc = "slab_alloc(cache" n ")"
	} else {
		print "static slab::cache<t" n "> *cache" n ";"
		free = "cache" n "->destroy(object)"
		alloc = "cache" n "->create()"
	}
	print "static inline void drop_" n "(struct t" n " *object) { " free "; }"
}

function create(n)
{
	if (kind == "typed")
		print "\tcache" n " = t" n "_cache_create(NULL, 0);"
	if (kind == "raw")
		print "\tcache" n " = SLAB_CACHE(struct t" n ", 0);"
	if (kind == "class")
		print "\tcache" n " = new slab::cache<t" n ">(\"t" n "\");"
}

BEGIN {
	print "#include <slab/" (kind == "class" ? "slab.hpp" : "define.h") ">"
	print "#include <stdlib.h>"
	for (n = 0; n < types; n++) {
		type(n)
		allocate[n] = alloc
	}
	print "static void drop(int type, void *object)\n{\n\tswitch (type) {"
	for (n = 0; n < types; n++)
		print "\tcase " n ": drop_" n "((struct t" n " *)object); return;"
	print "\t}\n}"
	print "int main(int argc, char **argv)\n{\n\tvoid *object = NULL;"
	print "\tint type = atoi(argv[argc - 1]);"
	for (n = 0; n < types; n++)
		create(n)
	print "\tswitch (type) {"
	for (n = 0; n < types; n++)
		print "\tcase " n ": object = " allocate[n] "; break;"
	print "\t}\n\tdrop(type, object);\n\tdrop(type, object);\n\treturn 0;\n}"
}
