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
#include "tests/unit/regs.h"
#include "tests/unit/test.h"
#include "tracer/regfile.h"
#include "tracer/store.h"

static char path[300];
static int dir;
static struct regs regs;
static struct md_buf file;

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/regfile.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(path) != NULL);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	regs_sample(&regs);
}

static void end(void)
{
	close(dir);
	store_remove(AT_FDCWD, path);
	md_buf_deinit(&regs.strings);
	md_buf_deinit(&file);
}

/* Writes the file built last and opens it: the reason, or "" for success. */
static const char *verdict(void)
{
	struct regfile *r = NULL;
	const char *reason = NULL;
	int fd = regs_save(dir, "f", file.data, file.len), ret;

	ret = regfile_open(dir, "f", &r, &reason);
	close(fd);
	if (!ret)
		regfile_close(r);
	else
		CHECK(!r);
	CHECK(!ret || (ret == -EBADMSG && reason));
	return ret ? reason ? reason : "no reason" : "";
}

static void good_files_are_read(void)
{
	struct regfile *r = NULL;
	const char *reason;
	int fd;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!flock(fd, LOCK_EX | LOCK_NB));
	CHECK(!regfile_open(dir, "f", &r, &reason));
	if (!r)
		return;
	CHECK(r->uid == geteuid() && r->pid == 1234 && r->word_bits == 64 && r->event_count == 3);
	CHECK_STR(r->object, "/usr/bin/app");
	CHECK_STR(r->events[0].name, "my_app:request");
	CHECK_STR(r->events[1].name, "my_app:ns::empty");
	CHECK(r->events[0].level == 4 && r->events[0].field_count == 5 && r->events[2].first_field == 5);
	CHECK(r->events[0].digest != r->events[2].digest && r->events[0].digest);
	CHECK(!regfile_gone(r));
	close(fd);
	CHECK(regfile_gone(r));
	CHECK(regfile_gone(r));
	regfile_close(r);
	regfile_close(NULL);
	end();
}

static void events_in_the_model(void)
{
	struct regfile *r = NULL;
	const char *reason;
	struct md_buf text = MD_BUF_INIT;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	uint32_t i;

	begin();
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!regfile_open(dir, "f", &r, &reason));
	for (i = 0; r && i < r->event_count; i++) {
		struct md_event *e = regfile_event(r, i);

		e->id = i;
		CHECK(md_event_digest(e) == r->events[i].digest);
		if (i == 2)
			CHECK(e->fields[1].type.element->encoding == MD_ENCODING_UTF8 &&
			      e->fields[1].type.element->is_signed && e->fields[2].type.length_size == 4 &&
			      e->fields[0].type.element->base == 16);
		md_ctf_print_event(e, 0, &text);
		CHECK(!md_stream_add(s, e));
	}
	CHECK(strstr(md_buf_str(&text),
		     "integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _id;"));
	CHECK(strstr(md_buf_str(&text),
		     "integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; } _at;"));
	CHECK(strstr(md_buf_str(&text), "byte_order = be; } _port;"));
	CHECK(strstr(md_buf_str(&text), "encoding = UTF8; base = 10; } _name[16];"));
	CHECK(strstr(md_buf_str(&text), "encoding = UTF8; base = 10; } _msg[ __msg_length ];"));
	CHECK(strstr(md_buf_str(&text), "signed = 0; encoding = none; base = 16; } _mac[6];"));
	md_stream_destroy(s);
	md_buf_deinit(&text);
	regfile_close(r);
	end();
}

static void field_names_are_made_unique(void)
{
	static const char *const names[] = {
		"a", "a", "a b", "a-b", "a_2", "", "1x", "Bool", "Bool_", "s", "_s_length", "_t_length", "t",
	};
	struct regfile *r = NULL;
	const char *reason;
	struct md_stream *s = md_stream_create(0, MD_HEADER_COMPACT);
	struct md_event *e;
	size_t i;

	begin();
	regs_event(&regs, "p", "n", 1);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*names[i])
			regs_field(&regs, names[i], strlen(names[i]) == 1 ? TRAIL_KIND_SEQUENCE : TRAIL_KIND_INT, 4, 0,
				   0);
	regs_file(&regs, &file);
	close(regs_save(dir, "f", file.data, file.len));
	CHECK(!regfile_open(dir, "f", &r, &reason));
	e = r ? regfile_event(r, 3) : NULL;
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
	CHECK(!md_stream_add(s, e));
	md_stream_destroy(s);
	regfile_close(r);
	end();
}

