/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events and the stacks that the kernel records after them, made by hand */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tracer/kernel/kevent/record_stack.h"
#include "tracer/kernel/kevent/ring_page.h"

enum { KERNEL_ID = 4, USER_ID = 13, EVENT_ID = 300 };
enum { THREAD = 0, SOFTIRQ = 0x10, HARDIRQ = 0x08, NMI = 0x40 };

static char got[4096];

/* `TIME:KERNEL/USER `, the stacks as hexadecimal numbers */
static void print_event(void *arg, uint64_t time, const uint8_t *record, size_t len,
			const struct record_stack stacks[RECORD_STACKS])
{
	size_t n = strlen(got);
	uint64_t address;

	(void)arg;
	CHECK(len >= 8 && krecord_id(record) == EVENT_ID);
	if (n > sizeof(got) / 2)
		return;
	n += (size_t)snprintf(got + n, sizeof(got) - n, "%d:", (int)time);
	for (int i = 0; i < RECORD_STACKS; i++) {
		for (uint32_t j = 0; j < stacks[i].count && j < 3; j++) {
			memcpy(&address, stacks[i].addresses + 8 * (size_t)j, sizeof(address));
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%x", j ? "," : "",
					      (unsigned int)address);
		}
		n += (size_t)snprintf(got + n, sizeof(got) - n, i ? " " : "/");
	}
}

static struct record_stacks begin(bool kernel, bool user)
{
	got[0] = '\0';
	return (struct record_stacks){
		.layouts = { { KERNEL_ID, 16, 8, 8 }, { USER_ID, 16, 0, 8 } },
		.wanted = { kernel, user },
		.pass = print_event,
	};
}

static void end(struct record_stacks *s, const char *wanted)
{
	record_stacks_flush(s);
	CHECK_STR(got, wanted);
	CHECK(!record_stacks_wait(s));
	record_stacks_deinit(s);
}

static size_t header(uint8_t *to, uint16_t id, uint8_t flags, int32_t pid)
{
	memset(to, 0, 8);
	memcpy(to, &id, sizeof(id));
	to[2] = flags;
	memcpy(to + 4, &pid, sizeof(pid));
	return 8;
}

static void event(struct record_stacks *s, uint64_t time, uint8_t flags, int32_t pid)
{
	uint8_t bytes[16] = { 0 };

	header(bytes, EVENT_ID, flags, pid);
	record_stacks_add(s, time, bytes, sizeof(bytes));
}

/* A stack of `count` addresses, from `first` on */
static void stack(struct record_stacks *s, uint16_t id, uint8_t flags, int32_t pid, uint64_t first,
		  uint32_t count)
{
	size_t len = 16 + 8 * (size_t)(id == USER_ID ? 8 : count);
	uint8_t *bytes = calloc(1, len);
	uint64_t address;

	CHECK(bytes);
	header(bytes, id, flags, pid);
	memcpy(bytes + 8, &count, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		address = first + i;
		memcpy(bytes + 16 + 8 * (size_t)i, &address, sizeof(address));
	}
	record_stacks_add(s, 0, bytes, len);
	free(bytes);
}

static void in_turn(void)
{
	struct record_stacks s = begin(true, true);

	event(&s, 1, THREAD, 7);
	CHECK_STR(got, "");
	stack(&s, KERNEL_ID, THREAD, 7, 0x10, 2);
	CHECK_STR(got, "");
	stack(&s, USER_ID, THREAD, 7, 0x20, 1);
	CHECK_STR(got, "1:10,11/20 ");
	/* Threads of the kernel have no user's stack: the next event shows it. */
	event(&s, 2, THREAD, 8);
	stack(&s, KERNEL_ID, THREAD, 8, 0x30, 1);
	event(&s, 3, THREAD, 8);
	CHECK_STR(got, "1:10,11/20 2:30/ ");
	/* Another thread's */
	stack(&s, KERNEL_ID, THREAD, 9, 0x40, 1);
	end(&s, "1:10,11/20 2:30/ 3:/ ");
	/* Not wanted: left out, and no event waits. */
	s = begin(false, false);
	event(&s, 1, THREAD, 7);
	stack(&s, KERNEL_ID, THREAD, 7, 0x10, 2);
	CHECK_STR(got, "1:/ ");
	end(&s, "1:/ ");
}

/* Interrupts record between an event and its stack. */
static void nested(void)
{
	struct record_stacks s = begin(true, false);

	event(&s, 1, THREAD, 7);
	event(&s, 2, SOFTIRQ, 7);
	event(&s, 3, HARDIRQ, 7);
	event(&s, 4, NMI, 7);
	stack(&s, KERNEL_ID, NMI, 7, 0x40, 1);
	stack(&s, KERNEL_ID, HARDIRQ, 7, 0x30, 1);
	CHECK_STR(got, "");
	stack(&s, KERNEL_ID, SOFTIRQ, 7, 0x20, 1);
	stack(&s, KERNEL_ID, THREAD, 7, 0x10, 1);
	CHECK_STR(got, "1:10/ 2:20/ 3:30/ 4:40/ ");
	/* One without stack between: the level says that it is over. */
	event(&s, 5, THREAD, 7);
	event(&s, 6, HARDIRQ, 7);
	event(&s, 7, HARDIRQ, 7);
	stack(&s, KERNEL_ID, HARDIRQ, 7, 0x70, 1);
	stack(&s, KERNEL_ID, HARDIRQ, 7, 0x71, 1);
	stack(&s, KERNEL_ID, THREAD, 7, 0x50, 1);
	end(&s, "1:10/ 2:20/ 3:30/ 4:40/ 5:50/ 6:/ 7:70/ ");
}

