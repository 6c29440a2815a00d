// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.logging.Level;
import java.util.logging.Logger;

/** Logs by log4j 2, whose bridge log4j-to-jul hands each record to java.util.logging. */
public class Bridge {
	public static void main(String[] args) throws Exception {
		Logger root = Logger.getLogger("");
		org.lttng.ust.agent.jul.LttngLogHandler handler = new org.lttng.ust.agent.jul.LttngLogHandler();
		org.apache.logging.log4j.Logger log = org.apache.logging.log4j.LogManager.getLogger("app.log4j2");

		for (java.util.logging.Handler h : root.getHandlers())
			root.removeHandler(h);
		root.addHandler(handler);
		Logger.getLogger("app.log4j2").setLevel(Level.ALL);
		log.error("b{}", 1000);
		log.warn("b{}", 900);
		log.info("b{}", 800);
		root.removeHandler(handler);
		handler.close();
	}
}
