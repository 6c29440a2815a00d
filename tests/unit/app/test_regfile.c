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

static void good_files_are_read(void)
{
	struct registration *r = NULL;
	const char *reason;
	int fd;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!flock(fd, LOCK_EX | LOCK_NB));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	if (!r)
		return;
	CHECK(r->uid == geteuid() && r->pid == 1234 && r->word_bits == 64 && r->event_count == 3);
	CHECK_STR(r->object, "/usr/bin/app");
	CHECK_STR(r->events[0].name, "my_app:request");
	CHECK_STR(r->events[1].name, "my_app:ns::empty");
	CHECK(r->events[0].level == 4 && r->events[0].field_count == 5 &&
	      r->events[2].first_field == 5);
	CHECK(r->events[0].digest != r->events[2].digest && r->events[0].digest);
	CHECK(!registration_gone(r));
	close(fd);
	CHECK(registration_gone(r));
	CHECK(registration_gone(r));
	registration_close(r);
	registration_close(NULL);
	end();
}

static void switching(void)
{
	struct registration *r = NULL;
	const char *reason;
	uint8_t words[3][4];
	int fd;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	if (!r)
		return;
	CHECK(!registration_switch(r, 0, TRAIL_LANE_ROOT, 7));
	CHECK(!registration_switch(r, 2, TRAIL_LANE_USER, 9));
	CHECK(registration_switch(r, 3, TRAIL_LANE_ROOT, 1) == -EINVAL &&
	      registration_switch(r, 0, 4, 1) == -EINVAL);
	CHECK(pread(fd, words, sizeof(words), r->state_offset) == sizeof(words));
	CHECK(!memcmp(words, "\7\0\0\0" "\0\0\0\0" "\0\11\0\0", sizeof(words)));
	/* It may be cut under us: no signal, no harm. */
	CHECK(!ftruncate(fd, 0) && !registration_switch(r, 2, 0, 1));
	CHECK(!unlinkat(dir, "f", 0) && registration_gone(r));
	registration_close(r);
	close(fd);
	end();
}

static void bad_headers(void)
{
	struct trail_reg *h;

	begin();
	regs_rare(&regs);
#define TRY(change, reason) \
	do { \
		h = regs_file(&regs, &file); \
		change; \
		CHECK_STR(verdict(), reason); \
	} while (0)
	TRY((void)h, "");
	TRY(h->magic++, "wrong magic number");
	TRY(h->version++, "another version of the interface");
	TRY(h->word_bits = 16, "wrong word size");
	TRY(h->size++, "the header tells another size");
	TRY(h->size = 0, "the header tells another size");
	TRY(h->event_count = TRAIL_EVENT_MAX + 1, "too many tracepoints or fields");
	TRY(h->field_count = UINT32_MAX, "too many tracepoints or fields");
	TRY(h->event_count = 1000, "a table lies outside the file");
	TRY(h->state_offset = UINT32_MAX - 7, "a table lies outside the file");
	TRY(h->event_offset += 4, "a table lies outside the file");
	TRY(h->event_offset = 0, "a table lies outside the file");
	TRY(h->field_offset = h->size, "a table lies outside the file");
	TRY(h->enum_count = TRAIL_ENUM_MAX + 1, "too many enumerations or labels");
	TRY(h->label_count = TRAIL_LABEL_MAX + 1, "too many enumerations or labels");
	TRY(h->label_count = UINT32_MAX, "too many enumerations or labels");
	TRY(h->enum_count = 1000, "a table lies outside the file");
	TRY(h->enum_offset = UINT32_MAX - 7, "a table lies outside the file");
	TRY(h->enum_offset += 4, "a table lies outside the file");
	TRY(h->label_offset = 0, "a table lies outside the file");
	TRY(h->label_offset = h->size, "a table lies outside the file");
	TRY(h->label_count = 1000, "a table lies outside the file");
	TRY(h->label_count--, "the labels of an enumeration are outside the table");
	TRY((h->label_count = 0, h->label_offset = 1),
	    "the labels of an enumeration are outside the table");
	TRY((h->enum_count = 0, h->enum_offset = 1), "no such enumeration");
	TRY(h->enum_count = 1, "no such enumeration");
	TRY(h->string_offset = 0xfffffff8, "a table lies outside the file");
	TRY(h->string_size++, "a table lies outside the file");
	TRY(h->string_size = UINT32_MAX, "a table lies outside the file");
	TRY(h->string_size = 0, "the strings are not terminated");
	TRY(h->string_size--, "the strings are not terminated");
	TRY(h->object = h->string_size, "the path lies outside the strings");
	TRY(file.len = sizeof(*h) - 1, "the file is too short");
	TRY(file.len = 0, "the file is too short");
	TRY(file.len--, "the header tells another size");
	end();
}

