// What a chain can show of each contract, and how numbers are written.

// key: in the address of the page; field: of the native record; kind: how it is written
const column = (key, field, group, label, meaning, kind = "greek") => ({ key, field, group, label, meaning, kind });

/** Every column, in the order from the strike outwards. */
export const COLUMNS = [
  column("bid", "bid", "quote", "Bid", "Bid of the quote, if the daemon serves quotes", "price"),
  column("ask", "ask", "quote", "Ask", "Ask of the quote, if the daemon serves quotes", "price"),
  column("mid", "mid", "quote", "Mid", "Mid of bid and ask, if the daemon serves quotes", "price"),
  column("theo", "svc_theo", "core", "Theo", "Value by the model", "price"),
  column("bidvol", "bid_vol", "extra", "Bid vol", "Volatility implied by the bid, percent", "vol"),
  column("askvol", "ask_vol", "extra", "Ask vol", "Volatility implied by the ask, percent", "vol"),
  column("delta", "delta", "core", "Delta", "Change of value for one unit of the spot"),
  column("gamma", "gamma", "core", "Gamma", "Change of delta for one unit of the spot"),
  column("vega", "vega", "core", "Vega", "Change of value for one percent of volatility"),
  column("theta", "theta", "core", "Theta", "Change of value for one calendar day"),
  column("decay", "decay", "core", "Decay", "Expected change to this time on the next trading day"),
  column("rho", "rho", "core", "Rho", "Change of value for one percent of rates"),
  column("vanna", "vanna", "extra", "Vanna", "Change of delta with volatility"),
  column("volga", "volga", "extra", "Volga", "Change of vega with volatility"),
  column("charm", "charm", "extra", "Charm", "Change of delta with time, per year"),
  column("veta", "veta", "extra", "Veta", "Change of vega with time, per year"),
  column("prevvol", "prev_vol", "extra", "Prev vol", "Volatility at the end of the previous session, percent", "vol"),
  column("confvol", "conf_vol", "extra", "Conf", "How well quotes support the curve, 0 to 1"),
  column("speed", "speed", "exotic", "Speed", "Change of gamma with the spot"),
  column("zomma", "zomma", "exotic", "Zomma", "Change of gamma with volatility"),
  column("color", "color", "exotic", "Color", "Change of gamma with time, per year"),
  column("ultima", "ultima", "exotic", "Ultima", "Third derivative by volatility"),
  column("vera", "vera", "exotic", "Vera", "Change of rho with volatility"),
  column("lambda", "lambda", "exotic", "Lambda", "Percent of value for one percent of the spot"),
  column("epsilon", "epsilon", "exotic", "Epsilon", "Change of value for one percent of dividend yield"),
];

/** The groups, in the order in which they are offered. */
export const GROUPS = [
  ["core", "Values and first order"],
  ["extra", "Volatilities and second order"],
  ["exotic", "Third order and others"],
  ["quote", "Quotes"],
];

const WIDE = ["theo", "bidvol", "askvol", "delta", "gamma", "vega", "theta"];
const NARROW = ["theo", "delta"];

/** The columns of a view that names none. */
export function defaultColumns() {
  return matchMedia("(max-width: 640px)").matches ? NARROW : WIDE;
}

/** The columns of these keys, in the order of the table; unknown keys are left out. */
export function columnsOf(keys) {
  return COLUMNS.filter(({ key }) => keys.includes(key));
}

/** The groups that a request needs for these columns; the smile always needs the first two. */
export function groupsFor(columns) {
  const further = ["exotic", "quote"].filter((group) => columns.some((column) => column.group === group));
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
