/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "metadata/model.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"
#include "metadata/program.h"
#include "tracer/abi/app.h"

static const uint8_t uuid[16] = { 9 };

static struct md_event *one_field(const char *name, struct md_type type)
{
	struct md_event *e = md_event_create("p:e", 3, 1);

	set_field(&e->fields[0], name, type);
	return e;
}

static int add_result(struct md_event *e)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	int ret = md_stream_add(s, e);

	if (ret)
		md_event_destroy(e);
	md_stream_destroy(s);
	return ret;
}

static void events_are_found(void)
{
	static const uint32_t ids[] = { 0, 1, 255, 256, 40000, MD_EVENT_ID_MAX };
	struct md_stream *s = md_stream_create(1, MD_HEADER_COMPACT);
	struct md_event *e;
	size_t i;

	for (i = 0; i < 6; i++) {
		e = md_event_create("p:e", MD_LOGLEVEL_NONE, 0);
		e->id = ids[i];
		CHECK(md_stream_event(s, ids[i]) == NULL);
		CHECK(md_stream_add(s, e) == 0);
		CHECK(md_stream_event(s, ids[i]) == e);
	}
	CHECK(s->event_count == 6);
	CHECK(!md_stream_event(s, 2) && !md_stream_event(s, MD_EVENT_ID_MAX + 1) &&
	      !md_stream_event(s, UINT32_MAX));
	e = md_event_create("p:e", 0, 0);
	e->id = 255;
	CHECK(md_stream_add(s, e) == -EEXIST);
	e->id = MD_EVENT_ID_MAX + 1;
	CHECK(md_stream_add(s, e) == -EINVAL);
	md_event_destroy(e);
	md_stream_destroy(s);
}

static void types_that_cannot_be_done(void)
{
	struct md_type t = t_struct(2);
	int i;

	CHECK(add_result(one_field("a", (struct md_type){ 0 })) == -EINVAL);
	CHECK(add_result(one_field("a", t_int(3, false, 10, false))) == -EINVAL);
	CHECK(add_result(one_field("a", t_int(4, false, 7, false))) == -EINVAL);
	CHECK(add_result(one_field("a", t_float(2, false))) == -EINVAL);
	CHECK(add_result(one_field("a", t_sequence(t_s32(), 3))) == -EINVAL);
	CHECK(add_result(one_field("a", t_sequence(t_sequence(t_s32(), 4), 4))) == -EINVAL);
	/* Elements of no size. */
	CHECK(add_result(one_field("a", t_sequence(t_struct(0), 8))) == -EINVAL);
	CHECK(add_result(one_field("a", t_array(t_array(t_s32(), 0), UINT32_MAX))) == -EINVAL);
	/* More than any event holds, also where the sizes' product wraps. */
	CHECK(add_result(one_field("a", t_array(t_int(8, false, 10, false), UINT32_MAX))) ==
	      -EINVAL);
	CHECK(add_result(one_field(
		      "a", t_array(t_array(t_array(t_s32(), 1u << 31), 1u << 31), 8))) == -EINVAL);
	CHECK(add_result(one_field(
		      "a", (struct md_type){ .kind = MD_SEQUENCE, .length_size = 4 })) == -EINVAL);
	/* a field that was never set */
	CHECK(add_result(md_event_create("p:e", 0, 1)) == -EINVAL);
	set_field(&t.members[0], "x", t_s32());
	set_field(&t.members[1], "y", t_int(9, false, 10, false));
	CHECK(add_result(one_field("a", t_sequence(t, 4))) == -EINVAL);
	t = t_s32();
	for (i = 0; i < 40; i++)
		t = t_array(t, 1);
	CHECK(add_result(one_field("a", t)) == -EINVAL);
	t = t_enum(t_s32(), 1);
	set_mapping(&t, 0, "BACKWARDS", 2, 1);
	CHECK(add_result(one_field("a", t)) == -EINVAL);
	t = t_enum(t_int(8, false, 10, false), 1);
	set_mapping(&t, 0, "HIGH", 1, -1);
	CHECK(add_result(one_field("a", t)) == 0);
	CHECK(add_result(one_field("a", t_array(t_s32(), 0))) == 0);
}

