/* SPDX-License-Identifier: MIT */
#include "metadata/ctf.h"
#include "tests/lib/classes.h"
#include "tests/lib/test.h"

static const uint8_t uuid[16] = { 0xef, 0x72, 0x39, 0xa4, 0x7c, 0xf0, 0x4e, 0x6a,
				  0xa7, 0xa0, 0x0f, 0xc2, 0x43, 0x4b, 0x66, 0x45 };

static struct md_event *sample_event(void)
{
	struct md_event *e = md_event_create("types:all", 4, 13);
	struct md_field *f = e->fields;
	struct md_type t;

	e->id = 26;
	e->emf_uri = strdup("http://example.com/doc");
	set_field(f++, "i8", t_int(1, true, 10, false));
	set_field(f++, "hex32", t_int(4, false, 16, false));
	set_field(f++, "net16", t_int(2, false, 10, true));
	set_field(f++, "f", t_float(4, false));
	set_field(f++, "d", t_float(8, false));
	set_field(f++, "s", t_string());
	set_field(f++, "arr4", t_array(t_int(1, false, 10, false), 4));
	set_field(f++, "txt4", t_array(t_char(), 4));
	set_field(f++, "sq", t_sequence(t_int(1, false, 10, false), 8));
	set_field(f++, "sqtxt", t_sequence(t_char(), 1));
	t = t_enum(t_int(4, true, 10, false), 4);
	set_mapping(&t, 0, "RED", 0, 0);
	set_mapping(&t, 1, "GREEN", 1, 1);
	set_mapping(&t, 2, "OTHER", 2, 10);
	set_mapping(&t, 3, "ELEVEN", 11, 11);
	set_field(f++, "col", t);
	t = t_struct(2);
	set_field(&t.members[0], "fd", t_s32());
	set_field(&t.members[1], "in", t_struct(0));
	set_field(f++, "fds", t_sequence(t, 4));
	set_field(f++, "m", t_array(t_array(t_s32(), 3), 2));
	return e;
}

static const char sample_text[] =
	"event {\n"
	"\tname = \"types:all\";\n"
	"\tid = 26;\n"
	"\tstream_id = 0;\n"
	"\tloglevel = 4;\n"
	"\tmodel.emf.uri = \"http://example.com/doc\";\n"
	"\tfields := struct {\n"
	"\t\tinteger { size = 8; align = 8; signed = 1; encoding = none; base = 10; } _i8;\n"
	"\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 16; } _hex32;\n"
	"\t\tinteger { size = 16; align = 8; signed = 0; encoding = none; base = 10; byte_order = "
	"be; } _net16;\n"
	"\t\tfloating_point { exp_dig = 8; mant_dig = 24; align = 8; } _f;\n"
	"\t\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; } _d;\n"
	"\t\tstring _s;\n"
	"\t\tinteger { size = 8; align = 8; signed = 0; encoding = none; base = 10; } _arr4[4];\n"
	"\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _txt4[4];\n"
	"\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 10; } "
	"__sq_length;\n"
	"\t\tinteger { size = 8; align = 8; signed = 0; encoding = none; base = 10; } _sq[ "
	"__sq_length ];\n"
	"\t\tinteger { size = 8; align = 8; signed = 0; encoding = none; base = 10; } "
	"__sqtxt_length;\n"
	"\t\tinteger { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _sqtxt[ "
	"__sqtxt_length ];\n"
	"\t\tenum : integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } {\n"
	"\t\t\t\"RED\" = 0,\n"
	"\t\t\t\"GREEN\" = 1,\n"
	"\t\t\t\"OTHER\" = 2 ... 10,\n"
	"\t\t\t\"ELEVEN\" = 11,\n"
	"\t\t} _col;\n"
	"\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = 10; } "
	"__fds_length;\n"
	"\t\tstruct {\n"
	"\t\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _fd;\n"
	"\t\t\tstruct {\n"
	"\t\t\t} _in;\n"
	"\t\t} _fds[ __fds_length ];\n"
	"\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _m[2][3];\n"
	"\t};\n"
	"};\n"
	"\n";

