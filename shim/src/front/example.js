// An example for pages that have nothing of their own to show: options at the money of the name that was looked at last.
import { ask, greeks } from "./api.js";
import { memory } from "./dom.js";

const DAYS = 30;
const FIRST_NAME = "SPY";

/** A name, the call and the put at its forward about a month ahead, and the call of an expiry a month later. */
export async function atTheMoney() {
  const wanted = memory.get("symbol") ?? FIRST_NAME;
  const of = (underlying) => ask(greeks({ underlying, center: "atf", greeks: "core,chain" }));
  let rows = await of(wanted);
  if (!rows.length) rows = await ask("/l1/symbols?limit=1").then(([first]) => (first ? of(first.symbol) : []));
  const nearest = (days, right) => rows.filter((row) => row.right === right)
    .reduce((best, row) => (!best || Math.abs(row.days - days) < Math.abs(best.days - days) ? row : best), null);
  const [call, put, later] = [nearest(DAYS, "call"), nearest(DAYS, "put"), nearest(2 * DAYS, "call")];
  return call && put ? { name: call.underlying, call, put, later } : null;
}

/** An OSI symbol without spaces. */
export const compact = ({ osym }) => osym.replaceAll(" ", "");