static void long_and_torn(void)
{
	struct record_stacks s = begin(true, true);
	uint8_t bytes[20];

	event(&s, 1, THREAD, 7);
	stack(&s, KERNEL_ID, THREAD, 7, 0x10, 2000);
	CHECK(s.count == 1 && s.used >= 8 + 8 * (RECORD_STACK_MAX + 1) &&
	      s.used < 32 + 8 * (RECORD_STACK_MAX + 1));
	CHECK(!memcmp(s.bytes + s.used - 8, "\377\377\377\377\377\377\377\377", 8));
	/* Shorter than its head, and a count of more than it has */
	header(bytes, USER_ID, THREAD, 7);
	record_stacks_add(&s, 0, bytes, 8);
	CHECK_STR(got, "1:10,11,12/ ");
	event(&s, 2, THREAD, 7);
	header(bytes, KERNEL_ID, THREAD, 7);
	memset(bytes + 8, 0xff, 12);
	record_stacks_add(&s, 0, bytes, sizeof(bytes));
	/* Marks of trampolines */
	stack(&s, USER_ID, THREAD, 7, UINT64_MAX, 1);
	end(&s, "1:10,11,12/ 2:/ ");
	/* More events than may wait */
	s = begin(true, false);
	for (int i = 0; i < 10000; i++) {
		event(&s, 1, THREAD, 7);
		got[0] = '\0';
	}
	for (int i = 0; i < 10000; i++) {
		event(&s, 2, i ? HARDIRQ : THREAD, 7);
		stack(&s, KERNEL_ID, HARDIRQ, 7, 0x10, 1);
		got[0] = '\0';
	}
	CHECK(s.count < 5000 && s.used <= 4u << 20);
	record_stacks_flush(&s);
	record_stacks_deinit(&s);
}

static struct record_stack_layout layout_of(const char *caller)
{
	char text[1024];
	struct record_stack_layout l;
	struct kformat *f;

	snprintf(text, sizeof(text),
		 "name: kernel_stack\nID: 4\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		 "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:unsigned long %s;\tsigned:0;\n\n"
		 "print fmt: \"%%ps\", (void *)REC->caller[0]\n", caller);
	CHECK(!kformat_parse("ftrace", text, strlen(text), &f));
	l = record_stack_layout(f);
	kformat_free(f);
	return l;
}

static void layout(void)
{
	struct record_stack_layout l = layout_of("caller[8];\toffset:16;\tsize:64");

	CHECK(l.id == 4 && l.at == 16 && l.count_at == 8 && l.word == 8);
	/* Without a number of elements, they are as long as this machine's. */
	l = layout_of("caller[];\toffset:16;\tsize:0");
	CHECK(l.id == 4 && l.at == 16 && l.count_at == 8 && l.word == sizeof(long));
	l = layout_of("caller[8];\toffset:12;\tsize:32");
	CHECK(l.id == 4 && l.at == 12 && l.count_at == 8 && l.word == 4);
}

/* A kernel of 32 bits, and a mark of a trampoline. */
static void narrow(void)
{
	static const uint32_t addresses[] = { 0x10, UINT32_MAX, 0x11, 0x12, 0x13 };
	struct record_stacks s = begin(true, false);
	uint8_t bytes[12 + sizeof(addresses)];
	uint32_t count = 3;

	s.layouts[RECORD_STACK_KERNEL] = layout_of("caller[8];\toffset:12;\tsize:32");
	event(&s, 1, THREAD, 7);
	header(bytes, KERNEL_ID, THREAD, 7);
	memcpy(bytes + 8, &count, sizeof(count));
	memcpy(bytes + 12, addresses, sizeof(addresses));
	record_stacks_add(&s, 0, bytes, sizeof(bytes));
	end(&s, "1:10,11/ ");
}

/* Of two fields with one name, as an event of Linux 5.10 has them, the first counts. */
static void same_names(void)
{
	static const char text[] =
		"name: x\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:int caller;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] caller;\toffset:12;\tsize:4;\tsigned:1;\n";
	struct kformat *f;

	CHECK(!kformat_parse("s", text, strlen(text), &f));
	CHECK(f->field_count == 1 && f->fields[0].offset == 8);
	kformat_free(f);
}

/* Linux 7.3 says that it reads the flags of kexec_file_load as text, and the list of flistxattr. */
static void wrong_text(void)
{
	static const char text[] =
		"name: sys_enter_x\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:const char * name;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long flags;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:__data_loc char[] __name_val;\toffset:32;\tsize:4;\tsigned:0;\n"
		"\tfield:__data_loc char[] __flags_val;\toffset:36;\tsize:4;\tsigned:0;\n"
		"\tfield:char * list;\toffset:40;\tsize:8;\tsigned:0;\n"
		"\tfield:__data_loc char[] __list_val;\toffset:48;\tsize:4;\tsigned:0;\n";
	struct kformat *f;

	CHECK(!kformat_parse("syscalls", text, strlen(text), &f));
	CHECK(f->field_count == 3 && f->fields[0].kind == KFORMAT_STRING &&
	      f->fields[1].kind == KFORMAT_INT && f->fields[1].offset == 24);
	CHECK(f->fields[2].kind != KFORMAT_STRING && f->fields[2].offset == 40);
	kformat_free(f);
}

int main(void)
{
	CASE(in_turn);
	CASE(nested);
	CASE(long_and_torn);
	CASE(layout);
	CASE(narrow);
	CASE(same_names);
	CASE(wrong_text);
	return test_summary();
}
