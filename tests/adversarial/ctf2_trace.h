/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small trace of CTF 2 with all that its metadata can say of types: for fuzz_import.c. Include it
 * after ctf_trace.h, whose put_number it uses; its numbers are little-endian.
 */
#ifndef TESTS_ADVERSARIAL_CTF2_TRACE_H
#define TESTS_ADVERSARIAL_CTF2_TRACE_H

#include "tests/adversarial/ctf_trace.h"

/* With ' for ", U8 for the beginning of an integer of a byte, and UINT for one of any length */
static const char *const fragments[] = {
	"{'type':'preamble','version':2,'uuid':[117,117,117,117,117,117,117,117,117,117,117,117,"
	"117,117,117,117],'attributes':{'x':[1.5,null,true]},'extensions':{}}",
	"{'type':'field-class-alias','name':'u8','field-class':U8}}",
	"{'type':'field-class-alias','name':'byte','field-class':'u8'}",
	"{'type':'trace-class','name':'t','environment':{'domain':'ust','n':-7},"
	"'packet-header-field-class':{'type':'structure','member-classes':["
	"{'name':'magic','field-class':UINT32,'roles':['packet-magic-number']}},"
	"{'name':'uuid','field-class':{'type':'static-length-blob','length':16,"
	"'roles':['metadata-stream-uuid']}},"
	"{'name':'class','field-class':U8,'roles':['data-stream-class-id']}}]}}",
	"{'type':'clock-class','id':'c','frequency':1000000,'origin':'unix-epoch',"
	"'offset-from-origin':{'seconds':1700000000,'cycles':25},'precision':3}",
	"{'type':'data-stream-class','id':1,'default-clock-class-id':'c',"
	"'packet-context-field-class':{'type':'structure','minimum-alignment':8,'member-classes':["
	"{'name':'all','field-class':UINT32,'roles':['packet-total-length']}},"
	"{'name':'used','field-class':UINT32,'roles':['packet-content-length']}},"
	"{'name':'begin','field-class':UINT64,'roles':['default-clock-timestamp']}},"
	"{'name':'seq','field-class':{'type':'variable-length-unsigned-integer',"
	"'roles':['packet-sequence-number']}},{'name':'cpu_id','field-class':'byte'}]},"
	"'event-record-header-field-class':{'type':'structure','member-classes':["
	"{'name':'id','field-class':U8,'roles':['event-record-class-id']}},"
	"{'name':'v','field-class':{'type':'variant','selector-field-location':{'path':['id']},"
	"'options':[{'name':'short','selector-field-ranges':[[0,99]],'field-class':U8,"
	"'roles':['default-clock-timestamp']}},{'selector-field-ranges':[[100,255]],"
	"'field-class':UINT64,'roles':['default-clock-timestamp']}}]}}]},"
	"'event-record-common-context-field-class':{'type':'structure','member-classes':["
	"{'name':'vpid','field-class':{'type':'fixed-length-signed-integer','length':32,"
	"'byte-order':'little-endian'}}]}}",
	"{'type':'event-record-class','id':1,'data-stream-class-id':1,'name':'p:all',"
	"'attributes':{'lttng.org,2009':{'log-level':'info','emf-uri':'http://e'}},"
	"'specific-context-field-class':{'type':'structure','member-classes':["
	"{'name':'n','field-class':U8,'mappings':{'few':[[0,1]],'some':[[2,9],[20,30]]}}}]},"
	"'payload-field-class':{'type':'structure','member-classes':["
	"{'name':'list','field-class':{'type':'dynamic-length-array','length-field-location':"
	"{'origin':'event-record-specific-context','path':['n']},'minimum-alignment':8,"
	"'element-field-class':UINT16}}},"
	"{'name':'sel','field-class':'byte'},"
	"{'name':'v','field-class':{'type':'variant','selector-field-location':{'path':['sel']},"
	"'options':[{'selector-field-ranges':[[0,0]],'field-class':{'type':'structure'}},"
	"{'selector-field-ranges':[[1,1]],'field-class':{'type':'structure','member-classes':["
	"{'name':'k','field-class':'u8'}]}},"
	"{'selector-field-ranges':[[2,2]],'field-class':{'type':'structure','member-classes':["
	"{'name':'k','field-class':{'type':'variable-length-unsigned-integer'}},"
	"{'name':'b','field-class':{'type':'dynamic-length-blob','media-type':'image/png',"
	"'length-field-location':{'path':[null,'v','k']}}}]}},"
	"{'selector-field-ranges':[[3,3]],'field-class':{'type':'null-terminated-string',"
	"'encoding':'utf-16le'}}]}},"
	"{'name':'again','field-class':{'type':'optional','selector-field-ranges':[[1,2]],"
	"'selector-field-location':{'path':['sel']},'field-class':{'type':'dynamic-length-string',"
	"'length-field-location':{'origin':'event-record-payload','path':['v','k']}}}},"
	"{'name':'has','field-class':{'type':'fixed-length-boolean','length':8,'byte-order':"
	"'big-endian'}},"
	"{'name':'o','field-class':{'type':'optional','selector-field-location':{'path':['has']},"
	"'field-class':{'type':'variable-length-signed-integer','preferred-display-base':16}}},"
	"{'name':'m','field-class':{'type':'fixed-length-bit-map','length':8,'byte-order':"
	"'little-endian','bit-order':'last-to-first','flags':{'A':[[0,1]],'B':[[3,3],[7,7]]}}},"
	"{'name':'s','field-class':{'type':'static-length-string','length':4}},"
	"{'name':'x','field-class':{'type':'fixed-length-bit-array','length':3,'byte-order':"
	"'little-endian'}},"
	"{'name':'y','field-class':{'type':'fixed-length-signed-integer','length':5,'byte-order':"
	"'little-endian','bit-order':'last-to-first'}},"
	"{'name':'f','field-class':{'type':'fixed-length-floating-point-number','length':16,"
	"'byte-order':'big-endian','alignment':8}},"
	"{'name':'none','field-class':{'type':'static-length-array','length':2,"
	"'element-field-class':{'type':'static-length-blob','length':0}}}]}}",
	"{'type':'event-record-class','id':200,'data-stream-class-id':1}",
};

