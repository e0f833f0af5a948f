/* SPDX-License-Identifier: MIT */
/*
 * --flame: the bytes in use as a flame graph. A box is a function; the boxes on it are the
 * functions that it calls, and its width is the memory that was allocated in it and in these, and
 * is in use. The last box is the type, if it is known.
 */
#include "heap.h"
#include "svg.h"
#include "views.h"

#define WIDTH 1200.0
#define MARGIN 16.0
#define TOP 76.0
#define ROW 18.0
#define TEXT_SIZE 11
#define BOX_MIN 0.4 /* narrower boxes are left out */
#define COLORS 6u

static const struct svg_style style = {
	.light = ".f0{fill:#f6b26b}.f1{fill:#f9c784}.f2{fill:#f2a65a}\n"
		 ".f3{fill:#fbd7a2}.f4{fill:#eeb98a}.f5{fill:#f4cf8e}.root{fill:#cfd8e0}\n"
		 ".box{stroke:#fff;stroke-width:.5}.in{font-size:11px;fill:#20262c}\n",
	.dark = ".f0{fill:#b8702a}.f1{fill:#a8783a}.f2{fill:#a75f22}\n"
		".f3{fill:#96703c}.f4{fill:#9a6238}.f5{fill:#a27d36}.root{fill:#3c4854}\n"
		".box{stroke:#14181c}.in{fill:#f4f6f8}\n",
};

/* A function below the same functions. Children are a list. */
struct node {
	char *name;
	double bytes;
	struct node *child, *next;
};

static void free_nodes(struct node *node)
{
	while (node) {
		struct node *next = node->next;

		free_nodes(node->child);
		free(node->name);
		free(node);
		node = next;
	}
}

/* The child with this name; NULL: there is no memory. Children are in the order of their names. */
static struct node *child_of(struct node *parent, const char *name)
{
	struct node **at = &parent->child, *node;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	if (*at && strcmp((*at)->name, name) == 0)
		return *at;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->name = strdup(name);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->next = *at;
	*at = node;
	return node;
}

static struct node *add_call(struct node *node, const char *name, double bytes)
{
	node = node ? child_of(node, name) : NULL;
	if (node)
		node->bytes += bytes;
	return node;
}

/* Add the functions of a place, the outermost first. */
static struct node *add_place(struct node *node, const struct heap_place *place, double bytes)
{
	char text[HEAP_TEXT];

	if (!place->calls)
		return add_call(node, heap_place_text(place, text), bytes);
	for (size_t i = place->calls; i-- > 0;)
		node = add_call(node, place->call[i].function, bytes);
	return node;
}

static bool add_site(struct node *root, const struct heap *heap, const struct heap_site *site)
{
	struct node *node = root;

	if (site->inuse_bytes <= 0)
		return true;
	root->bytes += site->inuse_bytes;
	if (!site->frames)
		node = add_call(node, "(unknown)", site->inuse_bytes);
	for (size_t i = site->frames; i-- > 0;)
		node = add_place(node, &heap->place[site->place[i]], site->inuse_bytes);
	if (*site->type)
		node = add_call(node, site->type, site->inuse_bytes);
	return node;
}

/* --- drawing --------------------------------------------------------------------------- */

struct picture {
	struct svg svg;
	double scale; /* pixels per byte */
	double all;   /* bytes */
	unsigned depth;
};

