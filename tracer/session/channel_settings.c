// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of a channel's settings (base/setting.h), and how their values depend on each other. */
#include <errno.h>

#include "tracer/base/setting.h"
#include "tracer/session/session.h"

#define MONITOR_PERIOD_MIN 1000u                /* us */
#define BUFFER_MAX (UINT64_C(1) << 40)          /* bytes per CPU */

static int check_buffer(const char *value, uint64_t size, uint64_t count, struct tr_err *err)
{
	return size * count > BUFFER_MAX
		       ? tr_fail_at(err, -EINVAL, value, 0, "the buffer would be too large") : 0;
}

static int check_subbuf_size(const void *channel, const char *value, uint64_t *v,
			     struct tr_err *err)
{
	return check_buffer(value, *v, ((const struct channel *)channel)->subbuf_count, err);
}

static int check_subbuf_count(const void *channel, const char *value, uint64_t *v,
			      struct tr_err *err)
{
	return check_buffer(value, ((const struct channel *)channel)->subbuf_size, *v, err);
}

static int check_loss_mode(const void *channel, const char *value, uint64_t *v, struct tr_err *err)
{
	return *v == LOSS_OVERWRITE && ((const struct channel *)channel)->blocking
		       ? tr_fail_at(err, -EINVAL, value, 0,
				    "blocking_timeout is set, but a writer that overwrites never "
				    "waits for room")
		       : 0;
}

static int check_blocking_timeout(const void *channel, const char *value, uint64_t *v,
				  struct tr_err *err)
{
	return *v && ((const struct channel *)channel)->loss == LOSS_OVERWRITE
		       ? tr_fail_at(err, -EINVAL, value, 0,
				    "loss_mode is overwrite, but a writer that overwrites never "
				    "waits for room")
		       : 0;
}

/* A shorter period would cost more than it gains. */
static int check_monitor_period(const void *channel, const char *value, uint64_t *v,
				struct tr_err *err)
{
	(void)channel, (void)value, (void)err;
	if (*v && *v < MONITOR_PERIOD_MIN)
		*v = MONITOR_PERIOD_MIN;
	return 0;
}

/* Memory that is there for good is not given back. */
static int check_memory(bool both, const char *value, const char *other, struct tr_err *err)
{
	return both ? tr_fail_at(err, -EINVAL, value, 0,
				 "%s: memory that is preallocated is not given back", other)
		    : 0;
}

static int check_memory_max_age(const void *channel, const char *value, uint64_t *v,
				struct tr_err *err)
{
	return check_memory(*v && ((const struct channel *)channel)->preallocate, value,
			    "buffer_preallocation is preallocate", err);
}

static int check_preallocation(const void *channel, const char *value, uint64_t *v,
			       struct tr_err *err)
{
	return check_memory(*v && ((const struct channel *)channel)->max_age, value,
			    "memory_max_age is set", err);
}

#define SETTING(name, kind, member, ...) \
	{ name, SETTING_##kind, SETTING_MEMBER(channel, member), __VA_ARGS__ },
const struct setting channel_settings[] = {
#include "tracer/session/channel_settings.def"
	{ 0 }
};
