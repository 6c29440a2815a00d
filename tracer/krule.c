// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracer/krule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracer/rule.h"

#define SYSCALL "syscall:"
#define KEY_MAX 1024

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

const char *krule_syscall_name(const char *pattern)
{
	const char *p = pattern + strlen(SYSCALL);

	return begins(p, "entry:") ? p + 6 : begins(p, "exit:") ? p + 5 : p;
}

bool krule_match(const char *pattern, const char *key)
{
	char plain[KEY_MAX];
	const char *slash = strchr(key, '/'), *colon;
	size_t n = slash ? (size_t)(slash - key) : strlen(key);

	if (begins(key, SYSCALL)) {
		if (!begins(pattern, SYSCALL))
			return false;
		if (krule_syscall_name(pattern) == pattern + strlen(SYSCALL))
			return rule_glob(pattern + strlen(SYSCALL), krule_syscall_name(key));
		return rule_glob(pattern, key);
	}
	if (n >= sizeof(plain) || begins(pattern, SYSCALL))
		return false;
	memcpy(plain, key, n);
	plain[n] = 0;
	if (strchr(pattern, ':'))
		return rule_glob(pattern, plain);
	colon = strchr(plain, ':');
	return rule_glob(pattern, colon ? colon + 1 : plain) || (slash && rule_glob(pattern, slash + 1));
}

int krule_check(struct scan *s, struct word *w)
{
	static const char *const probes[] = { "kprobe:", "kretprobe:", "uprobe:", "uretprobe:", "usdt:", "function:" };
	const char *text = word_text(w), *colon = strchr(text, ':');
	size_t at;

	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++)
		if (begins(text, probes[i]))
			return tr_fail_at(s->err, -EOPNOTSUPP, s->line, word_column(w, 0),
					  "'%s' rules are not supported by this build", probes[i]);
	if (!*text)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0), "the pattern is empty; '*' stands for any tracepoint");
	at = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*.:-");
	if (text[at])
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at), "not a character of a tracepoint's name");
	if (begins(text, SYSCALL)) {
		at = (size_t)(krule_syscall_name(text) - text);
		if (!text[at])
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
					  "the name of a system call is missing; '*' stands for any");
		if (strchr(text + at, ':'))
			return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, at),
					  "of a system call there are syscall:NAME, syscall:entry:NAME and syscall:exit:NAME");
		return 0;
	}
	if (!colon)
		return 0;
	if (colon == text)
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, 0), "the system is missing; '*' stands for any");
	if (!colon[1])
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, strlen(text)), "the name is missing; '*' stands for any");
	if (strchr(colon + 1, ':'))
		return tr_fail_at(s->err, -EINVAL, s->line, word_column(w, (size_t)(colon - text)),
				  "tracepoints of the kernel are called system:name");
	return 0;
}
