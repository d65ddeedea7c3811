// A scan of contracts or of names: conditions, an order, so many rows. The daemon looks through them; here they are
// shown.
import { ask } from "./api.js";
import { COLUMNS, OFFERS } from "./columns.js";
import { fill, followAddress, notice } from "./desk.js";
import { element, say, set } from "./dom.js";
import { explain } from "./explain.js";
import { decimalsFor, fixed, percent, strikeText } from "./numbers.js";

const $ = (id) => document.getElementById(id);
const FIELDS = ["of", "underlying", "right", "where", "sort", "limit"];
const AT_FIRST = { of: "contracts", underlying: "*", right: "both", where: "days<8,svc_theo>=0.5", sort: "-gamma", limit: "50" };
const FOLLOW_MS = 5000;

/** Scans to click: title, what they set, whether they need quotes. */
const EXAMPLES = [
  ["Most gamma within a week", AT_FIRST],
  ["Dearest month at the money", { where: "days>=20,days<=40,delta>=0.45,delta<=0.55", right: "call", sort: "-svc_vol" }],
  ["25-delta puts to sell, 30 to 45 days", { where: "days>=30,days<=45,delta>=-0.28,delta<=-0.22", right: "put", sort: "-svc_vol" }],
  ["Hard to borrow", { where: "days>=20,days<=60,delta>=0.4,delta<=0.6", right: "call", sort: "-borr_rate" }],
  ["Most decay today", { where: "days<3,svc_theo>=0.2", sort: "decay" }],
  ["Long calls, cheap in volatility", { where: "days>=180,delta>=0.3", right: "call", sort: "svc_vol" }],
  ["Most traded", { where: "volume>0", sort: "-volume" }, true],
  ["Most open interest within a month", { where: "days<30,open_interest>0", sort: "-open_interest" }, true],
  ["Names with a large event ahead", { of: "names", where: "event_move>0.03", sort: "-event_move" }],
  ["Names dear against their year", { of: "names", where: "iv_rank_1y>0.8", sort: "-iv_rank_1y" }],
];
/** Numbers of the expiry, which the table of columns does not have. */
const OF_EXPIRY = [["und_price", "Spot", "spot price", 2], ["days", "Days", "calendar days to settlement", 1], ["fwd_price", "Forward", "calibrated forward", 2],
  ["borr_rate", "Borrow%", "implied borrow rate, percent a year", null], ["disc_rate", "Rate%", "discount rate, percent a year", null], ["divs", "Divs", "cash dividends to expiry", 3]];
const USUAL = ["und_price", "days", "bid", "ask", "svc_theo", "svc_vol", "delta", "gamma", "vega", "theta", "volume", "open_interest"];

/** Numbers of a name that are always shown; a scan adds those that it names. */
const OF_NAME = [["und_price", "Spot", "spot price", (x) => fixed(x, 2)], ["iv30d", "IV 30d%", "volatility in 30 days, percent", percent],
  ["iv_rank_1y", "Rank%", "place of it between the lowest and the highest of a year, percent", (x) => percent(x, 0)],
  ["rv20", "RV 20%", "realised volatility of 20 sessions, percent", percent], ["skew25_30d", "Skew%", "25-delta put less call over the volatility at the money, percent", percent],
  ["expected_move", "Move%", "expected move to the next expiry, percent", percent], ["event_move", "Event%", "move of the event, percent", percent],
  ["put_call_oi", "Put/call", "open interest of puts per call", (x) => fixed(x, 2)],
].map(([field, title, help, spell]) => ({ field, title, help, read: (row) => spell(row[field]) }));

const numbers = [
  ...OF_EXPIRY.map(([field, title, help, decimals]) => ({ field, title, help, decimals, kind: decimals === null ? "percent" : "price", group: "chain" })),
  { field: "svc_vol", title: "Vol%", help: "volatility of the fitted curve", kind: "percent", group: "core" },
  ...COLUMNS,
  // exercise is computed for names that are asked for, not for all
].filter(({ group }) => group !== "exercise" && (OFFERS.quotes || group !== "quote"));
const groups = [...new Set(["core", ...numbers.map(({ group }) => group)])].join(",");
let running = null;
let timer = 0;

/** Whether a row is a name, not a contract. */
const ofNames = () => $("of").value === "names";

/** The address of the scan; `more` adds parameters. */
function target(more = {}) {
  const value = (id) => $(id).value.trim();
  const contracts = ofNames() ? {} : { right: value("right"), greeks: groups };
  const asked = { underlying: value("underlying") || "*", ...contracts, limit: value("limit") || AT_FIRST.limit };
  // a scan needs one of both
  if (value("where")) asked.where = value("where").replaceAll(" ", "");
  if (value("sort")) asked.sort = value("sort");
  if (!asked.where && !asked.sort) asked.sort = ofNames() ? "-iv30d" : AT_FIRST.sort;
  return `/l1/${ofNames() ? "metrics" : "greeks"}?${new URLSearchParams({ ...asked, ...more })}`;
}

/** The words of the conditions and of the order: columns, mostly. */
const wordsOfScan = () => `${$("where").value},${$("sort").value}`.match(/[a-z_][a-z0-9_]*/g) ?? [];

/** The columns of the table: the usual ones, and those that the scan names. */
function shownNumbers() {
  const named = wordsOfScan();
  return numbers.filter(({ field }) => USUAL.includes(field) || named.includes(field))
    .sort((a, b) => rank(a.field) - rank(b.field));
}

