// SPDX-License-Identifier: MIT
/*
 * libtrail-log4j2-jni.so: records what the appender of Log4j 2 hands over, with the names and
 * fields of LTTng-UST's events.
 */
#include <dlfcn.h>
#include <jni.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trail/trail.h"

#define STRINGS 6                       /* message, logger, class, method, file, thread */

/* What the library below keeps for each thread as `lttng_ust_context_info_tls`. */
struct context_values {
	jbyte *entries;
	int32_t entries_size;           /* bytes */
	jbyte *names;
	int32_t names_size;             /* bytes */
};

/*
 * This thread's values of application contexts: LTTng's JNI library for contexts reads them when an
 * event asks for a context. Java loads it with the first context that the program registers. NULL:
 * it is not loaded.
 */
static struct context_values *context_values(void)
{
	static void *library;   /* atomic: threads that find it at once store the same handle */
	void *l = __atomic_load_n(&library, __ATOMIC_RELAXED);

	if (!l) {
		l = dlopen("liblttng-ust-context-jni.so.0", RTLD_LAZY | RTLD_NOLOAD);
		__atomic_store_n(&library, l, __ATOMIC_RELAXED);
	}
	return l ? dlsym(l, "lttng_ust_context_info_tls") : NULL;
}

/* False: the array does not have the strings, as only another version of the class makes it. */
static bool split_strings(const char *all, size_t size, const char *strings[STRINGS])
{
	for (int i = 0; i < STRINGS; i++) {
		const char *end = memchr(all, 0, size);

		if (!end)
			return false;
		strings[i] = all;
		size -= (size_t)(end + 1 - all);
		all = end + 1;
	}
	return true;
}

static void record_strings(bool is_log4j2, const char *const strings[STRINGS], int32_t line_number,
			   int64_t timestamp, int32_t int_loglevel)
{
	if (is_log4j2) {
		TRAIL(lttng_log4j2, event, TRAIL_FIELD(msg, strings[0]),
		      TRAIL_FIELD(logger_name, strings[1]), TRAIL_FIELD(class_name, strings[2]),
		      TRAIL_FIELD(method_name, strings[3]), TRAIL_FIELD(filename, strings[4]),
		      line_number, timestamp, int_loglevel, TRAIL_FIELD(thread_name, strings[5]));
	} else {
		TRAIL(lttng_log4j, event, TRAIL_FIELD(msg, strings[0]),
		      TRAIL_FIELD(logger_name, strings[1]), TRAIL_FIELD(class_name, strings[2]),
		      TRAIL_FIELD(method_name, strings[3]), TRAIL_FIELD(filename, strings[4]),
		      line_number, timestamp, int_loglevel, TRAIL_FIELD(thread_name, strings[5]));
	}
}

JNIEXPORT void JNICALL Java_org_lttng_ust_agent_log4j2_Tracepoint_record(
	JNIEnv *env, jclass class, jboolean is_log4j2, jbyteArray strings, jint line, jlong time,
	jint level, jbyteArray entries, jbyteArray names);
JNIEXPORT void JNICALL Java_org_lttng_ust_agent_log4j2_Tracepoint_record(
	JNIEnv *env, jclass class, jboolean is_log4j2, jbyteArray strings, jint line, jlong time,
	jint level, jbyteArray entries, jbyteArray names)
{
	struct context_values *to = entries ? context_values() : NULL, v = { 0 };
	jbyte *all = (*env)->GetByteArrayElements(env, strings, NULL);
	const char *s[STRINGS];

	(void)class;
	if (to) {
		v.entries = (*env)->GetByteArrayElements(env, entries, NULL);
		v.names = (*env)->GetByteArrayElements(env, names, NULL);
	}
	if (v.entries && v.names) {
		v.entries_size = (*env)->GetArrayLength(env, entries);
		v.names_size = (*env)->GetArrayLength(env, names);
		*to = v;
	}
	if (all && split_strings((const char *)all,
				 (size_t)(*env)->GetArrayLength(env, strings), s))
		record_strings(is_log4j2, s, line, time, level);
	if (to)
		*to = (struct context_values){ 0 };
	if (v.entries)
		(*env)->ReleaseByteArrayElements(env, entries, v.entries, JNI_ABORT);
	if (v.names)
		(*env)->ReleaseByteArrayElements(env, names, v.names, JNI_ABORT);
	if (all)
		(*env)->ReleaseByteArrayElements(env, strings, all, JNI_ABORT);
}