static int two_fields(const char *a, struct md_type ta, const char *b, struct md_type tb)
{
	struct md_event *e = md_event_create("p:e", 3, 2);

	set_field(&e->fields[0], a, ta);
	set_field(&e->fields[1], b, tb);
	return add_result(e);
}

static void names_must_differ(void)
{
	struct md_type t = t_struct(2);

	CHECK(two_fields("a", t_s32(), "b", t_s32()) == 0);
	CHECK(two_fields("a", t_s32(), "a", t_s32()) == -EINVAL);
	CHECK(two_fields("a.b", t_s32(), "a-b", t_s32()) == -EINVAL);
	CHECK(two_fields("", t_s32(), "_", t_s32()) == -EINVAL);
	CHECK(two_fields("a", t_sequence(t_s32(), 4), "_a_length", t_s32()) == -EINVAL);
	CHECK(two_fields("a", t_sequence(t_s32(), 4), "a_length", t_s32()) == 0);
	CHECK(two_fields("a", t_array(t_s32(), 4), "_a_length", t_s32()) == 0);
	set_field(&t.members[0], "x", t_s32());
	set_field(&t.members[1], "x", t_s32());
	CHECK(two_fields("a", t, "x", t_s32()) == -EINVAL);
	t = t_struct(1);
	set_field(&t.members[0], "x", t_s32());
	CHECK(two_fields("a", t, "x", t_s32()) == 0);
}

static struct md_type one_option(struct md_type option)
{
	struct md_type t = t_variant(1);

	set_field(&t.members[0], "x", option);
	return t;
}

static void variants(void)
{
	struct md_type t, same;
	uint32_t i;

	CHECK(add_result(one_field("a", one_option(t_s32()))) == 0);
	CHECK(add_result(one_field("a", one_option(t_struct(0)))) == 0);
	CHECK(add_result(one_field("a", t_variant(0))) == -EINVAL);
	CHECK(add_result(one_field("a", (struct md_type){ .kind = MD_VARIANT, .count = 1 })) ==
	      -EINVAL);
	/* an option that was never set */
	CHECK(add_result(one_field("a", t_variant(1))) == -EINVAL);
	CHECK(add_result(one_field("a", one_option(t_int(3, false, 10, false)))) == -EINVAL);
	/* No place for a length or a second tag. */
	CHECK(add_result(one_field("a", one_option(t_sequence(t_s32(), 4)))) == -EINVAL);
	CHECK(add_result(one_field("a", one_option(one_option(t_s32())))) == -EINVAL);
	CHECK(add_result(one_field("a", t_array(one_option(t_s32()), 2))) == -EINVAL);
	CHECK(add_result(one_field("a", one_option(t_array(t_int(8, false, 10, false),
							   UINT32_MAX)))) == -EINVAL);
	CHECK(two_fields("a", one_option(t_s32()), "a_tag", t_s32()) == -EINVAL);
	CHECK(two_fields("a", one_option(t_s32()), "_a_tag", t_s32()) == 0);
	t = t_variant(2);
	set_field(&t.members[0], "x.y", t_s32());
	set_field(&t.members[1], "x-y", t_s32());
	CHECK(add_result(one_field("a", t)) == -EINVAL);
	t = t_variant(MD_OPTION_MAX + 1);
	for (i = 0; i < t.count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "o%u", i);
		set_field(&t.members[i], name, t_s32());
	}
	CHECK(add_result(one_field("a", t)) == -EINVAL);

	/* The interface with applications says the same tags. */
	CHECK(md_type_dynamic(&t) == 0);
	CHECK(md_type_dynamic(&same) == 0);
	CHECK(t.kind == MD_VARIANT && t.count == TRAIL_DYNAMIC_TAGS);
	CHECK(t.members[TRAIL_DYNAMIC_NONE].type.kind == MD_STRUCT &&
	      !t.members[TRAIL_DYNAMIC_NONE].type.count);
	CHECK(t.members[TRAIL_DYNAMIC_S64].type.is_signed &&
	      t.members[TRAIL_DYNAMIC_S64].type.size == 8);
	CHECK(!t.members[TRAIL_DYNAMIC_U8].type.is_signed &&
	      t.members[TRAIL_DYNAMIC_U8].type.size == 1);
	CHECK(t.members[TRAIL_DYNAMIC_FLOAT].type.kind == MD_FLOAT &&
	      t.members[TRAIL_DYNAMIC_FLOAT].type.size == 4);
	CHECK(t.members[TRAIL_DYNAMIC_DOUBLE].type.size == 8);
	CHECK(t.members[TRAIL_DYNAMIC_STRING].type.kind == MD_STRING);
	CHECK(add_result(one_field("a", t)) == 0);
	CHECK(two_fields("$app.p:n", same, "_app_p_n", t_s32()) == -EINVAL);
}