#define EVENT(change, reason) \
	do { \
		struct regs kept = regs; \
		change; \
		regs_file(&regs, &file); \
		CHECK_STR(verdict(), reason); \
		regs.strings.len = kept.strings.len; \
		kept.strings = regs.strings; \
		regs = kept; \
	} while (0)

#define BAD_NAME \
	"its name has a blank, a quote, a backslash, a control character or no UTF-8, or its " \
	"provider has a colon"

static void bad_events(void)
{
	struct trail_reg_event *e = regs.events;

	begin();
	regs_rare(&regs);
	EVENT(e[0].level = 15, "no such log level");
	EVENT(e[0].field_count = 65, "a tracepoint has too many fields");
	EVENT(e[0].first_field = UINT32_MAX, "the fields of a tracepoint are outside the table");
	EVENT(e[3].first_field++, "the fields of a tracepoint are outside the table");
	EVENT(e[0].name = UINT32_MAX, "its name is empty or too long");
	EVENT(e[0].provider = regs_string(&regs, ""), "its name is empty or too long");
	EVENT(e[0].provider = regs_string(&regs, "a:b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\nb"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\"b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\\b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\x1b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\xc2\x9b"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "a\xff"), BAD_NAME);
	EVENT(e[0].name = regs_string(&regs, "\xc3\xbc:<int>"), "");
	EVENT(e[3].uri = UINT32_MAX - 1, "bad URI of a tracepoint's model");
	EVENT(e[3].uri = (uint32_t)regs.strings.len, "bad URI of a tracepoint's model");
	EVENT(e[3].uri = regs_string(&regs, ""), "");
	end();
}

/* A wrong event leaves the others as they are. */
static void one_bad_event(void)
{
	struct registration *r = NULL;
	const char *reason;
	int fd;

	begin();
	regs.events[1].provider = regs_string(&regs, "\"x\"");
	regs.events[1].first_field = UINT32_MAX;
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!registration_open(NULL, dir, "f", &r, &reason));
	close(fd);
	if (!r)
		return;
	CHECK(r->event_count == 3 && r->refused_count == 1);
	CHECK_STR(r->events[0].name, "my_app:request");
	CHECK_STR(r->events[1].name, "\"x\":ns::empty");
	CHECK(!r->events[0].refused && r->events[1].refused && !r->events[2].refused);
	CHECK(r->events[0].digest && r->events[2].digest && !r->events[1].field_count);
	registration_close(r);
	end();
}

