/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields and contexts that a filter names, and whether an event has these fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/name.h"
#include "tracer/base/base.h"
#include "tracer/base/filter/tree.h"

static const struct filter_node *find_number(const struct filter_node *n, size_t *i)
{
	const struct filter_node *found = NULL;

	if (n->kind == NODE_FIELD && !(*i)--)
		return n;
	for (const struct filter_node *o = n->first; o && !found; o = o->next)
		found = find_number(o, i);
	return found;
}

const struct filter_node *filter_named_field(const struct filter *f, size_t i)
{
	return find_number(f->root, &i);
}

uint64_t filter_contexts_named(const struct filter *f)
{
	uint64_t kinds = 0;

	for (const struct filter_node *n = f->made; n; n = n->made)
		if (n->kind == NODE_CONTEXT && n->context < 64)
			kinds |= UINT64_C(1) << n->context;
	return kinds;
}

void filter_app_contexts(const struct filter *f, struct md_buf *out)
{
	for (const struct filter_node *n = f->made; n; n = n->made)
		if (n->kind == NODE_CONTEXT && n->context == TRAIL_CONTEXT_APP)
			md_buf_put(out, n->text + n->context_name,
				   n->text_length - n->context_name + 1);
}

bool filter_event_has(const struct filter_event *e, const struct filter_node *field, uint32_t *at)
{
	struct md_buf shown = MD_BUF_INIT;
	bool found = false;

	*at = UINT32_MAX;
	/* A structure's members cannot be looked up by their own names. */
	for (uint32_t i = 0; i < e->field_count && !found && !field->member; i++) {
		md_buf_reset(&shown);
		md_name_field(e->strings + e->fields[i].name, &shown);
		found = shown.failed || (shown.len == field->name_length &&
					 !memcmp(shown.data, field->text, shown.len));
		*at = found && !shown.failed ? i : UINT32_MAX;
	}
	md_buf_deinit(&shown);
	return found;
}

uint64_t filter_missing_fields(const struct filter *f, const struct filter_event *e)
{
	struct filter_info *info = calloc(f->node_count, sizeof(*info));
	const struct filter_node *field;
	uint64_t missing = 0;

	if (info && !filter_bind(f, e, info, NULL))
		for (size_t i = 0; i < 64 && (field = filter_named_field(f, i)); i++)
			missing |= (uint64_t)info[field->id].missing << i;
	free(info);
	return missing;
}

void filter_event_names(const struct filter_event *e, struct md_buf *out)
{
	for (uint32_t i = 0; i < e->field_count; i++) {
		md_name_field(e->strings + e->fields[i].name, out);
		md_buf_putc(out, '\0');
	}
}

int filter_fail_field(const struct filter *f, const struct filter_node *field, int code,
		      const char *sentence, struct tr_err *err)
{
	return tr_fail_at(err, code, f->line, (int)field->column, "%s", sentence);
}

/* The context of this name. NULL: there is none. */
static const char *find_context(const struct filter_node *field)
{
	for (size_t i = 0; i < FILTER_CONTEXTS; i++)
		if (strlen(filter_contexts[i].name) == field->name_length &&
		    !memcmp(filter_contexts[i].name, field->text, field->name_length))
			return filter_contexts[i].name;
	return NULL;
}

int filter_no_field(const struct filter *f, const struct filter_node *field, const char *where,
		    struct md_buf *names, struct tr_err *err)
{
	const char *near = find_context(field);

	if (near)
		return tr_fail_at(err, -EINVAL, f->line, (int)field->column,
				  "no field '%s' in %s; the context is $ctx.%s", field->text, where,
				  near);
	if (!names->failed)
		near = nearest_in(field->text, field->name_length, names->data, names->len);
	if (near)
		return tr_fail_at(err, -EINVAL, f->line, (int)field->column,
				  "no field '%s' in %s; did you mean '%s'?", field->text, where,
				  near);
	return tr_fail_at(err, -EINVAL, f->line, (int)field->column, "no field '%s' in %s",
			  field->text, where);
}

int filter_check(const struct filter *f, const struct filter_event *e, struct tr_err *err)
{
	struct filter_info *info = calloc(f->node_count, sizeof(*info));
	int ret;

	if (!info)
		return tr_fail(err, -ENOMEM, "out of memory");
	ret = filter_bind(f, e, info, err);
	free(info);
	return ret;
}