static unsigned depth_of(const struct node *node, double scale)
{
	unsigned deepest = 0;

	for (const struct node *child = node->child; child; child = child->next) {
		unsigned depth = child->bytes * scale < BOX_MIN ? 0 : depth_of(child, scale);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + 1;
}

static unsigned color_of(const char *name)
{
	unsigned sum = 0;

	while (*name)
		sum = sum * 31 + (unsigned char)*name++;
	return sum % COLORS;
}

static void draw_box(struct picture *picture, const struct node *node, double x, unsigned depth)
{
	const double width = node->bytes * picture->scale;
	const double y = TOP + (picture->depth - 1 - depth) * ROW;
	FILE *out = picture->svg.out;
	char size[SIZE_TEXT], text[HEAP_TEXT];

	fputs("<g><title>", out);
	svg_escape(out, node->name);
	fprintf(out,
		": %s, %.1f %%</title><rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" ",
		size_text(size, (uint64_t)node->bytes), 100 * node->bytes / picture->all, x, y,
		width, ROW - 1);
	if (depth)
		fprintf(out, "class=\"box f%u\"/>", color_of(node->name));
	else
		fputs("class=\"box root\"/>", out);
	snprintf(text, sizeof(text), "%s", node->name);
	svg_fit(text, width - 6, TEXT_SIZE);
	if (svg_text_width(text, TEXT_SIZE) <= width - 4)
		svg_text(&picture->svg, x + 3, y + 12.5, "in", "%s", text);
	fputs("</g>\n", out);
}

static void draw_node(struct picture *picture, const struct node *node, double x, unsigned depth)
{
	if (node->bytes * picture->scale < BOX_MIN)
		return;
	draw_box(picture, node, x, depth);
	for (const struct node *child = node->child; child; child = child->next) {
		draw_node(picture, child, x, depth + 1);
		x += child->bytes * picture->scale;
	}
}

static void draw_title(struct picture *picture, const struct heap *heap,
		       const struct process *process)
{
	static const char *const titles[] = {
		[HEAP_NOW] = "Heap of process %d (%s)",
		[HEAP_AT_PEAK] = "Heap of process %d (%s) at its peak",
		[HEAP_WASTE] = "Free memory that objects of process %d (%s) keep",
	};
	char size[SIZE_TEXT], all[SIZE_TEXT];

	svg_text(&picture->svg, MARGIN, 32, "h1 b", titles[heap->part], process->pid,
		 process->command);
	size_text(size, (uint64_t)heap->inuse_bytes);
	if (heap->part == HEAP_WASTE)
		svg_text(&picture->svg, MARGIN, 54, "dim",
			 "%s of slabs hold no object, and are charged to the objects beside them",
			 size);
	else
		svg_text(&picture->svg, MARGIN, 54, "dim",
			 "%s in use of %s allocated since the profile was switched on: estimates "
			 "from %llu samples",
			 size, size_text(all, (uint64_t)heap->alloc_bytes),
			 (unsigned long long)heap->samples);
}

static int draw(const struct options *options, const struct heap *heap,
		const struct process *process, struct node *root)
{
	struct picture picture = {.all = root->bytes, .scale = (WIDTH - 2 * MARGIN) / root->bytes};
	int status = EXIT_USAGE;
	char label[128];

	picture.depth = depth_of(root, picture.scale);
	snprintf(label, sizeof(label), "Bytes in use of process %d (%s), by stack", process->pid,
		 process->command);
	if (svg_begin(&picture.svg)) {
		draw_title(&picture, heap, process);
		draw_node(&picture, root, MARGIN, 0);
		status = svg_write(&picture.svg, options->file, &style, WIDTH,
				   TOP + picture.depth * ROW + MARGIN, label);
	}
	svg_end(&picture.svg);
	return status;
}

static int draw_heap(const struct options *options, const struct heap *heap,
		     const struct process *process)
{
	struct node root = {.bytes = 0};
	int status = EXIT_USAGE;
	bool complete = true;
	char name[128];

	snprintf(name, sizeof(name), "%s", process->command);
	root.name = name;
	for (size_t i = 0; i < heap->sites; i++)
		complete &= add_site(&root, heap, &heap->site[i]);
	if (!complete) {
		fail("no memory for %zu call sites", heap->sites);
	} else if (root.bytes <= 0) {
		fail("all that was sampled in process %d (%s) is freed", process->pid,
		     process->command);
		status = EXIT_NOTHING;
	} else {
		status = draw(options, heap, process, &root);
	}
	free_nodes(root.child);
	return status;
}

int view_flame(const struct options *options, struct process *process)
{
	struct heap heap;
	int status = heap_load(&heap, process, options->part);

	if (status == EXIT_DONE)
		status = draw_heap(options, &heap, process);
	heap_free(&heap);
	return status;
}
