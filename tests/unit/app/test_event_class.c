/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "metadata/ctf.h"
#include "tests/lib/regs.h"
#include "tests/lib/test.h"
#include "tests/unit/app/regfile.h"
#include "tracer/app/registration.h"
#include "tracer/base/os/state_file.h"

static void events_in_the_model(void)
{
	struct registration *r = NULL;
	const char *reason;
	struct md_buf text = MD_BUF_INIT;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	uint32_t i;

	begin();
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	for (i = 0; r && i < r->event_count; i++) {
		struct md_event *e = registration_event(r, i);

		e->id = i;
		CHECK(md_event_digest(e) == r->events[i].digest);
		if (i == 2)
			CHECK(e->fields[1].type.element->encoding == MD_ENCODING_UTF8 &&
			      e->fields[1].type.element->is_signed &&
			      e->fields[2].type.length_size == 4 &&
			      e->fields[0].type.element->base == 16);
		md_ctf_print_event(e, 0, &text);
		CHECK(!md_stream_add(s, e));
	}
	CHECK(strstr(
		md_buf_str(&text),
		"integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _id;"));
	CHECK(strstr(
		md_buf_str(&text),
		"integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; } _at;"));
	CHECK(strstr(md_buf_str(&text), "byte_order = be; } _port;"));
	CHECK(strstr(md_buf_str(&text), "encoding = UTF8; base = 10; } _name[16];"));
	CHECK(strstr(md_buf_str(&text), "encoding = UTF8; base = 10; } _msg[ __msg_length ];"));
	CHECK(strstr(md_buf_str(&text), "signed = 0; encoding = none; base = 16; } _mac[6];"));
	md_stream_destroy(s);
	md_buf_deinit(&text);
	registration_close(r);
	end();
}

#define DIGEST(change) \
	do { \
		struct regs kept = regs; \
		r = NULL; \
		change; \
		regs_file(&regs, &file); \
		close(regs_save(dir, "f", file.data, file.len)); \
		CHECK(!registration_open(NULL, dir, "f", &r, &reason)); \
		same = r && r->events[3].digest == digest; \
		registration_close(r); \
		kept.strings = regs.strings; \
		regs = kept; \
	} while (0)

/* The digest of the event follows what is in a trace, and only that. */
static void check_digests(uint64_t digest)
{
	struct registration *r;
	const char *reason;
	bool same = false;

	DIGEST(regs.events[3].field_count--);
	CHECK(same);
	DIGEST(regs.fields[14].size = 8);
	CHECK(same);
	DIGEST(regs.enums[0].name++);
	CHECK(same);
	DIGEST(regs.fields[14].flags = 0);
	CHECK(!same);
	DIGEST(regs.labels[0].end = 1);
	CHECK(!same);
	DIGEST(regs.fields[11].length = 2);
	CHECK(!same);
	DIGEST(regs.events[3].uri = TRAIL_NO_STRING);
	CHECK(!same);
	DIGEST((void)0);
	CHECK(same);
}

static void rare_things_in_the_model(void)
{
	struct md_buf text = MD_BUF_INIT;
	struct registration *r = NULL;
	const char *reason;
	struct md_event *e;
	uint64_t digest;

	begin();
	regs_rare(&regs);
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, 3) : NULL;
	CHECK(e != NULL);
	if (!e)
		return;
	CHECK(r->events[3].field_count == 6 && r->events[3].written == 5 && e->field_count == 5);
	CHECK(r->events[0].field_count == 5 && r->events[0].written == 5 && !r->events[0].uri);
	CHECK(r->fields[r->events[3].first_field + 5].flags & TRAIL_FIELD_NOWRITE);
	md_ctf_print_event(e, 0, &text);
	CHECK(strstr(md_buf_str(&text), "\tmodel.emf.uri = \"http://example.com/?\\\"a\\\"\";\n"));
	CHECK(strstr(md_buf_str(&text), "\t\tenum : integer { size = 32; align = 8; signed = 1; "
					"encoding = none; base = 10; } {\n"
					"\t\t\t\"RED\" = 0,\n"
					"\t\t\t\"other \\\"ones\\\"\\\\\" = 2 ... 10,\n"
					"\t\t\t\"below\" = -5 ... -1,\n"
					"\t\t} _colour;\n"));
	CHECK(strstr(md_buf_str(&text), "\"all\" = 0 ... 18446744073709551615,\n\t\t} _state;\n"));
	CHECK(strstr(md_buf_str(&text), "integer { size = 8; align = 8; signed = 0; encoding = "
					"none; base = 10; } __s1_length;"));
	CHECK(strstr(md_buf_str(&text), "integer { size = 16; align = 8; signed = 0; encoding = "
					"none; base = 10; } __s2_length;"));
	CHECK(strstr(md_buf_str(&text), "integer { size = 64; align = 8; signed = 0; encoding = "
					"none; base = 10; } __s8_length;"));
	CHECK(!strstr(md_buf_str(&text), "hidden"));
	md_event_destroy(e);
	digest = r->events[3].digest;
	registration_close(r);
	check_digests(digest);
	md_buf_deinit(&text);
	end();
}

