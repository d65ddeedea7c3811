// Choice of columns, and how numbers are written. The table of columns is made by the daemon: /app/columns.js.

import { COLUMNS, OFFERS } from "./columns.js";
import { memory } from "./dom.js";

const WIDE = ["theo", "bidvol", "askvol", "delta", "gamma", "vega", "theta"];
const NARROW = ["theo", "delta"];
/** Where the daemon shows quotes; `COUNTED` stands behind them where the feed counts trades. */
const QUOTED = ["bid", "ask", "theo", "delta", "gamma", "vega", "theta"];
const QUOTED_NARROW = ["bid", "ask"];
const COUNTED = ["volume", "openinterest"];
let counts = false;

/** Notes whether rows have volume or open interest. */
export function noteCounts(rows) {
  counts ||= rows.some((row) => row.volume > 0 || row.open_interest > 0);
}

/** The columns of a view that names none: those that this browser was told last, else the usual ones. */
export function defaultColumns() {
  const kept = columnsOf(memory.get("columns")?.split(",") ?? []).filter(({ group }) => OFFERS.quotes || group !== "quote");
  if (kept.length) return kept.map(({ key }) => key);
  if (matchMedia("(max-width: 640px)").matches) return OFFERS.quotes ? QUOTED_NARROW : NARROW;
  if (!OFFERS.quotes) return WIDE;
  return counts ? [...QUOTED, ...COUNTED] : QUOTED;
}

/** The columns of these keys, in their order; unknown keys are left out. */
export function columnsOf(keys) {
  return [...new Set(keys)].flatMap((key) => COLUMNS.find((column) => column.key === key) ?? []);
}

/** The groups that a request needs for these columns; the smile always needs the first two. */
export function groupsFor(columns) {
  const further = ["exotic", "vt", "prob", "exercise", "quote"].filter((group) => columns.some((column) => column.group === group));
  return ["core", "extra", ...further];
}

/** What stands in place of a number that is missing. */
export const NOTHING = "–";

/** A number with so many decimals; never `-0.00`. */
export function fixed(value, decimals) {
  if (typeof value !== "number" || !Number.isFinite(value)) return NOTHING;
  const text = value.toFixed(decimals);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
}

/** A fraction as percent. */
export const percent = (value, decimals = 2) => (typeof value === "number" ? fixed(value * 100, decimals) : NOTHING);

/** A large number in a few characters: `1.65B`. */
export function compact(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return NOTHING;
  const [scale, unit] = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]].find(([from]) => Math.abs(value) >= from) ?? [1, ""];
  const scaled = value / scale;
  return `${fixed(scaled, unit || scaled % 1 ? Math.max(0, 2 - Math.floor(Math.log10(Math.abs(scaled) || 1))) : 0)}${unit}`;
}

/** A change, with its sign. */
export const signed = (text) => (/^[-–]|^0(\.0*)?$/.test(text) ? text : `+${text}`);

/** A strike in its shortest form. */
export const strikeText = (strike) => String(strike);

/** Decimals that show the largest of some numbers with three digits; a delta of 1 has those of 0.999. */
export function decimalsFor(values) {
  let most = 0;
  for (const value of values) if (typeof value === "number") most = Math.max(most, Math.abs(value));
  if (most === 0) return 3;
  return Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(most * 0.999))));
}