static void bad_fields(void)
{
	struct trail_reg_field *f = regs.fields;

	begin();
	regs_rare(&regs);
	EVENT(f[0].name = UINT32_MAX, "bad name of a field");
	EVENT(f[0].name = regs_string(&regs, ""), "bad name of a field");
	EVENT(f[0].size = 3, "bad size of a field");
	EVENT(f[2].size = 2, "bad size of a field");
	EVENT(f[0].kind = 9, "unknown kind of a field");
	EVENT((f[0].kind = TRAIL_KIND_BITS, f[0].size = 65), "bad size or flags of a bit field");
	EVENT((regs.events[0].field_count = 1, f[0].kind = TRAIL_KIND_BITS, f[0].size = 7),
	      "a tracepoint ends within a byte");
	EVENT((f[0].kind = TRAIL_KIND_BITS, f[0].size = 0), "bad size or flags of a bit field");
	EVENT((f[0].kind = TRAIL_KIND_BITS, f[0].flags = TRAIL_FIELD_HEX),
	      "bad size or flags of a bit field");
	EVENT(f[0].kind = 0, "unknown kind of a field");
	EVENT(f[0].flags = 64, "bad size of floating point elements");
	EVENT(f[0].flags = TRAIL_FIELD_BLOB, "a blob is not of bytes");
	EVENT(f[5].count = UINT32_MAX, "an array is too long");
	EVENT(f[6].size = 2, "bad size of a field's elements");
	EVENT(f[7].size = 0, "bad size of a field's elements");
	EVENT(f[7].length = 0, "bad size of a sequence's length");
	EVENT(f[7].length = 3, "bad size of a sequence's length");
	EVENT(f[7].length = 16, "bad size of a sequence's length");
	EVENT(f[5].length = 3, "");
	EVENT(f[9].count = 2, "no such enumeration");
	EVENT(f[9].count = UINT32_MAX, "no such enumeration");
	EVENT(f[1].flags = TRAIL_FIELD_ENUM, "no such enumeration");
	EVENT(f[2].flags = TRAIL_FIELD_ENUM, "no such enumeration");
	EVENT(f[7].flags |= TRAIL_FIELD_ENUM, "no such enumeration");
	EVENT(f[13].flags |= TRAIL_FIELD_NOWRITE, "");
	EVENT(f[12].flags |= TRAIL_FIELD_NOWRITE, "a field follows one that is for filters only");
	EVENT(f[0].flags |= TRAIL_FIELD_NOWRITE, "a field follows one that is for filters only");
	end();
}

static void bad_enumerations(void)
{
	begin();
	regs_rare(&regs);
	EVENT(regs.enums[0].name = UINT32_MAX, "bad name of an enumeration");
	EVENT(regs.enums[0].first_label = UINT32_MAX,
	      "the labels of an enumeration are outside the table");
	EVENT(regs.enums[0].label_count = UINT32_MAX,
	      "the labels of an enumeration are outside the table");
	EVENT(regs.enums[1].first_label = 1, "");
	EVENT((regs.enums[1].first_label = 0, regs.enums[1].label_count = 2),
	      "enumerations share labels");
	EVENT(regs.labels[3].name = UINT32_MAX, "bad name of a label");
	EVENT((regs.labels[3].begin = 1, regs.labels[3].end = 0), "");
	end();
}

/* A small file in which 60,000 events share one long name and 64 fields. */
static void small_files_stand_for_little_memory(void)
{
	char name[256];
	struct trail_reg *h;
	uint32_t i, n = 60000;

	begin();
	memset(name, 'n', 255);
	name[255] = '\0';
	regs_event(&regs, name, name, 0);
	regs_file(&regs, &file);
	h = (struct trail_reg *)(void *)file.data;
	i = h->event_offset + 3 * (uint32_t)sizeof(struct trail_reg_event);
	{
		struct trail_reg_event e;
		struct trail_reg head = *h;

		memcpy(&e, file.data + i, sizeof(e));
		regs_pad(&file);
		head.event_offset = (uint32_t)file.len;
		head.event_count = n;
		for (i = 0; i < n; i++)
			md_buf_put(&file, &e, sizeof(e));
		head.state_offset = head.event_offset;
		head.size = (uint32_t)file.len;
		memcpy(file.data, &head, sizeof(head));
	}
	CHECK_STR(verdict(), "the names of the tracepoints are out of proportion to the file");
	end();
}

/* Many events whose fields all have one long enumeration. */
static void labels_stand_for_little_memory(void)
{
	uint32_t i, j, values;

	begin();
	values = regs_enum(&regs, "long");
	for (i = 0; i < 200; i++)
		regs_label(&regs, "label", i, i);
	for (i = 0; i < 60; i++) {
		regs_event(&regs, "p", "n", 0);
		if (i == 0)
			for (j = 0; j < 64; j++)
				regs_field(&regs, "f", TRAIL_KIND_INT, 4, TRAIL_FIELD_ENUM, values);
		regs.events[regs.event_count - 1].first_field = regs.events[3].first_field;
		regs.events[regs.event_count - 1].field_count = 64;
	}
	regs_file(&regs, &file);
	CHECK_STR(verdict(), "the labels of the tracepoints are out of proportion to the file");
	regs.event_count = 10;
	regs_file(&regs, &file);
	CHECK_STR(verdict(), "");
	/* What is not written is not in the model. */
	regs.event_count = 60;
	for (j = 0; j < 64; j++)
		regs.fields[regs.events[3].first_field + j].flags |= TRAIL_FIELD_NOWRITE;
	regs_file(&regs, &file);
	CHECK_STR(verdict(), "");
	end();
}

