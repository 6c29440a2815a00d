/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LINK: core */
/* Types of the kernel and of its modules, the test's own and the kernel's, and damaged ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/btf_types.h"
#include "tests/lib/event_key.h"
#include "tests/lib/test.h"
#include "tracer/base/probe/btf_files.h"
#include "tracer/base/probe/probe.h"

/* A module's types, after these, which they refer to; so do the names. */
static size_t make_module(uint8_t *out)
{
	uint32_t header[6], before = strings_len;

	btf_header(header);
	types_len = 0;
	type("state", STRUCT, 3, 24);                                   /* 20 */
	member("users", 1, 32, 0), member("skb", 7, 64, 0), member("next", 21, 128, 0);
	type("", PTR, 0, 20);                                           /* 21 */
	type("", PROTO, 2, 10), word(name("st")), word(21), word(name("label")), word(13);
	type("mod_open", FUNC, 0, 22);                                  /* 23 */
	header[3] = types_len;
	header[4] = types_len;
	header[5] = strings_len - before;
	memcpy(out, header, sizeof(header));
	memcpy(out + 24, types, types_len);
	memcpy(out + 24 + types_len, strings + before, header[5]);
	return 24 + types_len + header[5];
}

static uint8_t blob[8192], module[8192];
static size_t blob_len, module_len;

static int resolve_by(struct dynamic_event *d, const char *file, struct tr_err *err)
{
	struct btf_files files = BTF_FILES_INIT(file);
	int ret = extra_resolve(d, &files, err);

	btf_files_deinit(&files);
	return ret;
}

/* Functions of modules, whose types lead to those of the kernel. */
static void modules(void)
{
	char dir[] = "/tmp/test_btf.XXXXXX", files[3][64];
	struct tr_err err = TR_ERR_INIT;
	struct dynamic_event d;
	struct md_buf b = MD_BUF_INIT;

	CHECK(mkdtemp(dir) != NULL);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "vmlinux", "mod", "damaged" };
		size_t len = i == 2 ? 20 : i ? module_len : blob_len;
		FILE *f;

		snprintf(files[i], sizeof(files[i]), "%s/%s", dir, names[i]);
		f = fopen(files[i], "w");
		CHECK(f && fwrite(i ? module : blob, len, 1, f));
		fclose(f);
	}
	CHECK(!event_of("kprobe:mod_open\tst->users,st->next->skb->dev->name as n,"
				   "label:string",
				   &d, &err) &&
	      !resolve_by(&d, files[0], &err) && !dynamic_event_define(&d, 0, "g", "e", &b, &err));
	CHECK(strstr(md_buf_str(&b), " users=+4($arg1):u32 n=+0(+8(+8(+16($arg1)))):string "
				     "label=+0($arg2):string"));
	dynamic_event_deinit(&d);
	CHECK(!event_of("kprobe:mod_open\tst->user", &d, &err) &&
	      resolve_by(&d, files[0], &err) == -EINVAL);
	CHECK(strstr(err.sentence, "did you mean 'users'"));
	dynamic_event_deinit(&d);
	CHECK(!event_of("kprobe:xmit\tskb->dev->index", &d, &err) &&
	      !resolve_by(&d, files[0], &err));
	dynamic_event_deinit(&d);
	CHECK(!event_of("kprobe:mod_close\tst->users", &d, &err) &&
	      resolve_by(&d, files[0], &err) == -EINVAL);
	dynamic_event_deinit(&d);
	md_buf_deinit(&b);
	for (int i = 0; i < 3; i++)
		unlink(files[i]);
	rmdir(dir);
}

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void search(const struct btf *b)
{
	const char *names[64];
	uint32_t type, proto = btf_function(b, "xmit", 4);
	struct btf_member m;

	btf_structure(b, "skb", 3);
	for (uint32_t i = 0; i < btf_param_count(b, proto) && i < 8; i++) {
		struct btf_type t;

		CHECK(btf_param(b, proto, i, &type));
		t = btf_classify(b, type);
		if (t.class == BTF_POINTER)
			t = btf_classify(b, t.id);
		btf_find_member(b, t.id, "err", 3, &m);
		btf_find_member(b, t.id, "none", 4, &m);
		btf_member_names(b, t.id, names, 64);
	}
	for (uint32_t i = 0; i < 20; i++)
		btf_classify(b, i);
}

/* The types of a copy with random bytes; NULL: refused. */
static struct btf *damage(const uint8_t *data, size_t all, const struct btf *base)
{
	size_t len = random_below(8) ? all : random_below((uint32_t)all + 1);
	uint8_t *copy = malloc(len + 1);
	struct btf *b;

	memcpy(copy, data, len);
	for (uint32_t k = random_below(4); k && len; k--)
		copy[random_below((uint32_t)len)] = (uint8_t)random_below(256);
	return btf_parse(copy, len, base, &b) ? NULL : b;
}

static void damaged_types(void)
{
	unsigned int good = 0, good_modules = 0;

	for (int i = 0; i < 100000; i++) {
		struct btf *b = damage(blob, blob_len, NULL), *m;

		if (!b)
			continue;
		good++;
		search(b);
		m = damage(module, module_len, b);
		if (m) {
			good_modules++;
			search(m);
		}
		btf_free(m);
		btf_free(b);
	}
	CHECK(good > 10000 && good_modules > 10000);
}

/* The kernel's own: its structures lead to each other. */
static void own_kernel(void)
{
	struct btf_member m;
	struct btf *b;

	if (btf_load(BTF_FILE, NULL, &b))
		SKIP("no " BTF_FILE);
	CHECK(btf_function(b, "vfs_read", 8));
	CHECK(btf_find_member(b, btf_structure(b, "task_struct", 11), "comm", 4, &m) &&
	      btf_classify(b, m.type).class == BTF_TEXT);
	CHECK(btf_find_member(b, btf_structure(b, "sk_buff", 7), "mac_len", 7, &m) &&
	      btf_classify(b, m.type).size == 2);
	CHECK(!btf_find_member(b, btf_structure(b, "sk_buff", 7), "none", 4, &m));
	btf_free(b);
}

int main(void)
{
	blob_len = make_types(blob);
	module_len = make_module(module);
	CASE(modules);
	CASE(damaged_types);
	CASE(own_kernel);
	return test_summary();
}