/* A structure has its members in it, with theirs; floating point numbers may be elements. */
static void structures_in_the_model(void)
{
	struct registration *r = NULL;
	const char *reason;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e;

	begin();
	regs_event(&regs, "p", "n", 1);
	regs_field(&regs, "outer", TRAIL_KIND_STRUCT, 0, 0, 3);
	regs_field(&regs, "x", TRAIL_KIND_INT, 4, 0, 0);
	regs_field(&regs, "inner", TRAIL_KIND_STRUCT, 0, 0, 2);
	regs_field(&regs, "x", TRAIL_KIND_STRING, 0, 0, 0);
	regs_field(&regs, "x", TRAIL_KIND_SEQUENCE, 8, TRAIL_FIELD_FLOAT, 0);
	regs_field(&regs, "y", TRAIL_KIND_ARRAY, 4, TRAIL_FIELD_FLOAT, 3);
	regs_field(&regs, "x", TRAIL_KIND_INT, 1, 0, 0);
	regs_field(&regs, "last", TRAIL_KIND_INT, 1, TRAIL_FIELD_NOWRITE, 0);
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, 3) : NULL;
	CHECK(e != NULL);
	if (!e)
		return;
	CHECK(e->field_count == 2 && e->fields[0].type.kind == MD_STRUCT &&
	      e->fields[0].type.count == 3);
	CHECK_STR(e->fields[1].name, "x");
	CHECK_STR(e->fields[0].type.members[1].name, "inner");
	CHECK_STR(e->fields[0].type.members[2].name, "y");
	CHECK(e->fields[0].type.members[2].type.element->kind == MD_FLOAT);
	CHECK(e->fields[0].type.members[1].type.count == 2);
	CHECK_STR(e->fields[0].type.members[1].type.members[1].name, "x_2");
	CHECK(!md_stream_add(s, e));
	md_stream_destroy(s);
	registration_close(r);
	end();
}

static const char *refused(void)
{
	struct registration *r = NULL;
	const char *reason = NULL;

	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	if (registration_open(NULL, dir, "f", &r, &reason) == -EBADMSG)
		return reason;
	reason = "taken";
	for (uint32_t i = 0; i < r->event_count; i++)
		if (r->events[i].refused)
			reason = r->events[i].refused;  /* a constant */
	registration_close(r);
	return reason;
}

static void bad_structures(void)
{
	struct trail_reg_field *f;
	uint32_t i;

	begin();
	f = regs.fields + regs.field_count;
	regs_event(&regs, "p", "n", 1);
	for (i = 0; i < TRAIL_STRUCT_DEPTH + 1; i++)
		regs_field(&regs, "s", TRAIL_KIND_STRUCT, 0, 0, 1);
	regs_field(&regs, "x", TRAIL_KIND_INT, 4, 0, 0);
	CHECK_STR(refused(), "a structure is empty, or too deep in others");
	for (i = 3; i < TRAIL_STRUCT_DEPTH + 1; i++)
		f[i].kind = TRAIL_KIND_STRING;
	f[2].count = 0;
	CHECK_STR(refused(), "a structure is empty, or too deep in others");
	f[2].count = 100;
	CHECK_STR(refused(), "a structure has members outside of its event");
	f[2].count = UINT32_MAX;
	CHECK_STR(refused(), "a structure has members outside of its event");
	f[2].count = 1;
	f[3].flags = TRAIL_FIELD_NOWRITE;
	CHECK_STR(refused(), "a member of a structure is for filters only");
	f[2].flags = TRAIL_FIELD_NOWRITE;
	CHECK_STR(refused(), "unknown flags of a structure or a variant");
	end();
}