static int try_open(const char *name)
{
	struct registration *r = NULL;
	const char *reason = NULL;
	int ret = registration_open(NULL, dir, name, &r, &reason);

	if (!ret)
		registration_close(r);
	return ret;
}

static void traps(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, s;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "good", file.data, file.len);
	CHECK(try_open("none") == -ENOENT);
	CHECK(!symlinkat("good", dir, "link") && try_open("link") == -EBADMSG);
	CHECK(!mkfifoat(dir, "fifo", 0600) && try_open("fifo") == -EBADMSG);
	CHECK(!mkdirat(dir, "dir", 0700) && try_open("dir") == -EBADMSG);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.90s/sock", path);
	CHECK(!bind(s, (struct sockaddr *)&addr, sizeof(addr)) && try_open("sock") == -EBADMSG);
	close(s);
	CHECK(!try_open("good"));
	CHECK(!linkat(dir, "good", dir, "hard", 0) && try_open("hard") == -EBADMSG &&
	      try_open("good") == -EBADMSG);
	CHECK(!unlinkat(dir, "hard", 0) && !try_open("good"));
	/* Longer than any may be: refused before memory is asked for. */
	CHECK(!ftruncate(fd, (off_t)1 << 40) && try_open("good") == -EBADMSG);
	close(fd);
	end();
}

static void leases_do_not_hold_us_up(void)
{
	int fd;

	begin();
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	fd = openat(dir, "f", O_RDONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		SKIP("no leases here");
	CHECK(try_open("f") == -EAGAIN);
	close(fd);
	CHECK(!try_open("f"));
	end();
}

static void other_owners(void)
{
	struct registration *r = NULL;
	const char *reason;
	int fd;

	if (geteuid())
		SKIP("needs root");
	begin();
	CHECK(!chmod(path, 01777));
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!fchown(fd, 4321, 4321));
	CHECK(!registration_open(NULL, dir, "f", &r, &reason) && r->uid == 4321);
	CHECK(r && !registration_switch(r, 0, 0, 1));
	registration_close(r);
	/* What the owner may not write himself, root does not write for him. */
	CHECK(!fchmod(fd, 0400) && try_open("f") == -EACCES);
	CHECK(!fchmod(fd, 0600) && !try_open("f"));
	/* Our own rights are back. */
	CHECK(!regs_save(dir, "root", "x", 0) || openat(dir, "root", O_RDONLY) >= 0);
	close(fd);
	end();
}

/* As a user could with fusermount: then the file below is another file system's. */
static void mounts_are_not_crossed(void)
{
	char target[320], source[320];
	int fd;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	close(regs_save(dir, "g", file.data, file.len));
	close(fd);
	snprintf(target, sizeof(target), "%s/f", path);
	snprintf(source, sizeof(source), "%s/g", path);
	if (geteuid() || mount(source, target, NULL, MS_BIND, NULL)) {
		end();
		SKIP("may not mount here");
	}
	CHECK(try_open("f") == -EXDEV);
	CHECK(!umount(target) && !try_open("f"));
	end();
}

int main(void)
{
	CASE(good_files_are_read);
	CASE(switching);
	CASE(bad_headers);
	CASE(bad_events);
	CASE(one_bad_event);
	CASE(bad_fields);
	CASE(bad_enumerations);
	CASE(small_files_stand_for_little_memory);
	CASE(labels_stand_for_little_memory);
	CASE(traps);
	CASE(leases_do_not_hold_us_up);
	CASE(other_owners);
	CASE(mounts_are_not_crossed);
	return test_summary();
}
