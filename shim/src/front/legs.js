// Legs of a strategy, put together by clicks on bids and asks: a list with price and known name, and a link to
// scenarios.
import { ask, at } from "./api.js";
import { INDICES, OFFERS } from "./columns.js";
import { boundsOf, money } from "./desk.js";
import { element, say, set } from "./dom.js";
import { compact } from "./example.js";
import { strikeText } from "./numbers.js";

/** As many as the daemon takes. */
const MOST = 100;
/** Shares that a contract delivers. */
const ROUND_LOT = 100;
const isShares = (osym) => osym.length < 15;
const count = (quantity) => (quantity > 0 ? `+${quantity}` : `−${-quantity}`);

/** A contract or shares as people say it. */
function spoken(osym) {
  if (isShares(osym)) return `${osym} shares`;
  const [, root, year, month, day, right, strike] = /^(\S+?)\s*(\d\d)(\d\d)(\d\d)([CP])(\d{8})$/.exec(osym) ?? [];
  return root ? `${root} ${month}/${day}/${year} ${strikeText(Number(strike) / 1000)} ${right}` : osym;
}

/** The strip in `place`. `changed` is called when the legs are others, `announce` with what a change is; `symbol` says the underlying. */
export class Legs {
  constructor(place, changed, announce, symbol) {
    Object.assign(this, { place, changed, announce, symbol, legs: [], asked: null });
    this.list = element("ol", { "aria-label": "Legs" });
    this.sum = element("p", { class: "sub" });
    this.link = element("a", { href: "/scenarios" }, "Scenarios");
    const clear = element("button", { type: "button", class: "quiet" }, "Clear");
    clear.addEventListener("click", () => this.become([], "No legs"));
    this.shares = element("button", { type: "button", class: "quiet", title: `Buy ${ROUND_LOT} shares` }, `${ROUND_LOT} shares`);
    this.shares.addEventListener("click", () => this.add(symbol(), ROUND_LOT));
    place.append(this.list, this.sum, element("p", {}, this.shares, " ", this.link, " ", clear));
    this.list.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.pressed(Number(button.dataset.leg), button.dataset.does);
    });
  }

  /** The legs as the address holds them; null: none. */
  get text() {
    return this.legs.length ? this.legs.map(({ osym, quantity }) => `${quantity} ${osym}`).join(",") : null;
  }

  /** Takes over the legs of an address. */
  read(text) {
    const legs = (text ?? "").split(",").flatMap((leg) => {
      const [, quantity, osym] = /^(-?[1-9]\d{0,5}) ([A-Z]{1,6}\d{0,2}\d{6}[CP]\d{8}|[A-Z][A-Z0-9.]{0,7})$/.exec(leg.trim()) ?? [];
      return osym ? [{ osym, quantity: Number(quantity) }] : [];
    });
    if (JSON.stringify(legs) === JSON.stringify(this.legs)) return;
    this.legs = legs.slice(0, MOST);
    this.show();
  }

  /** Adds `by` contracts or shares, negative if sold; what is held the other way round becomes less. */
  add(long, by) {
    const osym = compact({ osym: long });
    const before = this.legs.find((leg) => leg.osym === osym);
    if (!before && this.legs.length === MOST) return this.announce(`${MOST} legs at most`);
    const quantity = (before?.quantity ?? 0) + by;
    const others = before ? this.legs.map((leg) => (leg === before ? { osym, quantity } : leg)) : [...this.legs, { osym, quantity }];
    this.become(others.filter((leg) => leg.quantity !== 0), `${by > 0 ? "Bought" : "Sold"} ${spoken(osym)}: ${quantity ? count(quantity) : "none left"}`);
  }

  /** Takes over the contracts that the daemon chooses for a known strategy. */
  async propose(strategy, underlying, expiry) {
    try {
      const { legs } = await ask(`/l1/strategy?${at({ strategy, underlying, expiry, entry: "value" })}`);
      this.become(legs.map((leg) => ({ osym: compact(leg), quantity: leg.quantity })), `${strategy} of ${underlying}`);
    } catch (error) {
      this.place.hidden = false;
      say(this.sum, error.message || "The daemon does not answer.");
    }
  }

  clear() {
    if (this.legs.length) this.become([], "No legs");
  }

  pressed(index, does) {
    const { osym, quantity } = this.legs[index];
    const step = isShares(osym) ? Math.min(ROUND_LOT, Math.abs(quantity)) : 1;
    const more = does === "more" ? step : does === "fewer" ? -step : 0;
    const now = does === "remove" ? 0 : does === "flip" ? -quantity : quantity + more * Math.sign(quantity);
    const legs = this.legs.map((leg, i) => (i === index ? { osym, quantity: now } : leg)).filter((leg) => leg.quantity !== 0);
    this.become(legs, `${spoken(osym)}: ${now ? count(now) : "removed"}`);
  }

  become(legs, what) {
    this.legs = legs;
    this.show();
    this.announce(what);
    this.changed();
  }

  show() {
    const held = this.place.contains(document.activeElement) ? document.activeElement.dataset : null;
    this.place.hidden = !this.legs.length;
    this.shares.hidden = INDICES.includes(this.symbol());
    this.list.replaceChildren(...this.legs.map(({ osym, quantity }, i) => {
      const name = spoken(osym);
      const button = (does, sign, word) => element("button", { type: "button", class: "quiet", "data-leg": i, "data-does": does, "aria-label": `${word} ${name}`, title: word }, sign);
      return element("li", {}, element("span", { class: quantity > 0 ? "up" : "down" }, count(quantity)), ` ${name} `,
        button("flip", "⇄", "Flip"), button("fewer", "−", "Fewer"), button("more", "+", "More"), button("remove", "×", "Remove"));
    }));
    // the button that was pressed is a new one now
    const again = held?.leg && (this.list.querySelector(`[data-leg="${held.leg}"][data-does="${held.does}"]`) ?? this.list.querySelector("button"));
    if (again) again.focus();
    this.aim([]);
    this.refresh();
  }

  /** Points the link at scenarios of the legs; with a price of each, profit counts from these. */
  aim(prices) {
    const joined = (values) => values.join(",");
    const paid = prices.length && prices.every(Number.isFinite) ? { price: joined(prices), since: "entry" } : {};
    const legs = { what: joined(this.legs.map(({ osym }) => osym)), quantity: joined(this.legs.map(({ quantity }) => quantity)) };
    set(this.link, "href", `/scenarios#${new URLSearchParams({ of: "osym", ...legs, ...paid })}`);
  }

  /** Asks for price and name again. */
  async refresh() {
    this.asked?.abort();
    if (!this.legs.length) return;
    const { signal } = (this.asked = new AbortController());
    // bought at the ask, sold at the bid
    const entry = OFFERS.quotes ? "ask" : "value";
    try {
      const found = await ask(`/l1/strategy?${at({ legs: this.text, entry })}`, signal);
      const { strategy, side, cost, net, breakevens, profit_chance: chance } = found;
      this.aim(found.legs.map((leg) => leg[entry === "value" ? "value" : leg.quantity > 0 ? "ask" : "bid"]));
      const isNumber = (x) => typeof x === "number";
      const words = [strategy,
        isNumber(cost) ? `${side} ${money(Math.abs(cost))} ${entry === "ask" ? "at bid and ask" : "by the model"}` : "no price",
        ...(isNumber(net.delta) ? [`delta ${money(net.delta)}`] : []),
        ...(breakevens.length ? [`breakeven ${breakevens.map((spot) => spot.toFixed(2)).join(", ")}`] : []),
        ...boundsOf(found),
        ...(isNumber(chance) ? [`profit with ${(100 * chance).toFixed(1)} %`] : [])];
      say(this.sum, words.join(" · "));
    } catch (error) {
      if (!signal.aborted) say(this.sum, error.message || "The daemon does not answer.");
    }
  }
}
