#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 60
#
# docs/examples/lttng-save.xsl: what `lttng save` writes becomes a `config` that makes the same
# session. (programs/sid.sh does it with a file of LTTng 2.16.)
. "$(dirname "$0")/../../lib/mount.sh"
command -v xsltproc >/dev/null || skip "there is no xsltproc"
mount_tree

cat >"$work/web.lttng" <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<sessions xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="https://lttng.org/xml/ns/lttng-session">
 <session><name>other</name><domains/><started>false</started></session>
 <session>
  <name>web</name>
  <domains>
   <domain><type>KERNEL</type><buffer_type>GLOBAL</buffer_type><channels><channel>
     <name>k</name><enabled>true</enabled><overwrite_mode>DISCARD</overwrite_mode>
     <read_timer_interval>200000</read_timer_interval><output_type>SPLICE</output_type>
     <events>
      <event><name>sched_switch</name><enabled>true</enabled><type>TRACEPOINT</type>
       <filter>next_prio &lt; 100</filter></event>
      <event><name>openat</name><enabled>true</enabled><type>SYSCALL</type></event>
      <event><name>p</name><enabled>true</enabled><type>PROBE</type><attributes><probe_attributes>
       <symbol_name>do_exit</symbol_name><offset>4</offset></probe_attributes></attributes></event>
      <event><name>f</name><type>FUNCTION</type><attributes><function_attributes>
       <symbol_name>do_exit</symbol_name></function_attributes></attributes></event>
      <event><name>u</name><type>USERSPACE_PROBE</type><attributes>
       <userspace_probe_tracepoint_attributes><lookup_method>SDT</lookup_method>
        <binary_path>/bin/x</binary_path><probe_name>n</probe_name>
        <provider_name>p</provider_name></userspace_probe_tracepoint_attributes>
      </attributes></event>
     </events>
     <contexts><context><type>CALLSTACK_KERNEL</type></context><context><perf><type>0</type>
      <config>1</config><name>perf_cpu_instructions</name></perf></context></contexts>
   </channel></channels></domain>
   <domain><type>UST</type><buffer_type>PER_PID</buffer_type><channels><channel>
     <name>ch</name><enabled>false</enabled><overwrite_mode>DISCARD</overwrite_mode>
     <subbuffer_size>1048576</subbuffer_size><subbuffer_count>8</subbuffer_count>
     <switch_timer_interval>100000</switch_timer_interval>
     <blocking_timeout>-1</blocking_timeout><output_type>MMAP</output_type>
     <events>
      <event><name>web:*</name><enabled>true</enabled><type>TRACEPOINT</type>
       <exclusions><exclusion>web:a</exclusion><exclusion>web:b</exclusion></exclusions></event>
      <event><name>app:*</name><enabled>true</enabled><type>TRACEPOINT</type>
       <loglevel_type>RANGE</loglevel_type><loglevel>6</loglevel>
       <filter>x &gt; 5 &amp;&amp; s == "a*"</filter></event>
      <event><name>one:one</name><enabled>false</enabled><type>TRACEPOINT</type>
       <loglevel_type>SINGLE</loglevel_type><loglevel>4</loglevel></event>
     </events>
     <contexts><context><type>VPID</type></context><context><app>
      <provider_name>shop</provider_name><ctx_name>user</ctx_name></app></context></contexts>
     <preallocation_policy>PREALLOCATE</preallocation_policy>
     <reclaim_policy><consumed/></reclaim_policy>
    </channel>
    <channel><name>lttng_python_channel</name><enabled>true</enabled><events/></channel></channels>
    <process_attr_trackers><vpid_process_attr_tracker><process_attr_values>
     <vpid><id>12</id></vpid></process_attr_values></vpid_process_attr_tracker>
    </process_attr_trackers></domain>
   <domain><type>PYTHON</type><buffer_type>PER_UID</buffer_type><channels><channel>
     <name>lttng_python_channel</name><enabled>true</enabled>
     <events><event><name>app.one</name><enabled>true</enabled><type>TRACEPOINT</type>
      <loglevel_type>RANGE</loglevel_type><loglevel>30</loglevel></event></events>
   </channel></channels></domain>
  </domains>
  <started>true</started>
  <attributes><live_timer_interval>0</live_timer_interval><rotation_schedules>
   <size_threshold><bytes>4096000</bytes></size_threshold></rotation_schedules></attributes>
  <output><consumer_output><enabled>true</enabled><destination><path>OUT</path></destination>
  </consumer_output></output>
  <trace_format>CTF_2</trace_format>
 </session>
</sessions>
END
mkdir "$work/out"
sed -i "s,OUT,$work/out," "$work/web.lttng"
convert() { xsltproc --stringparam session web "$top/docs/examples/lttng-save.xsl" "$1"; }
convert "$work/web.lttng" >"$work/web.ini" 2>"$work/messages" || fail "xsltproc: $(cat "$work/messages")"

# The kernel may not be traceable here: the lines themselves
sed -n '/^\[kernel channel\]/,/^$/p' "$work/web.ini" | grep -v '^$' >"$work/have"
diff - "$work/have" <<'END' || fail "the kernel's channel"
[kernel channel]
name = k
events = sched_switch if next_prio < 100
events = syscall:openat
events = kprobe:do_exit+4
# left out: the rule f of the type FUNCTION
events = usdt:/bin/x:p:n
contexts = callstack-kernel
# left out: the context perf_cpu_instructions
loss_mode = discard
read_period = 200000
END
is "messages" 2 "$(grep -c '^left out: ' "$work/messages")"

# The rest, in a session
sed '/^\[kernel channel\]/,/^$/d' "$work/web.ini" >"$work/user.ini"
s=$S/web
mkdir "$s" && cat "$work/user.ini" >"$s/config" || fail "config: $(cat "$s/error")"
c=$s/user/channels/ch
is "rules" 'web:* except web:a,web:b
app:* loglevel <= info if x > 5 && s == "a*"
~one:one loglevel warning' "$(cat "$c/events")"
is "contexts" 'vpid $app.shop:user' "$(tr '\n' ' ' <"$c/contexts" | sed 's/ $//')"
is "enabled" 0 "$(cat "$c/enabled")"
is "a sub-buffer" 1048576 "$(cat "$c/subbuf_size")"
is "sub-buffers" 8 "$(cat "$c/subbuf_count")"
is "losses" 'default overwrite [discard]' "$(cat "$c/loss_mode")"
is "buffers" 'user [process]' "$(cat "$c/buffering")"
is "a period" 100000 "$(cat "$c/switch_period")"
is "waiting" inf "$(cat "$c/blocking_timeout")"
is "memory" consumed "$(cat "$c/memory_max_age")"
is "loggers" 'app.one loglevel >= warning' "$(cat "$s/python/events")"
is "processes" 12 "$(cat "$s/user/track/vpid")"
is "the output" "$work/out" "$(cat "$s/output")"
is "a rotation" 4096000 "$(cat "$s/rotate_size")"
is "the version" '1.8 [2]' "$(cat "$s/ctf_version")"
is "it is active" active "$(key state "$s/status")"
rmdir "$s"
echo "$checks checks"
