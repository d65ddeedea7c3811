// The daemon's own API, on the address that this page came from.
import { OFFERS } from "./columns.js";

const PATIENCE_MS = 10_000;
/** A past day of a name is computed when it is first asked for. */
const PAST_PATIENCE_MS = 120_000;

/** The moment that is looked at, as `as_of` takes it; null: the present. */
export const past = { asOf: null };

/** These parameters, with the moment that is looked at. */
export const at = (parameters) => new URLSearchParams(past.asOf ? { ...parameters, as_of: past.asOf } : parameters);

/** An answer that is not a 200: what the daemon says. */
export class Refused extends Error {
  constructor(status, said) {
    super(said);
    this.status = status;
  }
}

/** The address of a request of the native API. */
export function greeks(parameters) {
  return `/l1/greeks?${at(parameters)}`;
}

/** The JSON of an answer. Fails with `Refused` where the daemon says no, with another error where it says nothing. */
export async function ask(target, signal) {
  const late = AbortSignal.timeout(past.asOf ? PAST_PATIENCE_MS : PATIENCE_MS);
  const answer = await fetch(target, { signal: signal ? AbortSignal.any([signal, late]) : late, cache: "no-store" });
  if (answer.ok) return answer.json();
  const body = await answer.text();
  throw new Refused(answer.status, said(body) || `status ${answer.status}`);
}

/** The reason that a refusal gives. */
export function said(body) {
  try {
    const { error } = JSON.parse(body);
    return typeof error === "string" ? error : "";
  } catch {
    return "";
  }
}

/** Health of the service. */
export const health = (signal) => ask("/health", signal);

/** The symbols that begin so, at most so many. */
export function symbols(prefix, limit, signal) {
  return ask(`/l1/symbols?${new URLSearchParams({ symbol: prefix, limit })}`, signal);
}

/** A symbol without its points and slashes, as two spellings of one are compared. */
export const bare = (symbol) => symbol.toUpperCase().replace(/[^A-Z0-9]/g, "");

/** What is known of one symbol; undefined where there is no such. */
export async function symbol(name, signal) {
  const [row] = await symbols(name, 1, signal);
  return row && bare(row.symbol) === bare(name) ? row : undefined;
}

/** The snapshots of a name around the moment that is looked at. */
export const snapshots = (underlying, signal) => ask(`/l1/snapshots?${at({ underlying })}`, signal);

/** One row for each expiry: the call nearest to its forward. */
export function termTarget(underlying) {
  return greeks({ underlying, center: "atf", right: "call", greeks: "core,chain" });
}

/** Every contract of one root and expiry. */
export function chainTarget({ root, expiry }, groups, format = "json") {
  return greeks({ root, exp: expiry, greeks: groups.join(","), ...(format === "json" ? {} : { format }) });
}

/** Quantities of the positions of a name, by OSI symbol; shares under its own name. */
export async function positionsOf(underlying, signal) {
  const held = new Map();
  if (!OFFERS.positions || past.asOf) return held;
  for (const { osym, quantity } of await ask(`/l1/positions?${new URLSearchParams({ by: "contract", underlying })}`, signal)) {
    held.set(osym ?? underlying, (held.get(osym ?? underlying) ?? 0) + quantity);
  }
  return held;
}

/** Where the discount rate of a past row comes from, with its date, and whether dividends are known; null where nothing says so. */
export async function carryOf({ osym }, signal) {
  const { carry } = await ask(`/l1/explain?${at({ osym: osym.replaceAll(" ", "") })}`, signal);
  return carry ?? null;
}

/** The metrics of each expiry of a name, by date. */
export async function metricsOf(underlying, signal) {
  const rows = await ask(`/l1/metrics?${at({ underlying, by: "expiry" })}`, signal);
  return new Map(rows.map((row) => [row.expiry, row]));
}

/** The expiries that hold an event, with what is known of it, of their metrics. */
export function eventsIn(metrics) {
  const held = [...metrics.values()].filter((row) => row.event_var > 0);
  return new Map(held.map((row) => [row.expiry, `Holds an event: a move of ${(Math.sqrt(row.event_var) * 100).toFixed(1)} % is priced`]));
}

/**
 * The volatilities of the mids, by right and strike. The native record has none; the layer of LiveVol's shape has, with
 * four decimals and zero where there is none; of the past it has no times of day, so a past moment has no mids.
 */
export async function midVols(underlying, { root, expiry }, signal) {
  if (past.asOf) return null;
  const parameters = new URLSearchParams({ symbol: underlying, root, min_expiry: expiry, max_expiry: expiry });
  const rows = await ask(`/allaccess/market/option-and-underlying-quotes?${parameters}`, signal);
  const found = { C: new Map(), P: new Map() };
  for (const row of rows) if (row.mid_iv > 0) found[row.option_type]?.set(row.strike, row.mid_iv);
  return { call: found.C, put: found.P };
}