/* A variant has its options and one of nothing; no name is that of its tag. */
static void variants_in_the_model(void)
{
	struct registration *r = NULL;
	const struct md_type *t;
	const char *reason;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e;

	begin();
	regs_event(&regs, "p", "n", 1);
	regs_field(&regs, "a_tag", TRAIL_KIND_INT, 4, 0, 0);
	regs_field(&regs, "a", TRAIL_KIND_VARIANT, 0, 0, 3);
	regs_field(&regs, "none", TRAIL_KIND_INT, 8, TRAIL_FIELD_SIGNED, 0);
	regs_field(&regs, "x", TRAIL_KIND_STRING, 0, 0, 0);
	regs_field(&regs, "x", TRAIL_KIND_FLOAT, 4, 0, 0);
	regs_field(&regs, "a_2_tag", TRAIL_KIND_INT, 4, 0, 0);
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, 3) : NULL;
	CHECK(e && e->field_count == 3 && e->fields[1].type.kind == MD_VARIANT);
	if (!e || e->field_count != 3)
		return;
	t = &e->fields[1].type;
	CHECK_STR(e->fields[1].name, "a_2");
	CHECK_STR(e->fields[2].name, "a_2_tag_2");
	CHECK(t->count == 4 && t->members[0].type.size == 8);
	CHECK_STR(t->members[2].name, "x_2");
	CHECK_STR(t->members[3].name, "none_2");
	CHECK(t->members[3].type.kind == MD_STRUCT && !t->members[3].type.count);
	CHECK(!md_stream_add(s, e));
	md_stream_destroy(s);
	registration_close(r);
	end();
}

static void bad_variants(void)
{
	struct trail_reg_field *f;

	begin();
	f = regs.fields + regs.field_count;
	regs_event(&regs, "p", "n", 1);
	regs_field(&regs, "v", TRAIL_KIND_VARIANT, 0, 0, 0);
	regs_field(&regs, "x", TRAIL_KIND_INT, 4, 0, 0);
	regs_field(&regs, "y", TRAIL_KIND_INT, 4, 0, 0);
	CHECK_STR(refused(), "a structure is empty, or too deep in others");
	f[0].count = 3;
	CHECK_STR(refused(), "a structure has members outside of its event");
	f[0].count = 2;
	CHECK_STR(refused(), "taken");
	f[1].kind = TRAIL_KIND_ARRAY;
	CHECK_STR(refused(), "an option is neither a number nor a string");
	f[1].kind = TRAIL_KIND_BITS;
	CHECK_STR(refused(), "a member of a structure is a bit field or a variant");
	f[1].kind = TRAIL_KIND_VARIANT;
	CHECK_STR(refused(), "a member of a structure is a bit field or a variant");
	f[1].kind = TRAIL_KIND_STRUCT;
	f[1].count = 1;
	CHECK_STR(refused(), "an option is neither a number nor a string");
	f[1].kind = TRAIL_KIND_INT;
	f[2].flags = TRAIL_FIELD_NOWRITE;
	CHECK_STR(refused(), "a member of a structure is for filters only");
	f[2].flags = 0;
	f[0].flags = TRAIL_FIELD_SIGNED;
	CHECK_STR(refused(), "unknown flags of a structure or a variant");
	end();
}

static void blobs_in_the_model(void)
{
	struct registration *r = NULL;
	const char *reason;
	struct trail_reg_field *f;
	struct md_event *e;

	begin();
	regs_event(&regs, "p", "n", 1);
	f = regs.fields + regs.field_count;
	regs_field(&regs, "a", TRAIL_KIND_ARRAY, 1, TRAIL_FIELD_BLOB | TRAIL_FIELD_HEX, 4);
	regs_string(&regs, "image/\n");
	regs_field(&regs, "b", TRAIL_KIND_SEQUENCE, 1, TRAIL_FIELD_BLOB, 0);
	regs_string(&regs, "");
	CHECK_STR(refused(), "taken");
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, r->event_count - 1) : NULL;
	CHECK(e && e->field_count == 2);
	if (!e || e->field_count != 2)
		return;
	CHECK(e->fields[0].type.show == MD_SHOW_BLOB && e->fields[1].type.show == MD_SHOW_BLOB);
	CHECK(e->fields[0].type.element->base == 16 && !e->fields[1].type.media_type);
	CHECK_STR(e->fields[0].type.media_type, "image/_");
	md_event_destroy(e);
	registration_close(r);
	f[0].size = 2;
	CHECK_STR(refused(), "a blob is not of bytes");
	f[0].size = 1;
	f[0].flags |= TRAIL_FIELD_TEXT;
	CHECK_STR(refused(), "a blob is not of bytes");
	f[0].flags = TRAIL_FIELD_BLOB;
	f[0].kind = TRAIL_KIND_INT;
	CHECK_STR(refused(), "a blob is not of bytes");
	f[0].kind = TRAIL_KIND_ARRAY;
	/* The last string has nothing after it. */
	f[1].name = (uint32_t)regs.strings.len - 3;
	regs.strings.data[regs.strings.len - 3] = 'b';
	regs.strings.data[regs.strings.len - 2] = 'b';
	CHECK_STR(refused(), "bad media type of a blob");
	end();
}