static void event_block(void)
{
	struct md_event *e = sample_event();
	struct md_buf b = MD_BUF_INIT;

	md_ctf_print_event(e, 0, &b);
	CHECK_STR(md_buf_str(&b), sample_text);
	md_buf_deinit(&b);
	md_event_destroy(e);
}

static void hostile_names(void)
{
	struct md_event *e = md_event_create("a\"b\\c\nd\xff", MD_LOGLEVEL_NONE, 3);
	struct md_buf b = MD_BUF_INIT;

	set_field(&e->fields[0], "x; } evil {", t_s32());
	set_field(&e->fields[1], "Bool", t_s32());
	set_field(&e->fields[2], "", t_string());
	md_ctf_print_event(e, 3, &b);
	CHECK_STR(md_buf_str(&b), "event {\n"
				  "\tname = \"a\\\"b\\\\c_d_\";\n"
				  "\tid = 0;\n"
				  "\tstream_id = 3;\n"
				  "\tfields := struct {\n"
				  "\t\tinteger { size = 32; align = 8; signed = 1; encoding = "
				  "none; base = 10; } _x____evil__;\n"
				  "\t\tinteger { size = 32; align = 8; signed = 1; encoding = "
				  "none; base = 10; } _Bool_;\n"
				  "\t\tstring __;\n"
				  "\t};\n"
				  "};\n"
				  "\n");
	md_buf_deinit(&b);
	md_event_destroy(e);
}

/*
 * The frame is compared with what LTTng wrote (test_babeltrace.c has it read); here: order and the
 * free parts.
 */
static void whole_text(void)
{
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct md_field *context = calloc(1, sizeof(*context));
	struct md_buf b = MD_BUF_INIT;
	const char *text, *stream, *env;

	t->clock_offset = UINT64_MAX;
	md_trace_env(t, "domain", "ust", 0);
	md_trace_env(t, "trace_name", "q\"", 0);
	md_trace_env(t, "2nd-name", NULL, -3);
	set_field(context, "vpid", t_s32());
	CHECK(md_stream_set_context(s, context, 1) == 0);
	CHECK(md_stream_add(s, sample_event()) == 0);
	CHECK(md_trace_add(t, s) == 0);
	CHECK(md_ctf_print(t, false, &b) == 0);
	text = md_buf_str(&b);
	CHECK(!strncmp(text, "/* CTF 1.8 */\n", 14));
	CHECK(strstr(text, "uuid = \"ef7239a4-7cf0-4e6a-a7a0-0fc2434b6645\";\n"));
	CHECK(strstr(text, "\toffset = 18446744073709551615;\n"));
	env = strstr(
		text,
		"env {\n\tdomain = \"ust\";\n\ttrace_name = \"q\\\"\";\n\t_2nd_name = -3;\n};\n\n");
	stream = strstr(text,
			"stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
			"\tpacket.context := struct packet_context;\n\tevent.context := struct {\n"
			"\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; base = "
			"10; } _vpid;\n"
			"\t};\n};\n\n");
	CHECK(env && stream && env < stream);
	if (stream)
		CHECK(strstr(stream, sample_text));
	md_buf_deinit(&b);
	md_trace_destroy(t);
}

