/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that an event may lack: where one is missing there is no key and no number, and `reason`
 * says which; the fields after it have their values.
 */
#include "metadata/decode.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"
#include "tracer/view/map/map.h"

static struct md_stream *class;

/* An event whose first field is 5, or missing; the second one is "x", the third 7. */
static void make(bool missing, struct md_buf *bytes, struct md_occurrence *o)
{
	struct md_decoder d;

	md_buf_reset(bytes);
	put_header(class, 0, 0, 1, false, bytes);
	put_int(!missing, 1, false, bytes);
	if (!missing)
		put_int(5, 4, false, bytes);
	put_int(1, 1, false, bytes);
	md_buf_put(bytes, "x", 2);
	put_int(7, 4, false, bytes);
	d = (struct md_decoder){ .stream = class, .p = (const uint8_t *)bytes->data,
				 .end = (const uint8_t *)bytes->data + bytes->len };
	CHECK(md_decoder_next(&d, o) == 1 && o->end == d.end);
}

static struct map_value value_of(const struct md_occurrence *o, const char *path)
{
	struct md_route r;

	CHECK(md_route_find(class, o->event, path, &r));
	return map_read(o, &r);
}

static void check_reason(const char *rule, const struct md_occurrence *o, const char *want)
{
	struct map_rules rules = { 0 };
	char out[200] = "";

	CHECK(!map_rules_apply(&(struct map_rules){ 0 }, DOMAIN_USER, rule, true, &rules, NULL));
	map_explain(&rules.rules[0], MAP_SIDE_LAST, class, o, out, sizeof(out));
	CHECK_STR(out, want);
	map_rules_deinit(&rules);
}

static void missing(void)
{
	struct md_event *e = md_event_create("p:e", -1, 3);
	struct md_buf bytes = MD_BUF_INIT;
	struct md_occurrence o;

	class = md_stream_create(0, MD_HEADER_COMPACT);
	set_field(&e->fields[0], "size", t_optional(t_s32()));
	set_field(&e->fields[1], "name", t_optional(t_string()));
	set_field(&e->fields[2], "n", t_s32());
	CHECK(!md_stream_add(class, e));

	make(false, &bytes, &o);
	CHECK(value_of(&o, "size").kind == MAP_SIGNED && value_of(&o, "size").i == 5);
	CHECK(value_of(&o, "name").kind == MAP_TEXT && value_of(&o, "name").len == 1);
	CHECK(value_of(&o, "n").i == 7);

	make(true, &bytes, &o);
	CHECK(value_of(&o, "size").kind == MAP_NOTHING);
	CHECK(value_of(&o, "name").kind == MAP_TEXT && value_of(&o, "name").len == 1);
	CHECK(value_of(&o, "n").i == 7);
	check_reason("p:e by size count", &o,
		     "'size' of 'p:e' is not there, or not a single value");
	check_reason("p:e by name sum(size)", &o,
		     "'size' of 'p:e' is not there, or not a single value");
	md_buf_deinit(&bytes);
	md_stream_destroy(class);
}

int main(void)
{
	CASE(missing);
	return test_summary();
}
