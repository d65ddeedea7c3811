// The control of the moment: a date and time, and steps from snapshot to snapshot. Shown where the feed has recorded days.
import { past } from "./api.js";
import { say } from "./dom.js";

const $ = (id) => document.getElementById(id);

/** `2024-01-08 10:30` of `2024-01-08T10:30:00-05:00`: New York time, seconds only where there are any. */
export function spelled(time) {
  return local(time).replace("T", " ");
}

/** `2024-01-08T10:30` of `2024-01-08T10:30:00-05:00`, as the address has it: no session is in an hour that clocks repeat. */
function local(time) {
  const [, day, clock] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?/.exec(time) ?? [null, time];
  return clock ? `${day}T${clock.replace(/^(\d\d:\d\d):00$/, "$1")}` : day;
}

export class MomentBar {
  /** `goes` is given the moment that somebody chooses; null: the latest. */
  constructor(goes) {
    this.goes = goes;
    this.around = null;
    /** True while `around` is of another place than the one that is looked at; steps wait until it is loaded. */
    this.isStale = true;
    /** Steps that wait; below zero: back. */
    this.steps = 0;
    /** The time of the snapshot that is shown. */
    this.time = null;
    $("moment-previous").addEventListener("click", () => this.step(-1));
    $("moment-next").addEventListener("click", () => this.step(1));
    $("moment-latest").addEventListener("click", () => this.goTo(null));
    $("moment-time").addEventListener("change", ({ target }) => target.value && this.goTo(local(target.value)));
    $("moment").addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows where a name stands among its snapshots; `around` promises them, or is null where there are none. */
  async show(around, isShown, signal) {
    let found = null;
    let isUnknown = false;
    try {
      found = await around;
    } catch {
      isUnknown = true;
    }
    if (signal.aborted) return;
    this.around = found;
    this.isStale = false;
    this.time = found?.snapshot_time ?? null;
    $("moment").hidden = !isShown;
    $("moment-previous").disabled = !found?.previous;
    $("moment-next").disabled = !found?.next;
    $("moment-latest").disabled = past.asOf === null;
    const input = $("moment-time");
    if (document.activeElement !== input && !isUnknown) {
      const time = this.time ?? past.asOf;
      input.value = time ? local(time).length === 10 ? `${time.slice(0, 10)}T16:00` : local(time).slice(0, 19) : "";
    }
    say($("moment-time").labels[0], past.asOf ? "As of" : "Latest of");
    this.takeStep();
  }

  /** Another name or moment is about to load. */
  leave() {
    this.isStale = true;
  }

  /** Looks at a moment that somebody chooses; null: the latest. */
  goTo(asOf) {
    this.steps = 0;
    this.goes(asOf);
  }

  /** Goes to the snapshot before or after this one: keys that are faster than the daemon add up. */
  step(by) {
    this.steps += by;
    this.takeStep();
  }

  /** Takes one of the steps that wait, where the snapshots around this moment are loaded. */
  takeStep() {
    if (this.steps === 0 || this.isStale) return;
    const to = this.steps < 0 ? this.around?.previous : this.around?.next;
    this.steps = to ? this.steps - Math.sign(this.steps) : 0;
    if (to) this.goes(local(to));
  }
}