/* As LTTng 2.13 describes what an application's context says. */
static void application_context(void)
{
	struct md_trace *t = md_trace_create(uuid);
	struct md_stream *s = md_stream_create(0, MD_HEADER_LARGE);
	struct md_field *context = calloc(1, sizeof(*context));
	struct md_buf b = MD_BUF_INIT;

	set_field(context, "$app.prov:name", (struct md_type){ 0 });
	CHECK(md_type_dynamic(&context->type) == 0);
	CHECK(md_stream_set_context(s, context, 1) == 0);
	CHECK(md_trace_add(t, s) == 0);
	CHECK(md_ctf_print(t, false, &b) == 0);
#define INT(size, sign, name) \
	"\t\t\tinteger { size = " #size "; align = 8; signed = " #sign "; encoding = none; " \
	"base = 10; } _" name ";\n"
	CHECK(strstr(
		md_buf_str(&b),
		"\tevent.context := struct {\n"
		"\t\tenum : integer { size = 8; align = 8; signed = 1; encoding = none; base = 10; "
		"} {\n"
		"\t\t\t\"_none\" = 0,\n\t\t\t\"_int8\" = 1,\n\t\t\t\"_int16\" = "
		"2,\n\t\t\t\"_int32\" = 3,\n"
		"\t\t\t\"_int64\" = 4,\n\t\t\t\"_uint8\" = 5,\n\t\t\t\"_uint16\" = "
		"6,\n\t\t\t\"_uint32\" = 7,\n"
		"\t\t\t\"_uint64\" = 8,\n\t\t\t\"_float\" = 9,\n\t\t\t\"_double\" = "
		"10,\n\t\t\t\"_string\" = 11,\n"
		"\t\t} __app_prov_name_tag;\n"
		"\t\tvariant <__app_prov_name_tag> {\n"
		"\t\t\tstruct {\n\t\t\t} _none;\n"
		INT(8, 1, "int8") INT(16, 1, "int16") INT(32, 1, "int32") INT(64, 1, "int64")
		INT(8, 0, "uint8") INT(16, 0, "uint16") INT(32, 0, "uint32") INT(64, 0, "uint64")
		"\t\t\tfloating_point { exp_dig = 8; mant_dig = 24; align = 8; } _float;\n"
		"\t\t\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; } _double;\n"
		"\t\t\tstring _string;\n\t\t} __app_prov_name;\n\t};\n};\n"));
	md_buf_deinit(&b);
	md_trace_destroy(t);
}

/* Readers of CTF 2 refuse metadata without a stream class, as of a session without a program. */
static void ctf2_has_a_stream_class(void)
{
	static const char class[] = "\"data-stream-class\"";
	struct md_trace *t = md_trace_create(uuid);
	struct md_buf b = MD_BUF_INIT;
	const char *first;

	for (int i = 0; i < 2; i++) {
		md_buf_reset(&b);
		CHECK(md_ctf2_print(t, false, &b) == 0);
		first = strstr(md_buf_str(&b), class);
		CHECK(first && !strstr(first + 1, class));
		CHECK(i || md_trace_add(t, md_stream_create(0, MD_HEADER_LARGE)) == 0);
	}
	md_buf_deinit(&b);
	md_trace_destroy(t);
}

static void index_is_big_endian(void)
{
	struct md_packet p = { .packet_size = 8,
			       .content_size = 7,
			       .timestamp_begin = 1,
			       .timestamp_end = 2,
			       .events_discarded = 3,
			       .stream_id = 4,
			       .stream_instance_id = 5,
			       .packet_seq_num = 6 };
	static const uint8_t head[16] = { 0xc1, 0xf1, 0xdc, 0xc1, 0, 0, 0, 1,
					  0,    0,    0,    1,    0, 0, 0, 72 };
	static const uint8_t order[9] = { 9, 8, 7, 1, 2, 3, 4, 5, 6 };
	struct md_index_header h;
	struct md_index_entry e;
	int i;

	CHECK(MD_PACKET_HEADER == 84 && sizeof(e) == 72);
	md_index_header_set(&h);
	CHECK(!memcmp(&h, head, sizeof(h)) && sizeof(h) == 16);
	md_index_entry_set(&e, &p, 9);
	for (i = 0; i < 9; i++)
		CHECK(((uint8_t *)&e)[8 * i + 7] == order[i] && ((uint8_t *)&e)[8 * i] == 0);
}

int main(void)
{
	CASE(event_block);
	CASE(hostile_names);
	CASE(whole_text);
	CASE(application_context);
	CASE(ctf2_has_a_stream_class);
	CASE(index_is_big_endian);
	return test_summary();
}
