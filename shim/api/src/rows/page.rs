//! The HTML page around one table: no script, no request to anywhere, readable in light and in dark.
//!
//! One plain `<table>` with head and body, because that is what a spreadsheet's web import takes. Never: a second
//! table.

use super::heading::{ColumnHead, Heading};

/// The style sheet of every page.
pub const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667085;--page:#fff;--head:#f3f5f8;--line:#e3e7ec;--hover:#eef4ff;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#98a2b3;--page:#14171a;--head:#1d2126;--line:#2b3138;--hover:#1f2a3a;--link:#8ab4f8}}
body{margin:0;background:var(--page);color:var(--ink);font:14px/1.5 system-ui,-apple-system,\"Segoe UI\",sans-serif}
header,main{padding:14px 18px}
h1{margin:0;font-size:18px;font-weight:600}
p{margin:2px 0;color:var(--soft)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
table{border-collapse:separate;border-spacing:0;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{position:sticky;top:0;background:var(--head);font-weight:600}
th:first-child,td:first-child{padding-left:18px}
.w{text-align:left}
td.w{white-space:pre}
tbody tr:hover{background:var(--hover)}
";

/// Text after the last row.
pub const FOOT: &str = "</tbody></table>\n</body></html>\n";

/// Appends everything before the first row: page head, heading, header row.
pub fn push_head(out: &mut Vec<u8>, heading: &Heading, columns: &[ColumnHead<'_>]) {
    push_top(out, heading);
    out.extend_from_slice(b"<table>\n<thead><tr>");
    for column in columns {
        let open = if column.is_number { "<th>" } else { "<th class=w>" };
        out.extend_from_slice(open.as_bytes());
        escape(out, column.name);
        out.extend_from_slice(b"</th>");
    }
    out.extend_from_slice(b"</tr></thead>\n<tbody>\n");
}

/// Appends the page's head and its heading.
pub fn push_top(out: &mut Vec<u8>, heading: &Heading) {
    out.extend_from_slice(b"<!doctype html>\n<html lang=en><head><meta charset=utf-8>");
    out.extend_from_slice(b"<meta name=viewport content=\"width=device-width\"><title>");
    escape(out, &heading.title);
    out.extend_from_slice(b"</title>\n<style>\n");
    out.extend_from_slice(STYLE.as_bytes());
    out.extend_from_slice(b"</style></head>\n<body>\n<header><h1>");
    escape(out, &heading.title);
    out.extend_from_slice(b"</h1>\n");
    for line in &heading.lines {
        out.extend_from_slice(b"<p>");
        escape(out, line);
        out.extend_from_slice(b"</p>\n");
    }
    out.extend_from_slice(b"</header>\n");
}

/// Appends text with escapes, for use between tags and in quoted attributes.
pub fn escape(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            _ => out.push(byte),
        }
    }
}