const rank = (field) => (USUAL.includes(field) ? USUAL.indexOf(field) : USUAL.length);

function spelling({ field, kind, decimals }, rows) {
  if (kind === "percent") return (row) => percent(row[field]);
  // values of many sizes stand in one column
  const places = kind === "greek" ? Math.max(3, decimalsFor(rows.map((row) => row[field]))) : decimals;
  return (row) => fixed(row[field], places);
}

/** A link to the page of a name; `more` is of its address. */
const nameOf = ({ underlying }, more = "") => element("a", { href: `/#symbol=${encodeURIComponent(underlying)}${more}` }, underlying);

/** The columns of names: the usual ones, and those that the scan names, as the daemon writes them. */
function columnsOfNames(rows) {
  const others = [...new Set(wordsOfScan())].filter((field) => !OF_NAME.some((known) => known.field === field)
    && rows.some((row) => typeof row[field] === "number"));
  return [
    { title: "Name", read: nameOf, isWord: true, isName: true },
    ...OF_NAME,
    ...others.map((field) => ({ field, title: field, help: "as in /l1/metrics", read: (row) => fixed(row[field], decimalsFor(rows.map((of) => of[field]))) })),
    { title: "Event", help: "found, dated, none or unknown", read: (row) => row.event_state, isWord: true },
  ];
}

/** The columns of contracts. */
function columnsOfContracts(rows) {
  return [
    { title: "Contract", read: (row) => row.osym.replaceAll(" ", ""), isWord: true, isName: true },
    { title: "Name", read: (row) => nameOf(row, `&expiry=${row.expiry}&root=${row.root}`), isWord: true },
    { title: "Expiry", read: (row) => row.expiry, isWord: true },
    { title: "Strike", read: (row) => `${strikeText(row.strike)} ${row.right[0].toUpperCase()}` },
    ...shownNumbers().filter(({ field }) => rows.some((row) => row[field] !== null) || !["volume", "open_interest"].includes(field))
      .map((number) => ({ ...number, read: spelling(number, rows) })),
  ];
}

/** Offers columns to sort by. */
function offer(columns) {
  $("numbers").replaceChildren(...columns.flatMap(({ field, help }) => [field, `-${field}`].map((value) => element("option", { value }, help))));
}

function show(rows, areNames) {
  const isNumber = (field) => rows.some((row) => typeof row[field] === "number");
  offer(areNames ? Object.keys(rows[0] ?? {}).filter(isNumber).map((field) => ({ field, help: "" })) : numbers);
  const columns = areNames ? columnsOfNames(rows) : columnsOfContracts(rows);
  const what = areNames ? "Names" : "Contracts";
  say($("rows-title"), what);
  fill($("rows"), `${what} of the scan`, columns, rows, areNames ? null : (row) => explain(row.osym));
  const sort = $("sort").value.trim();
  columns.forEach(({ field, title, help }, i) => {
    if (!field) return;
    const head = $("rows").tHead.rows[0].cells[i];
    const button = element("button", { type: "button", class: "link", title: help }, title);
    button.addEventListener("click", () => {
      $("sort").value = sort === `-${field}` ? field : `-${field}`;
      scan();
    });
    if (sort.replace("-", "") === field) set(head, "aria-sort", sort.startsWith("-") ? "descending" : "ascending");
    head.replaceChildren(button);
  });
}

async function scan() {
  clearTimeout(timer);
  running?.abort();
  const mine = (running = new AbortController());
  const said = Object.fromEntries(FIELDS.map((id) => [id, $(id).value]));
  history.replaceState(null, "", `#${new URLSearchParams(said)}`);
  for (const format of ["html", "csv", "json"]) set($(`as-${format}`), "href", target({ format }));
  const areNames = ofNames();
  $("right").disabled = areNames;
  // a page of all contracts is none
  if (!areNames && $("underlying").value.trim() in { "": 1, "*": 1 }) set($("as-html"), "href", "/examples");
  try {
    const rows = await ask(target(), mine.signal);
    show(rows, areNames);
    say($("sub"), `${rows.length} ${rows.length === 1 ? "row" : "rows"}${rows.length === Number($("limit").value) ? ", as many as asked for" : ""}`);
    notice(rows.length ? "" : `No ${areNames ? "name" : "contract"} meets these conditions. An example below the form has rows.`);
  } catch (error) {
    if (mine.signal.aborted) return;
    notice(error.message || "The daemon does not answer.");
  }
  if ($("follow").checked) timer = setTimeout(() => (document.hidden ? null : scan()), FOLLOW_MS);
}

$("examples").append(...EXAMPLES.filter(([, , needsQuotes]) => OFFERS.quotes || !needsQuotes).map(([title, said]) => {
  const button = element("button", { type: "button", class: "quiet" }, title);
  button.addEventListener("click", () => {
    for (const [id, value] of Object.entries({ ...AT_FIRST, ...said })) $(id).value = value;
    scan();
  });
  return button;
}));
$("of").addEventListener("change", () => {
  // the numbers of names are others
  $("where").value = $("sort").value = "";
  scan();
});
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  scan();
});
$("follow").addEventListener("change", scan);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && $("follow").checked) scan();
});
followAddress((words) => {
  for (const id of FIELDS) $(id).value = words.get(id) ?? AT_FIRST[id];
  scan();
});
