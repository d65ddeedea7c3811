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
    /** The time of the snapshot that is shown. */
    this.time = null;
    $("moment-previous").addEventListener("click", () => this.step(-1));
    $("moment-next").addEventListener("click", () => this.step(1));
    $("moment-latest").addEventListener("click", () => goes(null));
    $("moment-time").addEventListener("change", ({ target }) => target.value && goes(local(target.value)));
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
  }

  /** The snapshot before or after this one. */
  step(by) {
    const to = by < 0 ? this.around?.previous : this.around?.next;
    if (to) this.goes(local(to));
  }
}
