// Choice of columns, and how numbers are written. The table of columns is made by the daemon: /app/columns.js.

import { COLUMNS } from "./columns.js";

const WIDE = ["theo", "bidvol", "askvol", "delta", "gamma", "vega", "theta"];
const NARROW = ["theo", "delta"];
/** Before these, where the daemon shows quotes. */
const QUOTED = ["bid", "ask"];
let quotes = false;

/** Notes that the daemon shows quotes. */
export function showQuotes() {
  quotes = true;
}

/** The columns of a view that names none. */
export function defaultColumns() {
  if (matchMedia("(max-width: 640px)").matches) return NARROW;
  return quotes ? [...QUOTED, ...WIDE] : WIDE;
}

/** The columns of these keys, in the order of the table; unknown keys are left out. */
export function columnsOf(keys) {
  return COLUMNS.filter(({ key }) => keys.includes(key));
}

/** The groups that a request needs for these columns; the smile always needs the first two. */
export function groupsFor(columns) {
  const further = ["exotic", "vt", "prob", "quote"].filter((group) => columns.some((column) => column.group === group));
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

/** A strike in its shortest form. */
export const strikeText = (strike) => String(strike);

/** Decimals of prices: those of a name of this spot. */
export const priceDecimals = (spot) => (spot >= 1000 ? 2 : 3);

/** Decimals that show the largest of some numbers with three digits; a delta of 1 has those of 0.999. */
export function decimalsFor(values) {
  let most = 0;
  for (const value of values) if (typeof value === "number") most = Math.max(most, Math.abs(value));
  if (most === 0) return 3;
  return Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(most * 0.999))));
}