/* What a change puts into the text. */
static const char *const words2[] = {
	"{", "}", "[", "]", ",", ":", "null", "true", "\x1e", "\"", "\\u0000", "\\ud83d", "1.5e3",
	"[[-1,5]]", "[[0,18446744073709551615]]", "\"u8\"", "\"byte\"", "[null,null,\"v\"]",
	"\"origin\":\"packet-header\",", "\"path\":[\"v\"]", "\"roles\":[\"data-stream-id\"],",
	"\"alignment\":1048576,", "\"minimum-alignment\":64,", "\"bit-order\":\"first-to-last\",",
	"big-endian", "variable-length-unsigned-integer", "fixed-length-boolean",
	"\"type\":\"structure\"", "dynamic-length-array", "optional", "variant",
	"{\"type\":\"static-length-array\",\"length\":16777216,\"element-field-class\":",
	"\"length\":0", "\"extensions\":{\"a\":{\"b\":1}},", "utf-32be",
};

#define FRAGMENTS (sizeof(fragments) / sizeof(*fragments))
#define INTEGER "{\"type\":\"fixed-length-unsigned-integer\",\"byte-order\":\"little-endian\"," \
		"\"alignment\":8,\"length\":"

static inline void make_text2(struct md_buf *b)
{
	md_buf_reset(b);
	for (size_t i = 0; i < FRAGMENTS; i++) {
		md_buf_putc(b, '\x1e');
		for (const char *s = fragments[i]; *s; s++) {
			if (!strncmp(s, "U8", 2))
				md_buf_puts(b, INTEGER "8"), s++;
			else if (!strncmp(s, "UINT", 4))
				md_buf_puts(b, INTEGER), s += 3;
			else
				md_buf_putc(b, *s == '\'' ? '"' : *s);
		}
		md_buf_putc(b, '\n');
	}
}

static inline void make_event2(struct md_buf *b, uint64_t time)
{
	unsigned int n = (unsigned int)rnd(4), sel = (unsigned int)rnd(4);
	unsigned int has = (unsigned int)rnd(2);

	if (!rnd(4)) {
		put_number(b, 200, 1);
		put_number(b, time, 8);
		put_number(b, rnd(100), 4);
		return;
	}
	put_number(b, 1, 1);
	put_number(b, time & 255, 1);
	put_number(b, rnd(100), 4);
	put_number(b, n, 1);
	for (unsigned int i = 0; i < n; i++)
		put_number(b, rnd(65536), 2);
	put_number(b, sel, 1);
	if (sel == 1)
		put_number(b, n, 1);
	if (sel == 2) {
		put_number(b, n, 1);
		put_number(b, rnd(UINT64_MAX), n);
	}
	if (sel == 3)
		md_buf_put(b, "a\0=\xd8\0\xdez\0\0\0", 10);
	if (sel == 1 || sel == 2)
		md_buf_put(b, "str", n);
	put_number(b, has << rnd(8), 1);
	if (has)
		md_buf_put(b, "\xb4\xc7\x72", 3);
	put_number(b, rnd(256), 1);
	md_buf_put(b, "ab\0\xff", 4);
	put_number(b, rnd(65536), 1 + 2);
}

/* A packet with as many events; *time: of the clock, which none moves by 256 or more. */
static inline void make_packet2(struct md_buf *b, uint64_t *time, unsigned int events)
{
	size_t from = b->len, sizes;
	bool former = big;
	uint32_t bits[2];

	big = false;
	put_number(b, 0xc1fc1fc1, 4);
	md_buf_put(b, "uuuuuuuuuuuuuuuu", 16);
	put_number(b, 1, 1);
	sizes = b->len;
	put_number(b, 0, 8);
	put_number(b, *time, 8);
	put_number(b, 5, 1);    /* (A gap would have a line of text.) */
	put_number(b, 3, 1);
	while (events--)
		make_event2(b, *time += rnd(10));
	bits[1] = (uint32_t)(8 * (b->len - from));
	for (uint64_t rest = rnd(9); rest; rest--)
		md_buf_putc(b, (char)0xee);
	bits[0] = (uint32_t)(8 * (b->len - from));
	for (int i = 0; i < 8; i++)
		b->data[sizes + (size_t)i] = (char)(bits[i / 4] >> 8 * (i % 4));
	big = former;
}

#endif
