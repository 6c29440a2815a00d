// SPDX-License-Identifier: MIT
package org.lttng.ust.agent.log4j2;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;

import org.apache.logging.log4j.core.LogEvent;
import org.lttng.ust.agent.context.ContextInfoSerializer;
import org.lttng.ust.agent.context.ContextInfoSerializer.SerializedContexts;

/** The events lttng_log4j2:event and lttng_log4j:event, which the native library records. */
final class Tracepoint {
	static final String LIBRARY = "trail-log4j2-jni";

	private Tracepoint() {
	}

	/** Loads the library if it is not. */
	static void load() {
		System.loadLibrary(LIBRARY);
	}

	/**
	 * @param contexts that the sessions want of the program, each provider's with their names
	 */
	static void record(LogDomain domain, String logger, LogEvent event,
			Collection<Map.Entry<String, Map<String, Integer>>> contexts) {
		StackTraceElement at = event.getSource();
		byte[] strings = join(event.getMessage().getFormattedMessage(), logger,
				at == null ? "" : at.getClassName(), at == null ? "" : at.getMethodName(),
				at == null ? "" : at.getFileName(), event.getThreadName());
		byte[] entries = null, names = null;

		if (!contexts.isEmpty()) {
			SerializedContexts values =
					ContextInfoSerializer.queryAndSerializeRequestedContexts(contexts);

			entries = values.getEntriesArray();
			names = values.getStringsArray();
		}
		record(domain == LogDomain.LOG4J2, strings, at == null ? -1 : at.getLineNumber(),
				event.getTimeMillis(), domain.level(event.getLevel()), entries, names);
	}

	/** The strings in UTF-8, each with a NUL after it; a NUL within one is a space. */
	private static byte[] join(String... strings) {
		StringBuilder all = new StringBuilder();

		for (String s : strings)
			all.append(s == null ? "" : s.replace('\0', ' ')).append('\0');
		return all.toString().getBytes(StandardCharsets.UTF_8);
	}

	/**
	 * @param strings message, logger, class, method, file, thread
	 * @param time milliseconds since 1970
	 * @param entries values of contexts, as ContextInfoSerializer has them; null: none is wanted
	 * @param names of the contexts; null if entries is
	 */
	private static native void record(boolean isLog4j2, byte[] strings, int line, long time, int level,
			byte[] entries, byte[] names);
}
