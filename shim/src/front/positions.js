// The positions as the daemon values them, renewed by its stream.
import { MONEY, fill, followAddress, notice } from "./desk.js";
import { ask } from "./api.js";
import { OFFERS } from "./columns.js";
import { compact, proposed } from "./example.js";
import { explain } from "./explain.js";
import { fixed } from "./numbers.js";
import { say, set } from "./dom.js";

const $ = (id) => document.getElementById(id);
const LEVELS = ["contract", "expiry", "underlying", "account"];
const FILTERS = ["account", "underlying"];
let events = null;

const NAMES = {
  contract: [
    { title: "Account", read: (row) => row.account ?? "", isWord: true },
    { title: "Position", read: (row) => row.osym?.replaceAll(" ", "") ?? row.underlying ?? "Total", isWord: true, isName: true },
    { title: "Quantity", read: (row) => (row.quantity === null ? "" : String(row.quantity)) },
    { title: "Cost", read: (row) => (row.price === null ? "" : fixed(row.price, 2)) },
    { title: "Theo", help: "Model value of one; of shares their price", read: (row) => (row.svc_theo === null ? row.reason ?? "" : fixed(row.svc_theo, 2)) },
  ],
  expiry: [
    { title: "Underlying", read: (row) => row.underlying ?? "Total", isWord: true, isName: true },
    { title: "Expiry", read: (row) => row.expiry ?? "", isWord: true },
  ],
  underlying: [{ title: "Underlying", read: (row) => row.underlying ?? "Total", isWord: true, isName: true }],
  account: [{ title: "Account", read: (row) => row.account ?? "Total", isWord: true, isName: true }],
};
const COUNTS = [
  { title: "Lines", help: "Positions", read: (row) => String(row.positions) },
  { title: "Missing", help: "Positions without a value", read: (row) => (row.missing ? String(row.missing) : "") },
];

/** Says how positions come here, with a file that this daemon would take. */
async function showExample() {
  $("example").hidden = false;
  const found = await proposed("covered call").catch(() => null);
  if (!found) return;
  const lines = found.legs.map((leg) => `ira,${leg.osym ? `${compact(leg)},` : `,${leg.underlying}`},${2 * leg.quantity},${fixed(leg.value, 2)}\n`);
  say($("example-file"), `account,osym,symbol,quantity,price\n${lines.join("")}`);
  say($("example-put"), `curl -T book.csv ${location.origin}/l1/positions`);
}

/** The filters that are set. */
const chosen = () => Object.fromEntries(FILTERS.map((id) => [id, $(id).value.trim()]).filter(([, value]) => value));

async function show() {
  if (!OFFERS.positions) {
    notice("This daemon has no positions: start it with --positions FILE or --allow-positions.");
    return showExample();
  }
  const by = $("by").value;
  try {
    const filters = chosen();
    const rows = await ask(`/l1/positions?${new URLSearchParams({ by: `${by},total`, ...filters })}`);
    set($("what-if"), "href", `/scenarios#${new URLSearchParams({ of: "positions", what: filters.account ?? "*", name: filters.underlying ?? "" })}`);
    const columns = [...NAMES[by], ...(by === "contract" ? [] : COUNTS), ...MONEY];
    fill($("rows"), `Positions by ${by}, and in total`, columns, rows, (row) => {
      if (row.osym) explain(row.osym);
      else if (row.underlying) location.href = `/#symbol=${row.underlying}`;
    });
    const total = rows.at(-1) ?? { positions: 0, missing: 0 };
    say($("sub"), `${total.positions} lines${total.missing ? `, ${total.missing} without a value` : ""}`);
    const isFiltered = Object.keys(filters).length > 0;
    if (total.positions || isFiltered) $("example").hidden = true;
    else showExample();
    const none = isFiltered ? "No position is of this account and underlying." : "There are no positions: the file is empty, or nothing was sent yet.";
    notice(total.positions ? "" : none);
  } catch (error) {
    notice(error.message || "The daemon does not answer.");
  }
}

/** Shows again whenever the stream says that the positions have changed. */
function listen() {
  events?.close();
  events = new EventSource("/l1/stream?positions=total");
  events.addEventListener("positions", (event) => {
    say($("source"), `Snapshot ${JSON.parse(event.data).snapshot}`);
    show();
  });
  events.addEventListener("error", () => notice("The daemon does not answer. The values shown are old."));
}

for (const id of ["by", ...FILTERS]) {
  $(id).addEventListener("change", () => {
    history.replaceState(null, "", `#${new URLSearchParams({ by: $("by").value, ...chosen() })}`);
    show();
  });
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    events?.close();
    events = null;
  } else if (!events && OFFERS.positions) listen();
});
followAddress((words) => {
  $("by").value = LEVELS.includes(words.get("by")) ? words.get("by") : LEVELS[2];
  for (const id of FILTERS) $(id).value = words.get(id) ?? "";
  show();
});
if (OFFERS.positions) listen();