static void many_fields_are_quick(void)
{
	uint32_t n = 60000, i;
	struct md_event *e = md_event_create("p:e", 3, n);
	char name[16];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		set_field(&e->fields[i], name, t_string());
	}
	CHECK(add_result(e) == 0);
}

static void context_is_set_once(void)
{
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct md_field *context = calloc(1, sizeof(*context));

	CHECK(md_stream_set_context(s, context, 1) == -EINVAL);
	set_field(context, "pid", t_s32());
	CHECK(md_stream_set_context(s, context, 1) == 0);
	CHECK(md_stream_set_context(s, context, 1) == -EBUSY);
	md_stream_destroy(s);
}

static void env_is_replaced(void)
{
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(3, MD_HEADER_LARGE),
			 *same = md_stream_create(3, MD_HEADER_LARGE);

	CHECK(md_trace_env(t, "domain", "ust", 0) == 0);
	CHECK(md_trace_env(t, "major", NULL, 2) == 0);
	CHECK(md_trace_env(t, "domain", "kernel", 0) == 0);
	CHECK(t->env_count == 2);
	CHECK_STR(t->env[0].value, "kernel");
	CHECK(md_trace_env(t, "domain", NULL, 5) == 0);
	CHECK(!t->env[0].value && t->env[0].number == 5);
	CHECK(md_trace_add(t, s) == 0);
	CHECK(md_trace_add(t, same) == -EEXIST);
	md_stream_destroy(same);
	md_trace_destroy(t);
}

static void digests(void)
{
	struct md_event *a = one_field("a", t_s32()), *b = one_field("a", t_s32());
	uint64_t d = md_event_digest(a);

	b->id = 7;
	CHECK(md_event_digest(b) == d);
	/* Kept on disk: this number is for ever. */
	CHECK(d == UINT64_C(0xf2f1e3f2214bbb77));
	b->loglevel++;
	CHECK(md_event_digest(b) != d);
	b->loglevel--;
	b->fields[0].type.base = 16;
	CHECK(md_event_digest(b) != d);
	b->fields[0].type.base = 10;
	b->emf_uri = strdup("");
	CHECK(md_event_digest(b) != d);
	free(b->emf_uri);
	b->emf_uri = NULL;
	CHECK(md_event_digest(b) == d);
	b->fields[0].name[0] = 'b';
	CHECK(md_event_digest(b) != d);
	md_event_destroy(a);
	md_event_destroy(b);
	md_event_destroy(NULL);
}

int main(void)
{
	CASE(events_are_found);
	CASE(types_that_cannot_be_done);
	CASE(names_must_differ);
	CASE(variants);
	CASE(many_fields_are_quick);
	CASE(context_is_set_once);
	CASE(env_is_replaced);
	CASE(digests);
	return test_summary();
}
