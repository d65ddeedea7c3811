#!/usr/bin/env python3
"""Drives the viewer at `/` with headless Chromium: search, expiry, refresh, keys, states, sizes, accessibility.

usage: run.py [--greeksd PATH] [--only WORD,...] [--pictures DIR]

Starts daemons of its own on the simulated market and ends them. Nothing may leave the loopback: that is read from the
browser's own log of its sockets. Needs Chromium and chromedriver; without them it says so and has tested nothing. Selenium
and axe-core are installed once, below `target`. With --pictures the pictures of the documents are made anew there.
"""
import argparse, ipaddress, json, pathlib, re, shutil, subprocess, sys, tempfile, time, urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environment
from daemon import PROGRAM, ROOT, Daemon

AXE = ROOT / "target" / "browser-node"
SAYS_WITHIN = 60  # seconds; checks wait for a page, and time nothing
WIDE, PHONE = (1440, 900), (390, 844)
SERIOUS = {"serious", "critical"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--pictures", type=pathlib.Path)
    wanted = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        print("skipped: no Chromium with chromedriver on this machine; nothing of the viewer was tried")
        return
    environment.enter("browser-venv", HERE / "requirements.txt")
    program = wanted.greeksd.resolve()
    if not program.exists():
        raise SystemExit(f"{program} is not there: build with cargo build --release")
    if wanted.pictures:
        return pictures(program, chromium, driver, wanted.pictures)
    words = [word for word in wanted.only.split(",") if word]
    checks = [check for check in CHECKS if not words or any(word in check.__name__ for word in words)]
    failed = 0
    with Daemon(program, "--feed", "sim", "--clock", "2026-11-20T13:00") as moving, \
            Daemon(program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00") as still:
        for check in checks:
            try:
                check(Place(program, chromium, driver, moving, still))
                print(f"ok   {check.__name__}: {check.__doc__}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {check.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    if failed:
        raise SystemExit(1)


class Place:
    """The surroundings of a check: the program, a moving market, a fixed one, and browsers."""

    def __init__(self, program, chromium, driver, moving, still):
        self.program, self.chromium, self.driver, self.moving, self.still = program, chromium, driver, moving, still

    def page(self, base, hash="", **how):
        return Page(self.chromium, self.driver, base, hash, **how)


class Page:
    """A new browser at the viewer. Closing it checks its requests and its log."""

    def __init__(self, chromium, driver, base, hash="", size=WIDE, scheme="light", path="/", before="", media=(), expects=()):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        self.base, self.expects = base, expects
        self.folder = tempfile.TemporaryDirectory(prefix="greeksd-browser-")
        self.sockets = pathlib.Path(self.folder.name) / "sockets.json"
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-features=OptimizationHints,MediaRouter,Translate", "--disable-default-apps",
                     "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--no-proxy-server",
                     f"--user-data-dir={self.folder.name}/profile", f"--log-net-log={self.sockets}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.web = webdriver.Chrome(options=options, service=Service(driver))
        self.resize(size)
        self.media(("prefers-color-scheme", scheme), *media)
        if before:
            self.tell("Page.addScriptToEvaluateOnNewDocument", source=before)
        self.web.get(f"{base}{path}{hash}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            said = [entry["message"] for entry in self.web.get_log("browser")]
            asked = [json.loads(entry["message"])["message"] for entry in self.web.get_log("performance")]
        finally:
            self.web.quit()
        urls = [entry["params"]["request"]["url"] for entry in asked if entry["method"] == "Network.requestWillBeSent"]
        reached = addresses(self.sockets)
        self.folder.cleanup()
        if kind:
            return
        unexpected = [line for line in said if not any(word in line for word in self.expects)]
        assert not unexpected, f"the browser complains: {unexpected[:3]}"
        # chrome: and chrome-untrusted: are what the browser has in itself
        foreign = [url for url in urls if not url.startswith((self.base + "/", "data:", "chrome:", "chrome-untrusted:"))]
        assert urls and not foreign, f"asked elsewhere: {foreign[:3]}"
        assert reached, "the log of sockets has no socket"
        for address in reached:
            assert ipaddress.ip_address(address).is_loopback, f"a socket to {address}"

    def tell(self, method, **parameters):
        return self.web.execute_cdp_cmd(method, parameters)

    def resize(self, size):
        mobile = size[0] < 500
        self.tell("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=mobile)

    def media(self, *features):
        self.tell("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features])

    def run(self, script, *arguments):
        return self.web.execute_script(f"return {script}", *arguments)

    def one(self, selector):
        return self.web.find_element("css selector", selector)

    def click(self, selector):
        """Clicks an element; finds it again where a refresh has replaced it in between."""
        from selenium.common.exceptions import StaleElementReferenceException

        for attempt in range(5):
            try:
                return self.one(selector).click()
            except StaleElementReferenceException:
                if attempt == 4:
                    raise

    def text(self, selector):
        return self.run("document.querySelector(arguments[0])?.textContent ?? null", selector)

    def texts(self, selector):
        return self.run("[...document.querySelectorAll(arguments[0])].map(node => node.textContent)", selector)

    def press(self, *keys):
        """Keys to whatever has the focus."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.web).send_keys(key).perform()

    def until(self, what, holds):
        """Waits until a condition holds, and returns its value."""
        began, value = time.monotonic(), None
        while time.monotonic() - began < SAYS_WITHIN:
            value = holds()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never: {what}; last {value!r}; chips {self.chips()}, notice {self.text('#notice')!r}")

    def shows(self, symbol):
        self.until(f"a chain of {symbol}", lambda: self.text("#name") == symbol and self.run(
            "document.querySelectorAll('#chain-scroll tbody tr').length > 0"))
        return self

    def hash(self):
        return dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.web.current_url).fragment))

    def chips(self):
        return self.texts("#chips .chip")

    def focus(self):
        return self.run("document.activeElement.id")


def addresses(log):
    """The addresses that a browser's sockets connected or sent to, from its network log."""
    text = log.read_text(errors="replace")
    kinds = json.loads(re.search(r'"logEventTypes":(\{[^}]*\})', text)[1])
    events = []
    for line in text.splitlines():
        if line.startswith('{"params"'):
            events.append(json.loads(line.strip().rstrip(",")))
    of = lambda kind: [event for event in events if event["type"] == kinds[kind]]
    # a UDP socket that only asks for a route sends nothing
    senders = {event["source"]["id"] for event in of("UDP_BYTES_SENT")}
    connected = of("TCP_CONNECT_ATTEMPT") + [event for event in of("UDP_CONNECT") if event["source"]["id"] in senders]
    found = [event["params"]["address"] for event in connected if "address" in event.get("params", {})]
    return {address.rsplit(":", 1)[0].strip("[]") for address in found}


# --- what is shown -----------------------------------------------------------------------------------------------------


def first_view(place):
    """without an address the page shows SPY about a month ahead, with the numbers of the API"""
    with place.page(place.still.base) as page:
        page.shows("SPY")
        hash = page.hash()
        assert hash["symbol"] == "SPY" and hash["root"] == "SPY", hash
        term = place.still.json("/l1/greeks?underlying=SPY&center=atf&right=call&greeks=core,chain")
        nearest = min(term, key=lambda row: abs(row["days"] - 30))
        assert hash["expiry"] == nearest["expiry"], (hash, nearest["expiry"])
        assert page.texts("#term-table tbody th") == [row["expiry"] for row in term]
        assert page.texts("#term-table tbody td:nth-child(5)") == [f"{row['svc_vol'] * 100:.2f}" for row in term]
        assert page.texts("#term-table tbody td:nth-child(3)") == [f"{row['fwd_price']:.2f}" for row in term]
        rows = place.still.json(f"/l1/greeks?root=SPY&exp={nearest['expiry']}&greeks=core,extra")
        calls, puts = ([row for row in rows if row["right"] == right] for right in ["call", "put"])
        assert page.texts("#chain-scroll tbody th") == [f"{row['strike']:g}" for row in calls]
        heads = page.texts("#chain-scroll thead tr:last-child th")
        assert heads[heads.index("Strike") - 1] == heads[heads.index("Vol") + 1] == "Value", heads
        left, right = heads.index("Value") + 1, heads.index("Vol") + 2
        assert page.texts(f"#chain-scroll tbody tr > :nth-child({left})") == [f"{row['svc_theo']:.2f}" for row in calls]
        assert page.texts(f"#chain-scroll tbody tr > :nth-child({right})") == [f"{row['svc_theo']:.2f}" for row in puts]
        vol = lambda row: "–" if row["bid_vol"] is None else f"{row['bid_vol'] * 100:.2f}"
        assert page.texts(f"#chain-scroll tbody tr > :nth-child({right + 1})") == [vol(row) for row in puts]
        assert "simulated" in " ".join(page.chips()).lower() and "Live" in page.chips(), page.chips()
        drawn = page.run("['.fit','.mids','.bars.put','.bars.call','.curve'].map(s => document.querySelector(s).getAttribute('d').length)")
        assert min(drawn) > 100, drawn
        for target in page.run("[...document.querySelectorAll('footer a, .brand')].map(a => a.getAttribute('href'))"):
            assert place.still.get(target), target


def past_days(place):
    """recorded days are stepped through by snapshot, marked as past, and kept in the address"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.still.base) as page:
        page.shows("SPY")
        assert page.run("document.querySelector('#moment').hidden"), "a feed of the present has no moments"
    with tempfile.TemporaryDirectory(prefix="greeksd-days-") as folder:
        subprocess.run([place.program, "generate", f"{folder}/days", "--names", "SPY,KO", "--days", "2", "--every", "1h",
                        "--from", "2026-08-18"], check=True, capture_output=True)
        with Daemon(place.program, "--feed", f"history:{folder}/days") as daemon:
            # a moment without a snapshot is a 404, which the browser notes
            with place.page(daemon.base, "#symbol=KO", expects=["404"]) as page:
                page.shows("KO")
                page.until("the control of moments", lambda: not page.run("document.querySelector('#moment').hidden"))
                last = daemon.json("/l1/snapshots?underlying=KO")
                times = last["times"]
                assert page.run("document.querySelector('#moment-time').value").startswith(times[-1][:16])
                assert page.run("document.querySelector('#moment-next').disabled") and "as_of" not in page.hash()
                live = page.texts("#chain-scroll tbody td")
                page.click("#moment-previous")
                at = times[-2][:16]
                page.until("the snapshot before", lambda: page.chips() == [f"Past {at.replace('T', ' ')}"])
                assert page.hash()["as_of"] == at and page.run("document.querySelector('main').classList.contains('past')")
                page.until("its numbers", lambda: page.texts("#chain-scroll tbody td") not in ([], live))
                hash = page.hash()
                rows = daemon.json(f"/l1/greeks?root={hash['root']}&exp={hash['expiry']}&greeks=core,extra&as_of={at}")
                calls = [row for row in rows if row["right"] == "call"]
                assert page.texts("#chain-scroll tbody th") == [f"{row['strike']:g}" for row in calls]
                deltas = page.texts("#chain-scroll thead tr:last-child th").index("Value") + 1
                shown = page.texts(f"#chain-scroll tbody tr > :nth-child({deltas})")
                assert shown == [f"{row['svc_theo']:.2f}" for row in calls], (shown[:3], at)
                assert f"as_of={urllib.parse.quote(at, safe='')}" in page.run("document.querySelector('#as-csv').href")
                page.run("document.activeElement.blur()")
                page.press("[")
                page.until("two before", lambda: page.hash().get("as_of") == times[-3][:16])
                page.press("]")
                page.until("and back", lambda: page.hash().get("as_of") == at)
                # keys that are faster than the daemon add up
                page.run("[...'[[]'].map((key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })))")
                page.until("one before", lambda: page.chips() == [f"Past {times[-3][:16].replace('T', ' ')}"])
                page.press("]")
                page.until("and back again", lambda: page.hash().get("as_of") == at)
                page.press("n")
                page.until("the latest", lambda: "as_of" not in page.hash() and not any("Past" in chip for chip in page.chips()))
                page.until("its numbers again", lambda: page.texts("#chain-scroll tbody td") == live)
                # the first snapshot of the day after follows the last of a day
                page.run("location.hash = '#symbol=KO&as_of=2026-08-18'")
                before = daemon.json("/l1/snapshots?underlying=KO&as_of=2026-08-18")["times"][-1][:16].replace("T", " ")
                page.until("a day", lambda: page.chips() == [f"Past {before}"])
                page.click("#moment-next")
                page.until("the next day", lambda: page.hash().get("as_of") == times[0][:16])
                # a moment that was chosen, before the first snapshot of its day
                page.run("(() => { const time = document.querySelector('#moment-time'); time.value = '2026-08-19T08:00'; "
                         "time.dispatchEvent(new Event('change')); })()")
                page.until("why there is nothing", lambda: "no snapshot of KO" in (page.text("#notice") or ""))
                assert page.texts("#chain-scroll tbody td") == [], "the numbers of another moment stay"
                page.click("#moment-next")
                page.until("the first of that day", lambda: page.chips() == [f"Past {times[0][:16].replace('T', ' ')}"])
                page.shows("KO")
            with place.page(daemon.base, f"#symbol=KO&as_of={times[2][:16]}") as page:
                page.shows("KO")
                assert page.chips() == [f"Past {times[2][:16].replace('T', ' ')}"], page.chips()


def search(place):
    """/ opens the search, arrows and Enter choose, the way back leads back"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.moving.base) as page:
        page.shows("SPY")
        page.press("/")
        assert page.focus() == "search"
        page.until("a list", lambda: len(page.texts("#matches [role=option]")) > 5)
        page.press(*"aa")
        page.until("what begins so", lambda: page.texts("#matches b") and all(t.startswith("AA") for t in page.texts("#matches b")))
        assert page.run("document.querySelector('#search').getAttribute('aria-activedescendant')") == "match-0"
        page.press(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
        page.shows("AAPL")
        assert page.hash()["symbol"] == "AAPL" and page.run("document.querySelector('#matches').hidden")
        assert page.web.title.startswith("AAPL")
        page.web.back()
        page.shows("SPY")
        page.click("#search")
        page.press(*"zzzz")
        page.until("no such symbol", lambda: page.texts("#matches li") == ["No such symbol"])
        page.press(Keys.ESCAPE, Keys.ESCAPE)
        assert page.focus() != "search"
        page.click("#search")
        page.press(*"qq")
        page.until("a match", lambda: page.texts("#matches b") == ["QQQ"])
        page.click("#matches li")
        page.shows("QQQ")


def expiries(place):
    """a click, arrow keys and the address change the expiry"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.moving.base, "#symbol=SPX&expiry=2026-12-18&root=SPX") as page:
        page.shows("SPX")
        assert page.text("#chain-sub").startswith("2026-12-18 AM"), page.text("#chain-sub")
        chosen = lambda: page.text("#term-table tr.on th")
        assert chosen() == "2026-12-18 AM"
        page.press(Keys.ARROW_RIGHT)
        page.until("the expiry after", lambda: page.text("#chain-sub").startswith("2026-12-18 SPXW"))
        assert page.hash()["root"] == "SPXW" and chosen() == "2026-12-18 SPXW"
        page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        page.until("two before", lambda: page.text("#chain-sub").startswith("2026-12-17 SPXW"))
        first = page.text("#term-table tbody tr th")
        page.run("document.querySelector('#term-table tbody button').click()")
        page.until("the first", lambda: page.text("#chain-sub").startswith(first))
        assert page.run("document.querySelectorAll('#term-table [aria-current=true]').length") == 1
        page.web.refresh()
        page.shows("SPX")
        assert page.text("#chain-sub").startswith(first), "the address holds the expiry"


def refreshing(place):
    """numbers change in place: nodes, scroll and selection stay"""
    with place.page(place.moving.base) as page:
        page.shows("SPY")
        page.run("""(() => {
            const scroll = document.querySelector('#chain-scroll');
            scroll.scrollTop += 60;
            window.kept = { row: document.querySelector('#chain-scroll tbody tr'), path: document.querySelector('.fit'),
                            top: scroll.scrollTop, text: scroll.textContent, flashes: 0, made: 0 };
            document.getSelection().selectAllChildren(document.querySelector('#chain-scroll tbody tr:nth-child(40) th'));
            const animate = Element.prototype.animate;
            Element.prototype.animate = function (...all) { window.kept.flashes += 1; return animate.apply(this, all); };
            new MutationObserver(all => { for (const one of all) window.kept.made += [...one.addedNodes].filter(n => n.nodeType === 1).length; })
                .observe(document.querySelector('main'), { childList: true, subtree: true });
        })()""")
        number = lambda: int(re.match(r"Snapshot (\d+)", page.text("#source"))[1])
        first = number()
        page.until("three snapshots later", lambda: number() >= first + 3)
        page.until("other numbers", lambda: page.run("document.querySelector('#chain-scroll').textContent !== window.kept.text"))
        page.until("a number that lights up", lambda: page.run("window.kept.flashes > 0"))
        kept = page.run("""({ ...window.kept, row: window.kept.row.isConnected, path: window.kept.path.isConnected,
            now: document.querySelector('#chain-scroll').scrollTop, selected: String(document.getSelection()),
            text: document.querySelector('#chain-scroll').textContent !== window.kept.text })""")
        assert kept["row"] and kept["path"] and kept["text"], kept
        assert kept["top"] == kept["now"] and kept["selected"], kept
        assert kept["made"] < 20, f"{kept['made']} elements were made anew"
    with place.page(place.moving.base, media=[("prefers-reduced-motion", "reduce")], before="""
            window.flashes = 0; Element.prototype.animate = () => { window.flashes += 1; };""") as page:
        page.shows("SPY")
        before = page.text("#chain-scroll")
        page.until("other numbers", lambda: page.text("#chain-scroll") != before)
        assert page.run("window.flashes") == 0, "nothing moves for who wants no motion"


def what_is_asked(place):
    """an unchanged snapshot is not asked for again, and only what is shown is"""
    with place.page(place.still.base) as page:
        page.shows("SPY")
        asked = lambda: page.run("performance.getEntriesByType('resource').map(e => e.name.slice(location.origin.length))")
        page.until("a stream", lambda: any(target.startswith("/l1/stream?root=SPY") for target in asked()) or page.run("performance.now()") > 15000)
        page.until("some rounds", lambda: sum(target == "/health" for target in asked()) > 1)
        greeks = [target for target in asked() if target.startswith("/l1/greeks")]
        assert len(greeks) <= 4, greeks
        assert any("center=atf&right=call" in target for target in greeks), greeks
        assert all("underlying=SPY" in t and "center=atf" in t or "root=SPY" in t and "exp=20" in t for t in greeks), greeks


def keys(place):
    """the chain is walked by keys; help and columns open and close; keys of one character can be off"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.moving.base) as page:
        page.shows("SPY")
        page.press(Keys.ARROW_DOWN)
        lit = lambda: page.text("#chain-scroll tr.on th")
        start = lit()
        assert start and page.text("#readout").startswith(start), page.text("#readout")
        page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        assert float(lit()) > float(start)
        page.press(Keys.ARROW_UP, Keys.ARROW_UP)
        assert lit() == start
        assert page.run("document.querySelector('.cross').getAttribute('d').length > 5"), "the smile shows it too"
        page.one("#chain-scroll").send_keys(Keys.END)
        assert lit() == page.texts("#chain-scroll tbody th")[-1]
        page.press("m")
        assert lit() is None
        page.press("?")
        assert page.run("document.querySelector('#help').open")
        page.press(Keys.ESCAPE)
        assert not page.run("document.querySelector('#help').open")
        page.press("c")
        page.until("columns", lambda: page.run("document.querySelector('#columns').open"))
        page.run("document.querySelector('#columns input[value=vanna]').focus()")
        page.press(" ")
        page.until("vanna", lambda: "Vanna" in page.texts("#chain-scroll thead th"))
        page.press(Keys.ESCAPE)
        assert "vanna" in page.hash()["columns"]
        page.web.refresh()
        page.shows("SPY")
        assert "Vanna" in page.texts("#chain-scroll thead th"), "the address holds the columns"
        page.press("?")
        page.click("#keys-on")
        page.press(Keys.ESCAPE)
        page.press("/")
        assert page.focus() != "search", "the key is off"
        page.web.refresh()
        page.shows("SPY")
        page.press("?")
        assert not page.run("document.querySelector('#help').open"), "and stays off"
        # every control is reached by Tab, and the focus is seen
        reached = set()
        for _ in range(60):
            page.press(Keys.TAB)
            reached.add(page.focus() or page.run("document.activeElement.tagName"))
        assert {"search", "side-button", "watch-button", "columns-button", "theme-button", "help-button", "chain-scroll", "term-scroll", "atm-button"} <= reached, reached


def explanations(place):
    """Enter and a click on a contract open its explanation"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.still.base, "#symbol=SPY") as page:
        page.shows("SPY")
        page.press(Keys.ARROW_DOWN, Keys.ENTER)
        page.until("an explanation", lambda: "forward" in page.text("#explain-text").lower())
        put = page.text("#explain-title")
        page.press(Keys.ESCAPE)
        assert not page.run("document.querySelector('#explain').open")
        page.run("document.querySelector('#chain-scroll tr.on td.c').click()")
        page.until("another", lambda: "forward" in page.text("#explain-text").lower() and page.text("#explain-title") != put)
        page.press(Keys.ESCAPE)
        page.click("#search")
        page.press(*"spy 12/18 712 c", Keys.ENTER)
        page.until("one in words", lambda: page.text("#explain-title") == "SPY 12/18 712 C" and "SPY   261218C00712000" in page.text("#explain-text"))
    with place.page(place.still.base, "#SPX") as page:
        page.shows("SPX")


def desk(place):
    """pages of positions and scenarios: totals, curves, a heat map, numbers by expiry, all by keyboard"""
    with tempfile.TemporaryDirectory(prefix="greeksd-positions-") as folder:
        book = pathlib.Path(folder) / "book.csv"
        book.write_text("account,osym,symbol,quantity,price\na,SPY261218C00720000,,-2,9.5\na,SPY261218P00700000,,3,5\na,,SPY,100,700\n")
        with Daemon(place.program, "--feed", "sim", "--clock", "2026-11-20T13:00", "--positions", book) as daemon:
            with place.page(daemon.base, path="/positions") as page:
                page.until("a total", lambda: "Total" in page.texts("#rows tbody th"))
                before = page.text("#rows")
                page.until("other numbers, by the stream", lambda: page.text("#rows") != before)
                page.run("(() => { const by = document.querySelector('#by'); by.value = 'contract'; by.dispatchEvent(new Event('change')); })()")
                page.until("contracts", lambda: any("C00720000" in text for text in page.texts("#rows tbody th")))
                assert page.run("document.querySelectorAll('#rows tbody td.up, #rows tbody td.down').length") > 2, page.text("#rows")
                page.run("[...document.querySelectorAll('#rows tbody button')].find(of => of.textContent.includes('C00720000')).click()")
                page.until("why", lambda: "forward" in page.text("#explain-text").lower())
                page.run("document.querySelector('#explain').close()")
                page.run("(() => { const of = document.querySelector('#underlying'); of.value = 'KO'; of.dispatchEvent(new Event('change')); })()")
                page.until("none of another name", lambda: page.text("#notice").startswith("No position"))
                page.run("(() => { const of = document.querySelector('#underlying'); of.value = 'SPY'; of.dispatchEvent(new Event('change')); })()")
                page.until("its own", lambda: any("C00720000" in text for text in page.texts("#rows tbody th")) and page.hash()["underlying"] == "SPY")
                page.run("location.hash = 'by=account'")
                page.until("the rows of the address", lambda: page.texts("#rows tbody th")[0] == "a" and not page.run("document.querySelector('#underlying').value"))
            with place.page(daemon.base, "#symbol=SPY&expiry=2026-12-18") as page:
                page.shows("SPY")
                held = page.run("""[...document.querySelectorAll('#chain-scroll td.held')].filter(cell => cell.textContent)
                    .map(cell => [cell.closest('tr').querySelector('th').textContent, cell.textContent])""")
                assert held == [["700", "+3"], ["720", "-2"]], held
                assert "100 shares" in page.texts("#facts dd"), page.texts("#facts dd")
            with place.page(daemon.base, path="/scenarios") as page:
                page.until("curves", lambda: page.run("document.querySelectorAll('#curves path[class^=curve]')[2].getAttribute('d')?.length > 50"))
                assert len(page.texts("#heat tbody tr")) == 5 and len(page.texts("#expiries tbody tr")) == 2
                assert page.run("document.querySelector('#curves svg').getAttribute('aria-label')").startswith("Profit by spot")
                page.run("(() => { document.querySelector('#name').value = 'SPY'; document.querySelector('#form').requestSubmit(); })()")
                page.until("how likely a profit is", lambda: "% probability" in page.text("#curves-sub"))
                calm = page.run("document.querySelector('#curves .curve-1').getAttribute('d')")
                page.run("(() => { document.querySelector('#clock').value = 'variance'; document.querySelector('#event').value = 'SPY:2026-11-24:4%'; document.querySelector('#form').requestSubmit(); })()")
                page.until("the event passes", lambda: page.run("document.querySelector('#curves .curve-1').getAttribute('d')") != calm)
                assert page.hash()["event"] == "SPY:2026-11-24:4%" and not page.text("#notice"), page.text("#notice")
                page.run("(() => { document.querySelector('#exp').value = '2026-12-18'; document.querySelector('#form').requestSubmit(); })()")
                page.until("one expiry", lambda: page.texts("#expiries tbody td:nth-child(2)") == ["2026-12-18"])


def watching(place):
    """names are watched with their change since the session before, by button and key, and kept"""
    before = """if (!localStorage['greeksd.sessions']) localStorage['greeksd.sessions'] =
        JSON.stringify({ SPY: { day: '2026-11-19', spot: 700, before: null } });"""
    with place.page(place.still.base, before=before) as page:
        page.shows("SPY")
        names = lambda: page.texts("#watch-table tbody th")
        page.until("names", lambda: names() == ["SPY", "QQQ", "IWM", "AAPL", "NVDA"])
        spot = place.still.json("/l1/greeks?underlying=SPY&center=atf&right=call")[0]["und_price"]
        assert page.texts("#watch-table tbody tr:first-child td")[:2] == [f"{spot:.2f}", f"+{(spot / 700 - 1) * 100:.2f}"]
        assert f"+{(spot / 700 - 1) * 100:.2f} %" in page.texts("#facts dd")
        page.click("#watch-button")
        page.until("one fewer", lambda: names() == ["QQQ", "IWM", "AAPL", "NVDA"])
        page.run("document.querySelector('#watch-table tbody button').click()")
        page.shows("QQQ")
        assert page.until("the chosen one", lambda: page.text("#watch-table tr.on th")) == "QQQ"
        page.run("location.hash = '#symbol=KO'")
        page.shows("KO")
        page.press("w")
        page.until("one more", lambda: names()[-1] == "KO")
        page.web.refresh()
        page.shows("KO")
        page.until("kept", lambda: names() == ["QQQ", "IWM", "AAPL", "NVDA", "KO"])


def pins(place):
    """a pinned strike stays in sight and is kept, until it is let go"""
    from selenium.webdriver.common.keys import Keys

    with place.page(place.moving.base) as page:
        page.shows("SPY")
        page.press(Keys.ARROW_DOWN)
        strike = page.text("#chain-scroll tr.on th")
        page.press("p")
        pinned = lambda: page.texts("#chain-scroll .pins th")
        assert pinned() == [strike] and page.text("#pin-button") == "Unpin"
        inside = """(() => { const scroll = document.querySelector('#chain-scroll'); scroll.scrollTop = 1e6;
            const [pin, head, all] = ['.pins tr th', 'thead', null].map(s => (s ? scroll.querySelector(s) : scroll).getBoundingClientRect());
            return pin.top >= head.bottom - 1 && pin.bottom < all.bottom; })()"""
        assert page.run(inside), "the pin stands below the head"
        row = lambda: page.texts("#chain-scroll .pins td")
        before = row()
        page.until("other numbers in the pin", lambda: row() != before)
        page.web.refresh()
        page.shows("SPY")
        assert pinned() == [strike]
        page.run("document.querySelector('#chain-scroll .pins th').click()")
        assert page.text("#chain-scroll tbody:last-child tr.on th") == strike
        page.click("#pin-button")
        assert pinned() == [] and page.text("#pin-button") == "Pin"


def order(place):
    """columns change places by buttons; the browser keeps them without an address"""
    with place.page(place.still.base) as page:
        page.shows("SPY")
        right = lambda: (lambda heads: heads[heads.index("Vol") + 1:])(page.texts("#chain-scroll thead tr:last-child th"))
        first = right()
        page.press("c")
        page.click("#column-order [aria-label='Delta nearer to the strike']")
        at = first.index("Delta")
        wanted = [*first[:at - 1], "Delta", first[at - 1], *first[at + 1:]]
        page.until("another order", lambda: right() == wanted)
        assert page.run("document.activeElement.getAttribute('aria-label')") == "Delta nearer to the strike"
        page.web.get("about:blank")
        page.web.get(place.still.base + "/")
        page.shows("SPY")
        assert right() == wanted, "kept"
        page.press("c")
        page.click("#columns-reset")
        page.until("the usual ones", lambda: right() == first)


def room(place):
    """1280 by 720 shows fourteen strikes and all columns; smile, lists and the whole side fold, and stay so"""
    with place.page(place.still.base, size=(1280, 720)) as page:
        page.shows("SPY")
        seen = """[...document.querySelectorAll('#chain-scroll tbody tr')].filter(row => { const box = row.getBoundingClientRect();
            const all = document.querySelector('#chain-scroll').getBoundingClientRect();
            return box.top >= document.querySelector('#chain-scroll thead').getBoundingClientRect().bottom - 1 && box.bottom <= all.bottom + 1; }).length"""
        assert page.run(seen) >= 14, page.run(seen)
        assert page.run("(s => s.scrollWidth <= s.clientWidth)(document.querySelector('#chain-scroll'))"), "every column has room"
        folded = lambda pane: page.run("document.querySelector(arguments[0]).classList.contains('folded')", pane)
        assert folded("#smile-pane") and not folded("#term-pane")
        page.press("s")
        assert not folded("#smile-pane")
        page.until("a smile", lambda: page.run("document.querySelector('.fit').getAttribute('d')?.length > 100"))
        page.click("#term-pane h2 button")
        assert folded("#term-pane") and page.run("document.querySelector('#term-pane h2 button').getAttribute('aria-expanded')") == "false"
        page.press("b")
        assert page.run("document.querySelector('.side').offsetParent === null && document.querySelector('#expiry').offsetWidth > 40")
        page.web.refresh()
        page.shows("SPY")
        assert not folded("#smile-pane") and folded("#term-pane") and page.run("document.querySelector('.side').offsetParent === null")
        other = page.run("(() => { const e = document.querySelector('#expiry'); e.selectedIndex = 1; e.dispatchEvent(new Event('change', { bubbles: true })); return e.value; })()")
        page.until("another expiry", lambda: page.text("#chain-sub").startswith(other.split(" ")[0]))


def tags(place):
    """expiries say what they are: monthly, weekly, with an ex-date"""
    with place.page(place.still.base, "#symbol=AAPL") as page:
        page.shows("AAPL")
        term = place.still.json("/l1/greeks?underlying=AAPL&center=atf&right=call&greeks=core,chain")
        kinds = page.run("[...document.querySelectorAll('#term-table tbody tr')].map(row => [...row.querySelectorAll('.tag')].map(tag => tag.textContent))")
        kind = dict(zip([row["expiry"] for row in term], kinds))
        assert "M" in kind["2026-12-18"] and "W" in kind["2026-12-04"], kind
        paid = [row["expiry"] for row, before in zip(term, [{"divs": 0}, *term]) if row["divs"] > before["divs"] + 1e-6]
        assert paid and [expiry for expiry, tags in kind.items() if "ex" in tags] == paid, (kind, paid)


def quotes(place):
    """volume, open interest, quotes that are not used; a bookmark of the past has them, with the rate of that day"""
    with tempfile.TemporaryDirectory(prefix="greeksd-days-") as folder:
        subprocess.run([place.program, "generate", f"{folder}/days", "--names", "KO", "--days", "2", "--from", "2026-08-18"],
                       check=True, capture_output=True)
        # one quote is crossed
        day = pathlib.Path(folder) / "days" / "quotes" / "2026-08-18.csv"
        lines = day.read_text().splitlines()
        names = lines[0].split(",")
        bid = names.index("bid")
        at = max(range(1, len(lines)), key=lambda i: float(lines[i].split(",")[bid] or 0))
        cells = lines[at].split(",")
        cells[bid] = "9999"
        day.write_text("\n".join([*lines[:at], ",".join(cells), *lines[at + 1:]]) + "\n")
        row = dict(zip(names, cells))
        with Daemon(place.program, "--feed", f"history:{folder}/days", "--show-quotes") as daemon, \
                place.page(daemon.base, f"#symbol=KO&as_of=2026-08-18T16:00&expiry={row['expiry']}") as page:
            page.shows("KO")
            heads = page.texts("#chain-scroll thead tr:last-child th")
            assert heads[heads.index("Vol") + 1:] == ["Bid", "Ask", "Value", "Delta", "Gamma", "Vega", "Theta", "Volume", "OpenInt"], heads
            said = daemon.json(f"/l1/greeks?root=KO&exp={row['expiry']}&right={row['right']}&greeks=quote&as_of=2026-08-18T16:00")
            crossed = page.run("""[...document.querySelectorAll('#chain-scroll td.dropped')].filter(cell => cell.textContent === '9999.00')
                .map(cell => [cell.title, cell.closest('tr').querySelector('th').textContent])""")
            assert crossed == [["This quote is not used: bid above ask", f"{float(row['strike']):g}"]], crossed
            side = heads.index("OpenInt") if row["right"] == "call" else len(heads) - 1
            shown = page.texts(f"#chain-scroll tbody tr > :nth-child({side + 1})")
            wanted = ["–" if one["open_interest"] is None else f"{one['open_interest']:.0f}" for one in said]
            assert shown == wanted, (shown[:5], wanted[:5])
            explained = daemon.json(f"/l1/explain?osym={said[0]['osym'].replace(' ', '')}&as_of=2026-08-18T16:00")["carry"]
            rate = dict(zip(page.texts("#facts dt"), page.texts("#facts dd")))["Rate"]
            assert rate.endswith(explained["rate_as_of"]) and explained["rate_as_of"] <= "2026-08-18", (rate, explained["rate_as_of"])


def strategies(place):
    """a click on ask or bid adds a leg, another shares: price, name, more, fewer, flipped, by keys, in the address, to scenarios"""
    from selenium.webdriver.common.keys import Keys

    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--show-quotes") as daemon, \
            place.page(daemon.base, "#symbol=SPY&expiry=2026-12-18&columns=bid,ask,theo") as page:
        page.shows("SPY")
        legs = lambda: page.texts("#legs li")
        assert not page.run("document.querySelector('#legs').offsetParent")
        trade = "[...document.querySelectorAll('#chain-scroll tbody tr')].find(row => row.querySelector('th').textContent === arguments[0])" \
                ".querySelector(`td.${arguments[1]}[data-trade=${arguments[2]}]`).click()"
        page.run(trade, "700", "p", "sell")
        page.run(trade, "690", "p", "buy")
        page.until("two legs", lambda: len(legs()) == 2)
        assert legs()[0].startswith("−1 SPY 12/18/26 700 P") and legs()[1].startswith("+1 SPY 12/18/26 690 P"), legs()
        said = lambda: daemon.json("/l1/strategy?entry=ask&legs=" + urllib.parse.quote(page.hash()["legs"]))
        net = lambda: page.text("#legs .sub")
        page.until("name and credit", lambda: net().startswith(f"{said()['strategy']} · credit {-said()['cost']:.2f} at bid and ask"))
        sold = {row["strike"]: row for row in daemon.json("/l1/greeks?root=SPY&exp=2026-12-18&right=put&greeks=quote")}
        assert abs(said()["cost"] - 100 * (sold[690]["ask"] - sold[700]["bid"])) < 1e-6, said()
        page.click("#legs [data-leg='0'][data-does=more]")
        page.until("a ratio", lambda: legs()[0].startswith("−2 ") and net().startswith("custom · credit"))
        assert page.run("document.activeElement.dataset.does") == "more", "the focus stays"
        page.click("#legs [data-leg='1'][data-does=flip]")
        page.until("two sold", lambda: legs()[1].startswith("−1 "))
        kept = legs()
        page.web.refresh()
        page.shows("SPY")
        page.until("the address holds them", lambda: legs() == kept)
        linked = lambda: dict(urllib.parse.parse_qsl(page.run("document.querySelector('#legs a').hash.slice(1)")))
        page.until("the prices", lambda: linked() == {"of": "osym", "what": "SPY261218P00700000,SPY261218P00690000", "quantity": "-2,-1",
                                                      "price": f"{sold[700]['bid']:g},{sold[690]['bid']:g}", "since": "entry"})
        page.click("#legs [data-leg='0'][data-does=remove]")
        page.until("one leg", lambda: len(legs()) == 1)
        page.press(Keys.ESCAPE)
        page.run("document.activeElement.blur()")
        page.press(Keys.ARROW_DOWN, "a")
        page.until("a leg by key", lambda: len(legs()) == 2 and legs()[1].startswith("+1 "))
        page.press("x")
        page.until("sold again", lambda: len(legs()) == 1)
        page.resize(PHONE)
        assert page.run("document.querySelector('#legs').scrollWidth <= document.querySelector('#legs').clientWidth")
        page.click("#legs p button:last-child")
        page.until("none", lambda: not page.run("document.querySelector('#legs').offsetParent") and "legs" not in page.hash())
        propose = "(s => { s.value = arguments[0]; s.dispatchEvent(new Event('change')); })(document.querySelector('#strategy'))"
        page.run(propose, "iron condor")
        page.until("a condor", lambda: len(legs()) == 4 and net().startswith("iron condor · credit"))
        assert all(" 12/18/26 " in leg for leg in legs()), legs()
        page.run(propose, "short straddle")
        page.until("no bound", lambda: net().startswith("short straddle") and "loss without bound" in net() and "gain up to" in net())
        page.run(propose, "collar")
        page.until("a collar", lambda: len(legs()) == 3 and legs()[0].startswith("+100 SPY shares") and net().startswith("collar · debit"))
        page.resize(WIDE)
        page.click("#legs p button:last-child")
        page.run(trade, "720", "c", "sell")
        page.until("a call", lambda: net().startswith("short call"))
        page.click("#legs p button:first-child")
        page.until("a covered call", lambda: net().startswith("covered call · debit") and legs()[1].startswith("+100 SPY shares"))
        page.click("#legs [data-leg='1'][data-does=more]")
        page.until("by hundreds", lambda: legs()[1].startswith("+200 "))
        page.click("#legs [data-leg='1'][data-does=fewer]")
        kept = legs()
        page.web.refresh()
        page.shows("SPY")
        page.until("shares in the address", lambda: legs() == kept and linked().get("since") == "entry")
        cost = said()["cost"]
        page.run("document.querySelector('#legs a').click()")
        # the numbers of the page of scenarios are of these legs, and count from their prices
        shown = lambda: daemon.json(page.run("document.querySelector('#as-json').getAttribute('href')"))
        page.until("curves since the price", lambda: "covered call at 2026-12-18" in (page.text("#curves-sub") or ""))
        assert page.run("document.querySelector('#quantity').value") == "-1,100"
        now = next(row for row in shown() if row["spot_move"] == row["vol_move"] == 0)
        assert abs(now["profit"] - (now["value"] - cost)) < 0.01 and abs(now["profit"]) > 0.01, (now, cost)
        fill = "Object.entries(arguments[0]).forEach(([id, value]) => (document.getElementById(id).value = value)) ?? document.querySelector('#form').requestSubmit()"
        words = {"what": "-1 SPY 12/18 712 C, 100 SPY", "quantity": "", "price": "", "since": "now"}
        page.run(fill, words)
        page.until("words", lambda: page.texts("#expiries tbody td:nth-child(2)") == ["", "2026-12-18"] and "covered call" in page.text("#curves-sub"))
        page.run(fill, {**words, "price": "9.5,700", "since": "entry"})
        page.until("since entry", lambda: page.hash()["price"] == "9.5,700" and "covered call" in page.text("#curves-sub"))
        assert not page.text("#notice"), page.text("#notice")
    with place.page(place.still.base, path="/scenarios#of=osym&what=SPY+13/18+712+C", expects=["400"]) as page:
        page.until("what was not understood", lambda: page.text("#notice").endswith("SPY 13/18 712 C"))
        follows = lambda hash: page.run("location.hash = arguments[0]", hash)
        for name, strike in [("KO", 72), ("SPY", 712)]:
            follows(f"of=osym&what={name}+12/18+{strike}+C&quantity=2&since=now")
            page.until("the contract of the address", lambda: page.texts("#expiries tbody th") == [name] and not page.text("#notice"))
            assert page.run("document.querySelector('#what').value") == f"{name} 12/18 {strike} C"
        follows("of=positions")
        page.until("an example in its place", lambda: "straddle of" in page.text("#notice"))
    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--show-quotes") as daemon, \
            place.page(daemon.base, "#symbol=SPX&columns=bid,ask,theo", expects=["400"]) as page:
        page.shows("SPX")
        offered = lambda: page.run("document.querySelector('#legs p button').offsetParent !== null")
        page.run("document.querySelector('#chain-scroll tbody td.p[data-trade=sell]').click()")
        page.until("a leg of an index", lambda: len(page.texts("#legs li")) == 1 and "SPX" in page.texts("#legs li")[0])
        assert not offered(), "an index has no shares"
        page.run("(s => { s.value = 'covered call'; s.dispatchEvent(new Event('change')); })(document.querySelector('#strategy'))")
        page.until("nor a covered call", lambda: "an index has no shares" in page.text("#legs .sub"))
        page.run("location.hash = 'symbol=SPY'")
        page.shows("SPY")
        page.until("no legs", lambda: not page.texts("#legs li"))
        page.run("document.querySelector('#chain-scroll tbody td.p[data-trade=sell]').click()")
        page.until("shares of a fund", offered)


def examples(place):
    """pages without positions show an example that works"""
    with place.page(place.still.base, path="/positions") as page:
        page.until("a file", lambda: "quantity" in (page.text("#example-file") or ""))
        assert "--allow-positions" in page.text("#notice") and page.run("document.querySelector('#example').offsetHeight > 50")
    with place.page(place.still.base, path="/scenarios") as page:
        page.until("a straddle", lambda: page.texts("#expiries tbody tr"))
        assert "straddle of SPY" in page.text("#notice"), page.text("#notice")
        symbols = page.run("document.querySelector('#what').value")
        assert re.fullmatch(r"(SPY\d{6})P(\d{8}),\1C\2", symbols), symbols
        page.run("(s => { s.value = 'long call calendar'; s.dispatchEvent(new Event('change')); })(document.querySelector('#strategy'))")
        page.until("a calendar", lambda: page.run("document.querySelector('#quantity').value") == "-1,1" and len(page.texts("#expiries tbody tr")) == 2)


def scanner(place):
    """a scan of all names: examples to click, an order by heading, what is wrong, an explanation"""
    with place.page(place.still.base, path="/scanner", expects=["status of 400"]) as page:
        rows = lambda: page.texts("#rows tbody th")
        asked = "/l1/greeks?underlying=*&where=days%3C8,svc_theo%3E=0.5&sort=-gamma&limit=50"
        wanted = [row["osym"].replace(" ", "") for row in place.still.json(asked)]
        page.until("rows", lambda: rows() == wanted)
        assert "Volume" not in page.texts("#rows thead th"), "quotes are not shown"
        page.click("#examples button:nth-child(3)")
        page.until("puts", lambda: rows() and rows() != wanted and all(re.search(r"\d{6}P\d{8}$", name) for name in rows()))
        assert page.run("document.querySelector('#rows [aria-sort=descending]').textContent") == "Vol%"
        page.run("[...document.querySelectorAll('#rows thead button')].find(button => button.textContent === 'Days').click()")
        page.until("the longest first", lambda: page.run("document.querySelector('#sort').value") == "-days"
                   and page.run("document.querySelector('#rows [aria-sort=descending]')?.textContent") == "Days")
        days = [float(text) for text in page.texts("#rows tbody td:nth-child(6)")]
        assert days == sorted(days, reverse=True) and days[0] <= 45, days[:3]
        assert "where=" in urllib.parse.unquote(page.web.current_url)
        page.run("document.querySelector('#rows tbody button').click()")
        page.until("an explanation", lambda: "forward" in page.text("#explain-text").lower())
        page.run("document.querySelector('#explain').close()")
        page.run("(() => { document.querySelector('#where').value = 'nonsense>1'; document.querySelector('#form').requestSubmit(); })()")
        page.until("why not", lambda: "where" in (page.text("#notice") or ""))
        page.run("(() => { document.querySelector('#where').value = 'delta>2'; document.querySelector('#form').requestSubmit(); })()")
        page.until("nothing", lambda: page.text("#notice").startswith("No contract"))
        page.run("(s => { s.value = 'names'; s.dispatchEvent(new Event('change')); })(document.querySelector('#of'))")
        wanted = [row["underlying"] for row in place.still.json("/l1/metrics?underlying=*&sort=-iv30d&limit=50")]
        page.until("names", lambda: rows() == wanted and page.text("#rows-title") == "Names")
        page.run("(() => { document.querySelector('#where').value = 'fwd_vol_30_60>9'; document.querySelector('#form').requestSubmit(); })()")
        page.until("no name", lambda: page.text("#notice").startswith("No name"))
        page.run("location.hash = 'where=days%3C3,svc_theo%3E%3D0.2&sort=decay&limit=5'")
        page.until("the scan of the address", lambda: len(rows()) == 5 and page.run("document.querySelector('#sort').value") == "decay")


def clocks(place):
    """the term structure by calendar and by variance time: key, button and address; skew and move in the headline"""
    with place.page(place.still.base, "#symbol=AAPL") as page:
        page.shows("AAPL")
        rows = {row["expiry"]: row for row in place.still.json("/l1/metrics?underlying=AAPL&by=expiry")}
        dates = [text.split(" ")[0] for text in page.texts("#term-table tbody th")]
        assert len(dates) > 5 and set(dates) == set(rows), dates

        def shows(place_in_row, field, scale):
            cells = page.texts(f"#term-table tbody td:nth-child({place_in_row})")
            return all(abs(float(cell) - scale * rows[date][field]) < 0.51 for cell, date in zip(cells, dates))

        caption = lambda: page.text("#term-charts figcaption")
        page.until("calendar days", lambda: shows(2, "days", 1) and shows(5, "atm_vol", 100))
        event = lambda: page.run("document.querySelector('#term-charts .event').getAttribute('d') ?? ''")
        holds = sorted(date for date, row in rows.items() if (row["event_var"] or 0) > 0)
        page.until("the event is marked where one is", lambda: bool(event()) == bool(holds))
        said = page.run("document.querySelector('#term-charts svg').getAttribute('aria-label')")
        assert (f"{holds[0]}. The table" in said) if holds else ("event" not in said), said
        drawn = page.run("document.querySelector('#term-charts .curve').getAttribute('d')")
        assert caption() == "Volatility at the money", caption()
        page.press("v")
        page.until("variance days", lambda: shows(2, "days_vt", 1) and shows(5, "vol_vt", 100))
        assert not shows(2, "days", 1), "by the other clock"
        assert page.hash()["clock"] == "variance" and "variance time" in caption(), page.web.current_url
        assert page.run("document.querySelector('#term-charts .curve').getAttribute('d')") != drawn
        facts = dict(zip(page.texts("#facts dt"), page.texts("#facts dd")))
        chosen = rows[page.hash()["expiry"]]
        assert facts["Move"] == f"{100 * chosen['expected_move']:.2f} %" and facts["Skew"] == f"{100 * chosen['skew25']:.2f} %", facts
        page.web.refresh()
        page.shows("AAPL")
        page.until("it stays", lambda: shows(2, "days_vt", 1) and page.run("document.querySelector('#clock-button').ariaPressed") == "true")
        page.click("#clock-button")
        page.until("calendar days", lambda: shows(2, "days", 1) and "clock" not in page.hash())


def exposures(place):
    """exposures by strike and by expiry are those of the daemon, of a past moment too; without open interest it says so"""
    with tempfile.TemporaryDirectory(prefix="greeksd-days-") as folder:
        subprocess.run([place.program, "generate", f"{folder}/days", "--names", "KO", "--days", "1", "--from", "2026-08-18"],
                       check=True, capture_output=True)
        with Daemon(place.program, "--feed", f"history:{folder}/days", "--show-quotes") as daemon:
            asked = lambda by, more="": daemon.json(f"/l1/exposure?underlying=KO&by={by}&as_of=2026-08-18T16:00{more}")
            [total], strikes, expiries = asked("name"), asked("strike"), asked("expiry")
            assert total["gex"] and len(strikes) > 10 and len(expiries) > 5, total
            for size in [WIDE, PHONE]:
                with place.page(daemon.base, "#underlying=KO&as_of=2026-08-18T16:00", path="/exposures", size=size) as page:
                    rows = lambda table: len(page.texts(f"#{table} tbody tr"))
                    page.until("rows", lambda: rows("strikes") == len(strikes) and rows("expiries") == len(expiries))
                    sums = lambda: dict(zip(page.texts("#sums dt"), page.texts("#sums dd")))
                    assert sums()["Price"] == f"{total['und_price']:.2f}" and spelled(sums()["GEX"], total["gex"]), sums()
                    gex = page.texts("#strikes tbody td:nth-child(4)")
                    assert all(spelled(text, row["gex"]) for text, row in zip(gex, strikes)), gex
                    assert page.run("document.querySelector('#chart .block.call').getAttribute('d').length") > 20
                    assert page.run("document.documentElement.scrollWidth") <= size[0]
                    page.run("(s => { s.value = 'vanna'; s.dispatchEvent(new Event('change')); })(document.querySelector('#of'))")
                    page.until("vanna", lambda: "Vanna calls" in page.texts("#strikes th"))
                    page.run("document.querySelector('#expiries tbody tr:nth-child(4) button').click()")
                    expiry = expiries[3]["expiry"]
                    page.until("one expiry", lambda: page.hash().get("exp") == expiry and rows("strikes") == len(asked("strike", f"&exp={expiry}")))
                    assert f"Max pain {expiry[5:]}" in sums() and page.hash()["of"] == "vanna", sums()
    with place.page(place.still.base, "#underlying=SPY", path="/exposures") as page:
        page.until("why not", lambda: "--show-quotes" in (page.text("#notice") or ""))
        page.run("location.hash = 'underlying=KO&of=vanna'")
        page.until("the name of the address", lambda: page.web.title.startswith("KO ") and page.text("#chart-sub").startswith("Vanna of KO"))


def spelled(text, value):
    """Whether a number in a few characters is this one."""
    scale = {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}.get(text[-1], 1)
    return abs(float(text.rstrip("kMBT")) * scale - value) <= 0.006 * abs(value) + 0.006


def themes(place):
    """the theme follows the system, then the button; it is remembered where the browser remembers"""
    back = "getComputedStyle(document.body).backgroundColor"
    with place.page(place.still.base, scheme="dark") as page:
        page.shows("SPY")
        dark = page.run(back)
        page.media(("prefers-color-scheme", "light"))
        light = page.run(back)
        assert dark != light
        page.click("#theme-button")
        page.click("#theme-button")
        assert page.text("#theme-button") == "Theme: dark" and page.run(back) == dark
        page.web.refresh()
        page.shows("SPY")
        assert page.run(back) == dark, "remembered"
        page.press("t")
        assert page.text("#theme-button") == "Theme: system" and page.run(back) == light
    forgetful = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } });"
    with place.page(place.still.base, before=forgetful) as page:
        page.shows("SPY")
        page.click("#theme-button")
        assert page.text("#theme-button") == "Theme: light"


def states(place):
    """held, stale, no Greeks, no such symbol and refused columns are said"""
    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-21T12:00:00-05:00") as closed, place.page(closed.base) as page:
        page.shows("SPY")
        page.until("held", lambda: page.chips() == ["Held 2026-11-20", "Simulated"])
    with place.page(place.still.base, "#symbol=NOSUCH") as page:
        page.until("no such symbol", lambda: "No such symbol: NOSUCH" in page.text("#notice"))
    with place.page(place.still.base, "#symbol=SPY&columns=theo,bid,delta", expects=["status of 400"]) as page:
        page.shows("SPY")
        page.until("why", lambda: "--show-quotes" in page.text("#notice"))
        assert page.hash()["columns"] == "theo,delta"
        assert page.texts("#chain-scroll thead tr:last-child th") == ["Delta", "Value", "Strike", "Vol", "Value", "Delta"]
    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--show-quotes") as quoted, \
            place.page(quoted.base, "#symbol=SPY&columns=bid,ask") as page:
        page.shows("SPY")
        assert page.texts("#chain-scroll thead tr:last-child th") == ["Ask", "Bid", "Strike", "Vol", "Bid", "Ask"]
        assert any(re.fullmatch(r"\d+\.\d\d", text) for text in page.texts("#chain-scroll td.c"))
    with tempfile.TemporaryDirectory(prefix="greeksd-market-") as folder:
        chains = pathlib.Path(folder) / "chains"
        chains.mkdir()
        rows = ["quote_time,underlying,und_price,root,expiry,right,strike,bid,ask"]
        rows += [f"2026-11-20T12:59:00-05:00,NOSPOT,,NOSPOT,2026-12-18,{right},{strike},0,0"
                 for right in ["call", "put"] for strike in [90, 100, 110]]
        (chains / "a.csv").write_text("\n".join(rows) + "\n")
        with Daemon(place.program, "--feed", f"dir:{folder}", "--now", "2026-11-20T13:00:00-05:00") as bare, \
                place.page(bare.base, "#symbol=NOSPOT") as page:
            page.until("no Greeks", lambda: page.chips()[:1] == ["No Greeks"])
            assert "6 contracts" in page.text("#notice") and "Simulated" not in page.chips(), page.text("#notice")


def gone_and_back(place):
    """a daemon that is gone is said, and the page goes on when it is back"""
    # the stream ends half-way, and is asked for again before the name is computed
    expected = ["ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING",
                "status of 502"]
    with Daemon(place.program, "--feed", "sim", "--clock", "2026-11-20T13:00") as daemon, \
            place.page(daemon.base, expects=expected) as page:
        page.shows("SPY")
        page.until("live", lambda: "Live" in page.chips())
        daemon.stop()
        page.until("no answer", lambda: page.chips() == ["No answer"])
        assert "does not answer since" in page.text("#notice") and page.run("document.querySelector('main').className") == "gone"
        assert page.texts("#chain-scroll tbody th"), "what was shown stays"
        daemon.start()
        page.until("live again", lambda: "Live" in page.chips() and page.run("document.querySelector('#notice').hidden"))
        assert page.text("#announce") == "The daemon answers again."


def foreign_text(place):
    """text of an address stays text"""
    bad = "<img src=x onerror=window.bad=1>"
    with place.page(place.still.base, "#" + urllib.parse.urlencode({"symbol": bad}), expects=["status of 400"]) as page:
        page.until("a notice", lambda: "SYMBOL" in page.text("#notice").upper())
        assert page.run("window.bad") is None and page.run("document.querySelectorAll('img').length") == 0
        try:
            page.run("(() => { document.body.innerHTML = '<b>x</b>'; })()")
        except Exception as error:
            assert "Trusted" in str(error), error
        else:
            raise AssertionError("text became markup")
        # refusals of the browser are in its log
        page.expects = [*page.expects, "Trusted"]


def phone(place):
    """at 390 px nothing is wider than the screen, and the chain is readable"""
    with place.page(place.moving.base, "#symbol=SPX", size=PHONE) as page:
        page.shows("SPX")
        widest = page.run("""[...document.querySelectorAll('body *')].filter(n => !n.closest('.scroll') && n.getBoundingClientRect().right > innerWidth)
            .map(n => n.tagName + '.' + n.className)""")
        assert page.run("document.documentElement.scrollWidth") <= PHONE[0], widest
        assert page.texts("#chain-scroll thead tr:last-child th") == ["Delta", "Value", "Strike", "Vol", "Value", "Delta"]
        fits = page.run("(s => s.scrollWidth <= s.clientWidth)(document.querySelector('#chain-scroll'))")
        assert fits, "the columns of a phone have room"
        sizes = page.run("[...document.querySelectorAll('button, #search')].filter(b => b.offsetParent && !b.closest('table')).map(b => b.offsetHeight)")
        assert min(sizes) >= 24, sizes
    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--show-quotes") as daemon, \
            place.page(daemon.base, "#symbol=SPX", size=PHONE) as page:
        page.shows("SPX")
        assert page.texts("#chain-scroll thead tr:last-child th") == ["Ask", "Bid", "Strike", "Vol", "Bid", "Ask"]
        assert page.run("(s => s.scrollWidth <= s.clientWidth)(document.querySelector('#chain-scroll'))"), "quotes have room"
        assert page.run("document.documentElement.scrollWidth") <= PHONE[0]
    # more columns scroll, and the strike stays
    with place.page(place.moving.base, "#symbol=SPX&columns=theo,bidvol,askvol,delta,gamma,vega,theta", size=PHONE) as page:
        page.shows("SPX")
        page.run("(() => { document.querySelector('#chain-scroll').scrollLeft = 1e4; })()")
        left = page.run("document.querySelector('#chain-scroll tbody th').getBoundingClientRect().left")
        assert 0 <= left < 40, left
        assert page.run("document.documentElement.scrollWidth") <= PHONE[0]


def without_scripts(place):
    """without scripts the page leads to the examples, which work"""
    with place.page(place.still.base, path="/examples") as page:
        page.tell("Emulation.setScriptExecutionDisabled", value=True)
        page.web.get(place.still.base + "/")
        assert "needs JavaScript" in page.one("noscript").text
        page.click("noscript a")
        assert page.web.current_url == place.still.base + "/examples"
        assert len(page.web.find_elements("css selector", "a[href]")) > 40


def accessibility(place):
    """axe-core finds no serious fault, in either theme, on a phone, with the dialogs and the search open"""
    axe = axe_script()
    faults = []

    def look(page, where):
        page.web.execute_script(axe)
        found = page.web.execute_async_script("""const done = arguments[0];
            axe.run(document, { resultTypes: ['violations'] }).then(r => done(r.violations), e => done([{ id: String(e), impact: 'critical', nodes: [] }]));""")
        for fault in found:
            line = f"{where}: {fault['impact']} {fault['id']} at {[node['target'] for node in fault['nodes']][:3]}"
            if fault["impact"] in SERIOUS:
                faults.append(line)
            else:
                print(f"     {line}")

    for scheme in ["light", "dark"]:
        with place.page(place.still.base, scheme=scheme) as page:
            look(page.shows("SPY"), scheme)
            page.press("?")
            look(page, f"{scheme}, help")
            page.run("document.querySelector('#help').close()")
            page.press("c")
            look(page, f"{scheme}, columns")
            page.run("document.querySelector('#columns').close()")
            # a dialog that closes gives the focus back a moment later, and may take it from the search
            page.until("a list", lambda: page.texts("#matches b") or (page.focus() != "search" and page.press("/")))
            look(page, f"{scheme}, search")
    for scheme, size in [("light", WIDE), ("dark", PHONE)]:
        for path, ready in [("/scanner", "#rows tbody tr"), ("/scenarios", "#expiries tbody tr"), ("/positions", "#example-put"),
                            ("/exposures", "#strikes tbody tr")]:
            with place.page(place.still.base, path=path, scheme=scheme, size=size) as page:
                page.until("rows", lambda: page.texts(ready))
                look(page, f"{path}, {scheme}, without positions")
    for scheme, size in [("light", WIDE), ("dark", PHONE)]:
        with place.page(place.still.base, "#symbol=SPY&legs=-1 SPY261218P00700000,1 SPY261218P00690000", size=size, scheme=scheme) as page:
            page.shows("SPY")
            page.until("a price", lambda: "by the model" in page.text("#legs .sub"))
            look(page, f"legs, {scheme}")
    with place.page(place.still.base, size=PHONE, scheme="dark") as page:
        look(page.shows("SPY"), "phone")
    with place.page(place.still.base, "#symbol=NOSUCH", path="/") as page:
        page.until("a notice", lambda: page.text("#notice"))
        look(page, "notice")
    with Daemon(place.program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--allow-positions") as daemon:
        import http.client

        book = "symbol,quantity,price\nSPY261218C00720000,-2,9.5\nSPY,100,700\n"
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        connection.request("PUT", "/l1/positions", body=book)
        assert connection.getresponse().status == 200
        for scheme, size in [("light", WIDE), ("dark", WIDE), ("dark", PHONE)]:
            with place.page(daemon.base, path="/positions", scheme=scheme, size=size) as page:
                page.until("rows", lambda: "Total" in page.texts("#rows tbody th"))
                look(page, f"positions, {scheme}")
            with place.page(daemon.base, path="/scenarios", scheme=scheme, size=size) as page:
                page.until("rows", lambda: page.texts("#expiries tbody tr"))
                look(page, f"scenarios, {scheme}")
    assert not faults, "\n".join(faults)


CHECKS = [first_view, past_days, search, expiries, refreshing, what_is_asked, keys, explanations, desk, watching, pins, order, room,
          tags, quotes, strategies, examples, scanner, clocks, exposures, themes, states, gone_and_back, foreign_text, phone,
          without_scripts, accessibility]


def axe_script():
    """axe-core in the version of the lock file, below `target`."""
    AXE.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "package-lock.json").read_text()
    script = AXE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists() or (AXE / "package-lock.json").read_text() != lock:
        for name in ["package.json", "package-lock.json"]:
            shutil.copy(HERE / name, AXE / name)
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=AXE, check=True)
    return script.read_text()


def pictures(program, chromium, driver, out):
    """The pictures of the documents, of the simulated market at one instant."""
    out.mkdir(parents=True, exist_ok=True)
    with Daemon(program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00") as daemon:
        place = Place(program, chromium, driver, daemon, daemon)
        for name, symbol, size, scheme in [("viewer-dark", "AAPL", WIDE, "dark"), ("viewer-light", "SPX", WIDE, "light"),
                                           ("viewer-phone", "SPY", PHONE, "dark")]:
            with place.page(daemon.base, f"#symbol={symbol}", size=size, scheme=scheme) as page:
                page.shows(symbol)
                page.press("m")
                time.sleep(1)
                page.web.save_screenshot(str(out / f"{name}.png"))
                print(f"{out / name}.png")
    with tempfile.TemporaryDirectory(prefix="greeksd-positions-") as folder:
        book = pathlib.Path(folder) / "book.csv"
        book.write_text("account,osym,symbol,quantity,price\nira,SPY261218C00730000,,-10,7.5\nira,SPY261218P00700000,,10,6\nira,,SPY,1000,700\n"
                        "fut,AAPL270115C00300000,,5,8\nfut,XOM270219P00110000,,20,3\n")
        with Daemon(program, "--feed", "sim", "--now", "2026-11-20T13:00:00-05:00", "--positions", book) as daemon:
            place = Place(program, chromium, driver, daemon, daemon)
            for name, path, size, scheme, ready in [("positions", "/positions", WIDE, "light", "#rows tbody tr"),
                                                    ("scenarios", "/scenarios", WIDE, "light", "#expiries tbody tr"),
                                                    ("scenarios-phone", "/scenarios", PHONE, "dark", "#expiries tbody tr")]:
                with place.page(daemon.base, path=path, size=size, scheme=scheme) as page:
                    page.until("rows", lambda: page.texts(ready))
                    time.sleep(1)
                    page.web.save_screenshot(str(out / f"{name}.png"))
                    print(f"{out / name}.png")


if __name__ == "__main__":
    main()