static void switching(void)
{
	struct regfile *r = NULL;
	const char *reason;
	uint32_t words[3];
	int fd;

	begin();
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!regfile_open(dir, "f", &r, &reason));
	if (!r)
		return;
	CHECK(!regfile_switch(r, 0, TRAIL_LANE_ROOT, 7));
	CHECK(!regfile_switch(r, 2, TRAIL_LANE_USER, 9));
	CHECK(regfile_switch(r, 3, TRAIL_LANE_ROOT, 1) == -EINVAL && regfile_switch(r, 0, 4, 1) == -EINVAL);
	CHECK(pread(fd, words, sizeof(words), r->state_offset) == sizeof(words));
	CHECK(words[0] == 7 && words[1] == 0 && words[2] == 9 << 8);
	/* It may be cut under us: no signal, no harm. */
	CHECK(!ftruncate(fd, 0) && !regfile_switch(r, 2, 0, 1));
	CHECK(!unlinkat(dir, "f", 0) && regfile_gone(r));
	regfile_close(r);
	close(fd);
	end();
}

static void bad_headers(void)
{
	struct trail_reg *h;

	begin();
#define TRY(change, reason) do { h = regs_file(&regs, &file); change; CHECK_STR(verdict(), reason); } while (0)
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

static void bad_tables(void)
{
	struct trail_reg *h;
	struct trail_reg_event *e = regs.events;
	struct trail_reg_field *f = regs.fields;

	begin();
#define EVENT(change, reason)                                                                                          \
	do {                                                                                                           \
		struct regs kept = regs;                                                                               \
		change;                                                                                                \
		h = regs_file(&regs, &file);                                                                           \
		(void)h;                                                                                               \
		CHECK_STR(verdict(), reason);                                                                          \
		regs.strings.len = kept.strings.len;                                                                   \
		kept.strings = regs.strings;                                                                           \
		regs = kept;                                                                                           \
	} while (0)
	EVENT(e[0].level = 15, "no such log level");
	EVENT(e[0].field_count = 65, "a tracepoint has too many fields");
	EVENT(e[0].first_field = UINT32_MAX, "the fields of a tracepoint are outside the table");
	EVENT(e[2].first_field++, "the fields of a tracepoint are outside the table");
	EVENT(e[0].name = UINT32_MAX, "bad name of a tracepoint");
	EVENT(e[0].provider = regs_string(&regs, ""), "bad name of a tracepoint");
	EVENT(e[0].provider = regs_string(&regs, "a:b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\nb"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\"b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\\b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\x1b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\xc2\x9b"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "a\xff"), "bad name of a tracepoint");
	EVENT(e[0].name = regs_string(&regs, "\xc3\xbc:<int>"), "");
	EVENT(f[0].name = UINT32_MAX, "bad name of a field");
	EVENT(f[0].name = regs_string(&regs, ""), "bad name of a field");
	EVENT(f[0].size = 3, "bad size of a field");
	EVENT(f[2].size = 2, "bad size of a field");
	EVENT(f[0].kind = 6, "unknown kind of a field");
	EVENT(f[0].kind = 0, "unknown kind of a field");
	EVENT(f[0].flags = 16, "unknown flags of a field");
	EVENT(f[5].count = UINT32_MAX, "an array is too long");
	EVENT(f[6].size = 2, "bad size of a field's elements");
	EVENT(f[7].size = 0, "bad size of a field's elements");
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

static int try_open(const char *name)
{
	struct regfile *r = NULL;
	const char *reason = NULL;
	int ret = regfile_open(dir, name, &r, &reason);

	if (!ret)
		regfile_close(r);
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
	CHECK(!linkat(dir, "good", dir, "hard", 0) && try_open("hard") == -EBADMSG && try_open("good") == -EBADMSG);
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
	struct regfile *r = NULL;
	const char *reason;
	int fd;

	if (geteuid())
		SKIP("needs root");
	begin();
	CHECK(!chmod(path, 01777));
	regs_file(&regs, &file);
	fd = regs_save(dir, "f", file.data, file.len);
	CHECK(!fchown(fd, 4321, 4321));
	CHECK(!regfile_open(dir, "f", &r, &reason) && r->uid == 4321);
	CHECK(r && !regfile_switch(r, 0, 0, 1));
	regfile_close(r);
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
	CASE(events_in_the_model);
	CASE(field_names_are_made_unique);
	CASE(switching);
	CASE(bad_headers);
	CASE(bad_tables);
	CASE(small_files_stand_for_little_memory);
	CASE(traps);
	CASE(leases_do_not_hold_us_up);
	CASE(other_owners);
	CASE(mounts_are_not_crossed);
	return test_summary();
}