/* Labels are shown, not trusted; what covers nothing is left out, by the field's sign. */
static void labels_of_any_kind(void)
{
	struct registration *r = NULL;
	const char *reason;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e;
	uint32_t odd;

	begin();
	odd = regs_enum(&regs, "");
	regs_label(&regs, "a\tb\n\x1b[1m\xff\xc2\x9b\xc3\xa4\"'\\", 5, 5);
	regs_label(&regs, "", 6, 6);
	regs_label(&regs, "signed", (uint64_t)-1, 1);
	regs_label(&regs, "unsigned", 1, (uint64_t)-1);
	regs_event(&regs, "p", "n", 1);
	regs.events[3].uri = regs_string(&regs, "a\nb");
	regs_field(&regs, "s", TRAIL_KIND_INT, 4, TRAIL_FIELD_SIGNED | TRAIL_FIELD_ENUM, odd);
	regs_field(&regs, "u", TRAIL_KIND_INT, 8, TRAIL_FIELD_ENUM, odd);
	regs_field(&regs, "none", TRAIL_KIND_INT, 1, TRAIL_FIELD_ENUM,
		   regs_enum(&regs, "no labels"));
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, 3) : NULL;
	CHECK(e != NULL);
	if (!e)
		return;
	CHECK_STR(e->emf_uri, "a_b");
	CHECK(e->fields[0].type.kind == MD_ENUM && e->fields[0].type.count == 3 &&
	      e->fields[1].type.count == 3);
	CHECK_STR(e->fields[0].type.mappings[0].name, "a_b__[1m___\xc3\xa4\"'\\");
	CHECK_STR(e->fields[0].type.mappings[1].name, "");
	CHECK_STR(e->fields[0].type.mappings[2].name, "signed");
	CHECK_STR(e->fields[1].type.mappings[2].name, "unsigned");
	CHECK(!md_stream_add(s, e));
	md_stream_destroy(s);
	registration_close(r);
	end();
}

static void field_names_are_made_unique(void)
{
	static const char *const names[] = {
		"a",    "a",     "a b", "a-b",       "a_2",       "",  "1x",
		"Bool", "Bool_", "s",   "_s_length", "_t_length", "t",
		/* These babeltrace2 would take for the same. */
		"s_length", "_u", "u", "__w_length", "w",
	};
	struct registration *r = NULL;
	const char *reason;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e;
	size_t i;

	begin();
	regs_event(&regs, "p", "n", 1);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*names[i])
			regs_field(&regs, names[i],
				   strlen(names[i]) == 1 ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_INT, 4,
				   0, 0);
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	e = r ? registration_event(r, 3) : NULL;
	CHECK(e != NULL);
	if (!e)
		return;
	CHECK_STR(e->fields[0].name, "a");
	CHECK_STR(e->fields[1].name, "a_2");
	CHECK_STR(e->fields[2].name, "a_b");
	CHECK_STR(e->fields[3].name, "a_b_2");
	CHECK_STR(e->fields[4].name, "a_2_2");
	CHECK_STR(e->fields[6].name, "Bool_");
	CHECK_STR(e->fields[7].name, "Bool__2");
	CHECK_STR(e->fields[9].name, "_s_length_2");
	CHECK_STR(e->fields[11].name, "t_2");
	CHECK_STR(e->fields[12].name, "s_length_3");
	CHECK_STR(e->fields[14].name, "u_2");
	CHECK_STR(e->fields[16].name, "w_2");
	CHECK(!md_stream_add(s, e));
	md_stream_destroy(s);
	registration_close(r);
	end();
}

int main(void)
{
	CASE(events_in_the_model);
	CASE(rare_things_in_the_model);
	CASE(labels_of_any_kind);
	CASE(structures_in_the_model);
	CASE(bad_structures);
	CASE(variants_in_the_model);
	CASE(bad_variants);
	CASE(blobs_in_the_model);
	CASE(field_names_are_made_unique);
	return test_summary();
}
