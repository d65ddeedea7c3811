// What kind an expiry is, in a letter or two each.
import { element } from "./dom.js";

const DAY_MS = 86_400_000;
const dateOf = (text) => new Date(`${text}T00:00:00Z`);
const spell = (date) => date.toISOString().slice(0, 10);

/** The third Friday of the month of a date. */
function thirdFriday(date) {
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
  return new Date(first.getTime() + (((5 - first.getUTCDay() + 7) % 7) + 14) * DAY_MS);
}

/** Whether no weekday of the month follows. */
function endsMonth(date) {
  const next = new Date(date.getTime() + (date.getUTCDay() === 5 ? 3 : 1) * DAY_MS);
  return next.getUTCMonth() !== date.getUTCMonth();
}

/** The tags of each expiry, `[text, meaning]`, of rows by expiry; `events` has the expiries that hold an event first. */
export function tagsOf(rows, events = new Map()) {
  const listed = new Set(rows.map(({ expiry }) => expiry));
  let paid = 0;
  return rows.map(({ expiry, days, divs }) => {
    const date = dateOf(expiry);
    const friday = thirdFriday(date);
    // where that Friday is no session, the day before it
    const isMonthly = date.getTime() === friday.getTime() || (!listed.has(spell(friday)) && date.getTime() === friday.getTime() - DAY_MS);
    const tags = [isMonthly ? ["M", "Monthly expiry"] : endsMonth(date) ? ["E", "Last session of the month"] : ["W", "Weekly expiry"]];
    if (days < 1) tags.unshift(["0d", "Expires within a day"]);
    if (divs > paid + 1e-6) {
      tags.push(["ex", `Dividends of ${(divs - paid).toFixed(3)} are paid between the expiry before and this one`]);
      paid = divs;
    }
    if (events.has(expiry)) tags.push(["ev", events.get(expiry)]);
    return tags;
  });
}

/** Tags as elements. */
export const drawTags = (tags) => tags.map(([text, meaning]) => element("abbr", { class: `tag t-${text}`, title: meaning }, text));
