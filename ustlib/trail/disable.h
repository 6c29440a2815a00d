/* SPDX-License-Identifier: MIT */
/*
 * What <trail/trail.h> has with TRAIL_DISABLE: functions that do nothing, and call sites without
 * code.
 */
#ifndef TRAIL_DISABLE_H
#define TRAIL_DISABLE_H

#include <trail/trail.h>

static __inline__ __attribute__((unused)) int trail_context_register(const char *name,
								     trail_context_fn get,
								     void *arg)
{
	(void)name;
	(void)get;
	(void)arg;
	return 0;
}

static __inline__ __attribute__((unused)) int trail_context_unregister(const char *name)
{
	(void)name;
	return 0;
}

static __inline__ __attribute__((unused)) int trail_attach(void)
{
	return 0;
}

static __inline__ __attribute__((unused)) int trail_seal(void)
{
	return 0;
}

/* Uses each argument, so that there is no warning that it is not used; nothing of it is reached. */
#define TRAIL__VANISH(level, ...) \
	static const struct trail__field trail__fields[] = { \
		TRAIL__EACH(TRAIL__DESCRIBE, __VA_ARGS__) { 0, 0, 0, 0 } \
	}; \
	(void)trail__fields; \
	(void)(level); \
	if (0) { \
		TRAIL__HIT((struct trail__tp *)0, __VA_ARGS__) \
	}

#endif
