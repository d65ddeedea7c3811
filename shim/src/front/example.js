// A known strategy of the name that was looked at last: an example for pages that have nothing of their own to show.
import { ask } from "./api.js";
import { memory } from "./dom.js";

const FIRST_NAME = "SPY";

/** Contracts of a known strategy about the money, as the daemon proposes them. */
export async function proposed(strategy) {
  const of = (underlying) => ask(`/l1/strategy?${new URLSearchParams({ strategy, underlying, entry: "value" })}`);
  try {
    return await of(memory.get("symbol") ?? FIRST_NAME);
  } catch (error) {
    const [first] = await ask("/l1/symbols?limit=1");
    if (!first) throw error;
    return of(first.symbol);
  }
}

/** A leg's OSI symbol without spaces, or the symbol of its shares. */
export const compact = ({ osym, underlying }) => (osym ?? underlying).replaceAll(" ", "");
