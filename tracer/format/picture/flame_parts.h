/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of flame.svg that are always the same. Private to flame.c. */
#ifndef TRACER_PICTURE_FLAME_PARTS_H
#define TRACER_PICTURE_FLAME_PARTS_H

static const char style[] =
	"<style>\n"
	"svg { background: #fff; font: 12px monospace }\n"
	"text { fill: #111; pointer-events: none } #reset, #compare { pointer-events: all; cursor: "
	"pointer; text-decoration: underline }\n"
	"g.f { cursor: pointer; outline: none } g.f:hover rect, g.f:focus rect { stroke: #111 }\n"
	"g.o { opacity: 0.6 } g.hit rect { fill: #c05cf0 } input { font: inherit; width: 18em }\n"
	".c0 { fill: #f5a26b } .c1 { fill: #f2c14e } .c2 { fill: #f78f8f }\n"
	".c3 { fill: #e8b07a } .c4 { fill: #efd27a } .c5 { fill: #f0a58f }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"svg { background: #16181d; color-scheme: dark } text { fill: #f2f2f2 } "
	"g.f:hover rect, g.f:focus rect { stroke: #fff } g.hit rect { fill: #7d2fa8 }\n"
	".c0 { fill: #9a4f1c } .c1 { fill: #80611a } .c2 { fill: #93363a }\n"
	".c3 { fill: #7d5227 } .c4 { fill: #6d5d22 } .c5 { fill: #8a4433 }\n"
	"}\n"
	"</style>\n";

/* The search and what it shows: for the script, and seen only with it. */
static const char tools[] =
	"<g id=\"tools\" style=\"display: none\"><foreignObject id=\"search\" x=\"6\" y=\"28\" "
	"width=\"180\" height=\"28\"><input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"words\" "
	"type=\"search\" "
	"placeholder=\"Search ( / )\" aria-label=\"Search\" style=\"width: 166px\"/>"
	"</foreignObject><text id=\"found\" x=\"194\" y=\"45\"/>"
	"<text id=\"reset\" x=\"400\" y=\"45\" role=\"button\">Reset (Esc)</text>"
	"<foreignObject x=\"0\" y=\"0\" width=\"1\" height=\"1\"><input "
	"xmlns=\"http://www.w3.org/1999/xhtml\" id=\"file\" type=\"file\" tabindex=\"-1\" "
	"aria-hidden=\"true\" style=\"opacity: 0; width: 1px\"/></foreignObject>"
	"<text id=\"compare\" x=\"520\" y=\"45\" role=\"button\" tabindex=\"0\" "
	"aria-label=\"Compare with flame.folded of another session\">Compare…</text>"
	"<text id=\"details\" x=\"6\" y=\"14\"/></g>\n";

#endif
