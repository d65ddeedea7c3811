//! Effects of keys and news on the state, and the contents of screens, without a terminal and without a daemon.
//!
//! Screens stand in `golden/view`, as text. `UPDATE_GOLDEN=1 cargo test -p greeksd-view` writes them again; a changed
//! screen is looked at.

use super::column::Column;
use super::fetch::{Fetcher, News};
use super::keys::{KEYS, Key};
use super::layout::Page;
use super::metrics::{self, ExposureScope, TermClock};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, Moments, NameFacts, SliceKey, WatchRow};
use super::news::Effect;
use super::number;
use super::palette::{ColourDepth, Look, Palette};
use super::parse;
use super::state::{Cursor, NameStatus, Overlay, State, WATCH_MOST};
use super::wants::Subject;
use super::widgets;
use kernel::columns::Group;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Modifier;
use shim::config::{self, Invocation};
use sources::poll::client::ServerBase;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (250, 70)];
const NO_COLOUR: Palette = Palette::new(ColourDepth::None, true);

fn key(expiry: &str, root: &str) -> SliceKey {
    SliceKey { expiry: expiry.to_owned(), root: root.to_owned() }
}

/// Expiries of a name at 100: `(day, root, days)`.
fn expiries() -> Vec<ExpiryRow> {
    let all = [
        ("2026-11-20", "ACME", 0.01),
        ("2026-11-27", "ACME", 7.01),
        ("2026-12-04", "ACME", 14.01),
        ("2026-12-11", "ACME", 21.01),
        ("2026-12-18", "ACME", 28.01),
        ("2026-12-18", "ACMEW", 28.26),
        ("2027-01-15", "ACME", 56.01),
        ("2027-03-19", "ACME", 119.01),
        ("2027-12-17", "ACME", 392.01),
        ("2028-12-15", "ACME", 756.01),
    ];
    let mut csv =
        "expiry,root,und_price,svc_vol,prev_vol,fwd_price,ex_style,settle,days,disc_rate,borr_rate,divs\n".to_owned();
    for (day, root, days) in all {
        let (fwd, vol) = (100.4 + days / 100.0, 0.2 + 0.04 * days / (days + 60.0));
        let settle = if root == "ACMEW" { "pm" } else { "am" };
        let divs = (days / 91.0_f64).floor() * 0.25;
        let prev = vol - 0.004;
        writeln!(csv, "{day},{root},100.4,{vol},{prev},{fwd},american,{settle},{days},0.04,-0.0123,{divs}").unwrap();
    }
    parse::expiries(csv.as_bytes()).unwrap()
}

/// Rows from 70 to 130 with numbers of the right size, exact on every machine.
fn chain(slice: &SliceKey, lift: f64) -> ChainRows {
    let mut csv = "strike,right,osym,svc_theo,svc_vol,delta,gamma,vega,theta,bid_vol,ask_vol\n".to_owned();
    for strike in (700..=1300).step_by(25).map(|tenth| f64::from(tenth) / 10.0) {
        let off = (100.4 - strike) / 10.0;
        let delta = 0.5 + 0.5 * off / (1.0 + off.abs());
        let time = 3.0 / (1.0 + off * off);
        let vol = 0.22 + 0.002 * (1.0 + off) * (1.0 + off);
        for (right, sign) in [("call", 1.0), ("put", -1.0)] {
            let value = (sign * (100.4 - strike)).max(0.0) + time + lift;
            let delta = if sign > 0.0 { delta } else { delta - 1.0 };
            let (gamma, vega) = (0.05 / (1.0 + off * off), 0.11 / (1.0 + off * off));
            let osym = format!("{}{right}{strike}", slice.root);
            let theta = -vega / 2.0;
            writeln!(
                csv,
                "{strike},{right},{osym},{value},{vol},{delta},{gamma},{vega},{theta},{},{}",
                vol - 0.01,
                vol + 0.01
            )
            .unwrap();
        }
    }
    parse::chain(csv.as_bytes(), "ACME", slice).unwrap()
}

fn daemon() -> DaemonFacts {
    DaemonFacts {
        status: "ok".to_owned(),
        feed: "sim".to_owned(),
        simulated: true,
        is_open: true,
        time: "2026-11-20T15:42:00.000-05:00".to_owned(),
        number: 7,
        names: 62,
        pending: 0,
        contracts: 38_011,
        rates: "simulated 2026-11-20".to_owned(),
        rates_warning: String::new(),
        dividends_unknown: Vec::new(),
        doubted: Vec::new(),
        quotes_missed: Vec::new(),
    }
}

fn facts(symbol: &str, state: &str) -> NameFacts {
    NameFacts {
        symbol: symbol.to_owned(),
        state: state.to_owned(),
        valued_at: "2026-11-20T15:42:00.000-05:00".to_owned(),
        expiries: 10,
        contracts: 1_234,
        ..NameFacts::default()
    }
}

fn watched() -> Vec<WatchRow> {
    let row = |(symbol, spot, vol): (&str, f64, f64)| WatchRow {
        symbol: symbol.to_owned(),
        spot,
        vol,
        prev_vol: vol + 0.0041,
        moved: 0,
    };
    [("ACME", 100.4, 0.2211), ("SPX", 7_233.83, 0.1339)].map(row).to_vec()
}

/// Numbers of both names: an event by the second December expiry, and none.
fn metrics_of_names() -> Vec<metrics::NameMetrics> {
    let csv = "underlying,iv30d,rr25_30d,event_state,event_to,event_move,event_move_se,event_move_max,next_expiry,\
        expected_move,move_sd,day_change,iv_rank_1y\n\
        ACME,0.2211,-0.0312,found,2026-12-11,0.0431,0.0052,,2026-11-27,0.0187,0.0234,-0.0123,0.64\n\
        SPX,0.1339,-0.0622,none,,,,0.0096,2026-11-23,0.0092,0.0115,,\n";
    metrics::names(csv.as_bytes()).unwrap()
}

/// Numbers of the expiries: those from the fourth on hold an event.
fn term() -> Vec<metrics::TermPoint> {
    let mut csv =
        "expiry,days,days_vt,vol_vt,ex_event_vol,event_var,forward_vol,skew25,expected_move,max_pain\n".to_owned();
    for (place, row) in expiries().iter().enumerate().filter(|(_, row)| row.key.root == "ACME") {
        let (days, var) = (row.days, if place < 3 { 0.0 } else { 0.001_857 });
        let (vt, vol, expected) = (days * 0.7, row.atm_vol - 0.01, row.atm_vol * (days / 365.0).sqrt() * 0.8);
        let day = &row.key.expiry;
        writeln!(csv, "{day},{days},{vt},0.21,{vol},{var},{vol},-0.03,{expected},100").unwrap();
    }
    metrics::term(csv.as_bytes()).unwrap()
}

/// Exposures by strike: puts below the spot, calls above.
fn exposures(is_by_strike: bool) -> Vec<metrics::ExposureRow> {
    let mut csv =
        "strike,gex,call_gamma,put_gamma,delta_exp,vanna_exp,charm_exp,call_oi,put_oi,gamma_flip,missing\n".to_owned();
    if !is_by_strike {
        csv += ",-1234567,2345678,3580245,98765432,-4321,567,12345,23456,103.25,\n";
    }
    for strike in (700..=1300).step_by(25).filter(|_| is_by_strike).map(|tenth| f64::from(tenth) / 10.0) {
        let call = 1e6 / (1.0 + (strike - 105.0) * (strike - 105.0) / 50.0);
        let put = 1.5e6 / (1.0 + (strike - 95.0) * (strike - 95.0) / 50.0);
        writeln!(csv, "{strike},{},{call},{put},{},{},-5,{strike},100,,", call - put, call * 20.0, call / 3.0).unwrap();
    }
    metrics::exposures(csv.as_bytes()).unwrap()
}

/// A viewer of ACME that has heard everything it asked for.
fn shown(size: (u16, u16)) -> State {
    let watch = vec!["ACME".to_owned(), "SPX".to_owned(), "NEW".to_owned()];
    let mut state = State::new("http://127.0.0.1:2112".to_owned(), false, Some("ACME".to_owned()), watch);
    state.resize(size);
    state.on_news(News::Daemon(daemon()));
    state.on_news(News::Name("ACME".to_owned(), Some(facts("ACME", "ok"))));
    state.on_news(News::Expiries("ACME".to_owned(), expiries()));
    state.on_news(News::Chain(chain(&state.slice.clone().unwrap(), 0.0)));
    state.on_news(News::Watch(watched()));
    state.on_news(News::Metrics(metrics_of_names()));
    state.on_news(News::Term("ACME".to_owned(), term()));
    for is_by_strike in [true, false] {
        let rows = exposures(is_by_strike);
        state.on_news(News::Exposure("ACME".to_owned(), ExposureScope::All, is_by_strike, rows));
    }
    state
}

fn press(state: &mut State, keys: &[Key]) {
    for key in keys {
        assert_eq!(state.on_key(*key), Effect::None, "{key:?}");
    }
}

fn text(state: &mut State, typed: &str) {
    for c in typed.chars() {
        press(state, &[Key::Char(c)]);
    }
}

fn drawn(state: &State, palette: Palette) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    terminal.draw(|frame| widgets::draw(state, palette, frame.buffer_mut())).unwrap();
    terminal.backend().buffer().clone()
}

fn screen(state: &State, palette: Palette) -> String {
    let buffer = drawn(state, palette);
    let lines = buffer.content().chunks(usize::from(buffer.area.width));
    let line = |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    lines.map(|cells| line(cells).trim_end().to_owned() + "\n").collect()
}

fn golden(name: &str, state: &State, palette: Palette) {
    let found = screen(state, palette);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/view");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(wanted, found, "{} is another\n{wanted}\n{found}", path.display());
}

#[test]
fn screens_of_every_page_and_size_are_as_they_were() {
    for size in SIZES {
        for page in Page::ALL {
            let mut state = shown(size);
            state.page = page;
            golden(&format!("{}_{}x{}", page.title(), size.0, size.1), &state, NO_COLOUR);
        }
    }
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('2')]);
    golden("ascii_80x24", &state, Palette::new(ColourDepth::None, false));
    press(&mut state, &[Key::Char('3'), Key::Char('t')]);
    state.message = None;
    golden("variance_80x24", &state, NO_COLOUR);
}

#[test]
fn screens_over_the_screen_are_as_they_were() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('?')]);
    golden("keys_80x24", &state, NO_COLOUR);
    press(&mut state, &[Key::Esc, Key::Char('c'), Key::Down]);
    golden("columns_80x24", &state, NO_COLOUR);
    press(&mut state, &[Key::Esc, Key::Char('/'), Key::Char('a')]);
    let found =
        vec![facts("AAPL", "ok"), NameFacts { is_preliminary: true, ..facts("ACME", "ok") }, facts("AMD", "held")];
    state.on_news(News::Found("A".to_owned(), found));
    press(&mut state, &[Key::Down]);
    golden("search_80x24", &state, NO_COLOUR);
    press(&mut state, &[Key::Esc, Key::Enter]);
    let pair = state.pair().unwrap();
    let values = state.row().unwrap().sides().map(|side| (side.osym.clone(), side.values)).collect();
    state.on_news(News::Detail(pair, values));
    golden("strike_80x24", &state, NO_COLOUR);
    state.resize((120, 40));
    golden("strike_120x40", &state, NO_COLOUR);
}

#[test]
fn what_is_wrong_is_said_on_the_screen() {
    let mut state = shown((80, 24));
    let says = |state: &State, words: &[&str]| {
        let screen = screen(state, NO_COLOUR);
        for word in words {
            assert!(screen.contains(word), "no {word:?} in\n{screen}");
        }
    };
    says(&state, &["SIMULATED", "ACME", "100.40", "market open"]);
    for (kind, word) in [("held", "HELD 2026-11-20 15:42:00"), ("stale", "STALE 2026-11-20 15:42:00")] {
        let preliminary = NameFacts { is_preliminary: true, ..facts("ACME", kind) };
        state.on_news(News::Name("ACME".to_owned(), Some(preliminary)));
        says(&state, &[word, "PRELIM", "15:42:00"]);
    }
    for (status, words) in [
        ("stale", "delivers nothing new"),
        ("unsaved", "cannot be written"),
        ("failed", "has stopped computing"),
        ("starting", "62 of 72"),
    ] {
        state.on_news(News::Daemon(DaemonFacts { status: status.to_owned(), pending: 10, ..daemon() }));
        says(&state, &[words]);
    }
    let warning = "the newest curve is of 2025-12-31: add --feed treasury:".to_owned();
    let old = DaemonFacts { rates: "built_in 2025-12-31".to_owned(), rates_warning: warning.clone(), ..daemon() };
    state.on_news(News::Daemon(old));
    says(&state, &[&format!("rates: {warning}")]);
    let unknown = DaemonFacts { dividends_unknown: vec!["ACME".to_owned()], ..daemon() };
    state.on_news(News::Daemon(unknown));
    says(&state, &["DIVS UNKNOWN"]);
    let doubted = vec![("ACME".to_owned(), "borrow".to_owned())];
    state.on_news(News::Daemon(DaemonFacts { doubted, ..daemon() }));
    state.resize((100, 24));
    says(&state, &["BORROW DOUBTED"]);
    state.on_news(News::Daemon(DaemonFacts { quotes_missed: vec!["ACME".to_owned()], ..daemon() }));
    says(&state, &["QUOTES MISSED"]);
    state.resize((80, 24));
    state.on_news(News::Daemon(daemon()));
    says(&state, &["rates simulated 2026-11-20"]);
    state.advance(10_500);
    says(&state, &["no answer for 10 s"]);
    state.on_news(News::Offline("cannot connect to the address".to_owned()));
    state.advance(14_600);
    // the numbers stay, with the time that they are of
    let values = ["offline for 4 s: cannot connect to the address; values of 2026-11-20 15:42:00", "Strike", "100.40"];
    says(&state, &values);
    state.on_news(News::Daemon(daemon()));
    assert!(!screen(&state, NO_COLOUR).contains("cannot connect"));
    state.open("NOPE".to_owned());
    says(&state, &["loading NOPE"]);
    state.on_news(News::Name("NOPE".to_owned(), None));
    says(&state, &["UNKNOWN", "NOPE is not served"]);
    state.on_news(News::Pending(Subject::Expiries("NOPE".to_owned())));
    says(&state, &["PENDING", "computed for the first time"]);
    let uncomputed = NameFacts { reason: "no_spot".to_owned(), ..facts("NOPE", "uncomputed") };
    state.on_news(News::Name("NOPE".to_owned(), Some(uncomputed)));
    says(&state, &["NO GREEKS: no spot", "NOPE has no Greeks: no spot"]);
    let mut nobody = State::new("http://127.0.0.1:2112".to_owned(), false, None, Vec::new());
    nobody.on_news(News::Offline("cannot connect to the address".to_owned()));
    says(&nobody, &["no daemon answers at http://127.0.0.1:2112", "greeksd serve ", "greeksd view --feed sim "]);
    golden("nobody_80x24", &nobody, NO_COLOUR);
}

#[test]
fn no_size_and_no_state_makes_drawing_fail() {
    let states: [fn() -> State; 3] = [
        || shown((80, 24)),
        || State::new(String::new(), true, None, Vec::new()),
        || {
            let mut state = shown((80, 24));
            // nothing is a number
            let nan =
                |row: ExpiryRow| ExpiryRow { spot: f64::NAN, fwd: f64::NAN, atm_vol: f64::NAN, days: f64::NAN, ..row };
            state.on_news(News::Expiries("ACME".to_owned(), expiries().into_iter().map(nan).collect()));
            for row in &mut state.chain.rows {
                for side in [&mut row.call, &mut row.put].into_iter().flatten() {
                    side.values.fill(f64::NAN);
                }
                row.call = None;
            }
            state
        },
    ];
    let overlays = [None, Some('?'), Some('/'), Some('c')];
    for make in states {
        for page in Page::ALL {
            for overlay in overlays {
                let mut state = make();
                state.page = page;
                overlay.into_iter().for_each(|key| press(&mut state, &[Key::Char(key)]));
                for width in [0, 1, 7, 59, 60, 61, 80, 159, 160, 199, 200, 300] {
                    for height in [0, 1, 3, 15, 16, 17, 24, 90] {
                        state.resize((width, height));
                        let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, width, height));
                        widgets::draw(&state, NO_COLOUR, &mut buffer);
                    }
                }
            }
        }
    }
}

#[test]
fn in_the_money_is_shaded_on_the_right_side_in_every_depth() {
    let state = shown((80, 24));
    for depth in [ColourDepth::Sixteen, ColourDepth::Shades] {
        let palette = Palette::new(depth, true);
        let buffer = drawn(&state, palette);
        let inside = palette.style(Look::Inside).bg;
        // the row below the spot: its call is in the money, its put is not
        let (lines, at) = state.lines();
        let line = at.unwrap() - 1;
        let y = state.areas().main.y + 2 + u16::try_from(line - state.top).unwrap();
        assert!(lines.len() > line);
        let shaded: Vec<u16> = (0..80).filter(|x| Some(buffer[(*x, y)].bg) == inside).collect();
        assert!(shaded.len() == 32 && shaded.iter().all(|x| *x < 40), "{depth:?}: {shaded:?}");
    }
    let marked = |depth| drawn(&state, Palette::new(depth, true)).content().iter().any(|cell| cell.symbol() == "░");
    assert!(marked(ColourDepth::None) && !marked(ColourDepth::Sixteen));
}

#[test]
fn changes_are_marked_for_a_while_and_only_changes() {
    let mut state = shown((80, 24));
    assert!(!state.flashes());
    state.advance(2_000);
    let slice = state.slice.clone().unwrap();
    state.on_news(News::Chain(chain(&slice, 0.0)));
    assert!(!state.flashes(), "the same numbers");
    state.on_news(News::Chain(chain(&slice, 0.01)));
    assert!(state.flashes());
    let marked = |state: &State| {
        let up = Palette::new(ColourDepth::Sixteen, true).style(Look::Up).fg;
        drawn(state, Palette::new(ColourDepth::Sixteen, true))
            .content()
            .iter()
            .filter(|cell| Some(cell.fg) == up)
            .count()
    };
    let rows = state.areas().chain_lines();
    // one column of eight on each side, and no more than there are rows
    assert!((1..=rows * 16).contains(&marked(&state)), "{}", marked(&state));
    assert_eq!(state.next_wake(), Some(900));
    state.advance(2_900);
    assert!(!state.flashes() && marked(&state) == 0);
    state.on_news(News::Expiries(
        "ACME".to_owned(),
        expiries().into_iter().map(|row| ExpiryRow { spot: 99.0, ..row }).collect(),
    ));
    assert!(state.spot_moved == -1 && state.flashes());
}

#[test]
fn the_first_expiry_is_a_week_off_and_arrows_go_through_them() {
    let mut state = shown((80, 24));
    let on = |state: &State| state.slice.clone().unwrap();
    assert_eq!(on(&state), key("2026-11-27", "ACME"));
    press(&mut state, &[Key::Left, Key::Left, Key::Left]);
    assert_eq!(on(&state), key("2026-11-20", "ACME"));
    press(&mut state, &[Key::Right, Key::Char('l')]);
    assert_eq!(on(&state), key("2028-12-15", "ACME"));
    assert!(state.rows().is_none(), "rows of another expiry are not shown as those of this one");
    press(&mut state, &[Key::Char('f')]);
    assert_eq!(on(&state), key("2026-11-20", "ACME"));
    // an expiry that settles is left for the one that is as far away
    state.on_news(News::Expiries("ACME".to_owned(), expiries().into_iter().skip(1).collect()));
    assert_eq!(on(&state), key("2026-11-27", "ACME"));
}

#[test]
fn the_row_at_the_money_follows_the_forward_until_somebody_moves() {
    let mut state = shown((80, 24));
    let strike = |state: &State| number::strike(state.row().unwrap().strike);
    let fwd = |fwd: f64| expiries().into_iter().map(|row| ExpiryRow { fwd, ..row }).collect::<Vec<_>>();
    assert_eq!(strike(&state), "100");
    state.on_news(News::Expiries("ACME".to_owned(), fwd(111.0)));
    assert_eq!(strike(&state), "110");
    press(&mut state, &[Key::Up]);
    state.on_news(News::Expiries("ACME".to_owned(), fwd(90.0)));
    assert_eq!((strike(&state).as_str(), state.cursor), ("107.5", Cursor::Strike(107.5)));
    press(&mut state, &[Key::Char('a')]);
    assert_eq!(strike(&state), "90");
    for (key, wanted) in [(Key::End, "130"), (Key::PageUp, "105"), (Key::Home, "70"), (Key::PageDown, "95")] {
        press(&mut state, &[key]);
        assert_eq!(strike(&state), wanted, "{key:?}");
        let (_, at) = state.lines();
        assert!((state.top..state.top + state.areas().chain_lines()).contains(&at.unwrap()), "{key:?}");
    }
}

#[test]
fn late_answers_about_something_else_change_nothing() {
    let mut state = shown((80, 24));
    // what is missing is no number, and equal to nothing
    let before = format!("{state:?}");
    state.on_news(News::Expiries("OTHER".to_owned(), Vec::new()));
    state.on_news(News::Name("OTHER".to_owned(), None));
    state.on_news(News::Chain(ChainRows { name: "OTHER".to_owned(), ..chain(&key("2026-11-27", "ACME"), 0.0) }));
    state.on_news(News::Chain(chain(&key("2026-12-04", "ACME"), 0.0)));
    state.on_news(News::Found("A".to_owned(), vec![facts("A", "ok")]));
    state.on_news(News::Detail(Default::default(), Vec::new()));
    assert_eq!(state.on_news(News::Copied(1, "x".to_owned())), Effect::None);
    state.on_news(News::Pending(Subject::Expiries("OTHER".to_owned())));
    assert!(format!("{state:?}") == before, "something has changed");
}

#[test]
fn only_what_can_be_seen_is_asked_for() {
    let mut state = shown((80, 24));
    let groups = |state: &State| state.wants().slice.map(|(_, groups)| groups.into_iter().collect::<Vec<_>>());
    assert_eq!(groups(&state), Some(vec![Group::Core]));
    assert!(state.wants().watch.is_empty() && state.wants().search.is_none());
    press(&mut state, &[Key::Char('2')]);
    assert_eq!(groups(&state), Some(vec![Group::Core, Group::Extra]));
    press(&mut state, &[Key::Char('3')]);
    assert_eq!(groups(&state), None);
    press(&mut state, &[Key::Char('4')]);
    assert_eq!((groups(&state), state.wants().watch.len()), (None, 3));
    press(&mut state, &[Key::Tab, Key::Tab, Key::Char('g'), Key::Char('g'), Key::Char('g')]);
    assert_eq!(groups(&state), Some(vec![Group::Core, Group::Exotic]));
    state.resize((250, 70));
    assert_eq!(groups(&state).unwrap().len(), 3);
    assert_eq!(state.wants().watch.len(), 3);
    // quotes that are not shown are not asked for again, until another daemon answers
    press(&mut state, &[Key::Char('g'); 4]);
    state.on_news(News::NoQuotes);
    let says = |state: &State| state.message.as_ref().is_some_and(|(text, _)| text.contains("--show-quotes"));
    assert!(state.wants().without_quotes && says(&state));
    // it is said to whoever asks for them later, too
    press(&mut state, &[Key::Char('g')]);
    assert!(!says(&state));
    press(&mut state, &[Key::Char('g'); Group::VIEWED.len()]);
    assert!(says(&state));
    state.on_news(News::Offline(String::new()));
    state.on_news(News::Daemon(daemon()));
    assert!(!state.wants().without_quotes);
}

#[test]
fn the_term_structure_has_two_clocks_and_marks_the_event() {
    let mut state = shown((120, 40));
    press(&mut state, &[Key::Char('3')]);
    let wants = state.wants();
    assert!(wants.term && wants.metrics == ["ACME"] && wants.exposure.is_none());
    let text = screen(&state, NO_COLOUR);
    for words in ["calendar days", "event by 12-11: 4.31% ±0.52", "skew -3.12%", "move 1.87%", "Event%"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let line = |day: &str| text.lines().find(|line| line.contains(day)).unwrap().to_owned();
    assert!(!line("2026-12-04").contains("4.31") && line("2026-12-11").contains("4.31"), "{text}");
    let marked = |state: &State| {
        let notice = Palette::new(ColourDepth::Sixteen, true).style(Look::Notice).bg;
        let buffer = drawn(state, Palette::new(ColourDepth::Sixteen, true));
        let marks = (0..120).filter(|x| Some(buffer[(*x, 20)].bg) == notice).count();
        (marks, state.clock)
    };
    assert_eq!(marked(&state), (1, TermClock::Calendar));
    press(&mut state, &[Key::Char('t')]);
    assert_eq!(marked(&state), (1, TermClock::Variance));
    assert!(screen(&state, NO_COLOUR).contains("by variance days"));
    state.on_news(News::Term("ACME".to_owned(), Vec::new()));
    assert_eq!(marked(&state).0, 0);
    state.on_news(News::Term("OTHER".to_owned(), term()));
    assert!(state.term.is_empty());
}

#[test]
fn exposures_are_of_all_expiries_or_one_and_say_why_there_are_none() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('5')]);
    let targets =
        |state: &State| state.wants().requests().into_iter().map(|request| request.target).collect::<Vec<_>>();
    assert!(targets(&state).iter().any(|target| target == "/l1/exposure?underlying=ACME&by=strike&format=csv"));
    let says = |state: &State, words: &[&str]| {
        let text = screen(state, NO_COLOUR);
        for word in words {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
    };
    let sum = ["GEX -1.23M", "delta 98.8M", "flip 103.25", "max pain 100 (11-27)", "open 12.3k / 23.5k"];
    says(&state, &sum);
    says(&state, &["all expiries", "spot 100.40", "CallGam", "PutOI", "▶      100"]);
    press(&mut state, &[Key::Down]);
    says(&state, &["▶    102.5"]);
    press(&mut state, &[Key::End, Key::Char('t')]);
    says(&state, &["ACME 2026-11-27", "loading ACME"]);
    let one = ExposureScope::One(key("2026-11-27", "ACME"));
    assert!(targets(&state).iter().any(|target| target.ends_with("by=name&root=ACME&exp=2026%2D11%2D27&format=csv")));
    state.on_news(News::Exposure("ACME".to_owned(), ExposureScope::All, true, exposures(true)));
    says(&state, &["loading ACME"]);
    state.on_news(News::Exposure("ACME".to_owned(), one.clone(), true, exposures(true)));
    says(&state, &["▶      130", "GEX -"]);
    let none = b"strike,gex,call_gamma,missing\n,,,gex:no_open_interest\n";
    state.on_news(News::Exposure("ACME".to_owned(), one, false, metrics::exposures(none).unwrap()));
    says(&state, &["no exposure: no open interest"]);
    state.on_news(News::NoExposure("ACME".to_owned(), "start it with --show-quotes".to_owned()));
    says(&state, &["start it with --show-quotes"]);
}

#[test]
fn a_name_is_searched_and_opened() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('/')]);
    text(&mut state, "sp!x");
    assert_eq!(state.wants().search.as_deref(), Some("SPX"));
    state.on_news(News::Found("SP".to_owned(), vec![facts("SPY", "ok")]));
    press(&mut state, &[Key::Backspace]);
    state.on_news(News::Found("SP".to_owned(), vec![facts("SPX", "ok"), facts("SPY", "ok")]));
    press(&mut state, &[Key::Down, Key::Down, Key::Enter]);
    assert_eq!((state.name.as_deref(), &state.overlay), (Some("SPY"), &None));
    assert!(state.expiries.is_empty() && state.name_status == NameStatus::Unknown);
    // the day that was on is on again where the other name has it
    let days = expiries().into_iter().skip(2).collect();
    state.on_news(News::Expiries("SPY".to_owned(), days));
    assert_eq!(state.slice, Some(key("2026-12-04", "ACME")));
    // what was typed counts where nothing was found yet
    press(&mut state, &[Key::Char('s')]);
    text(&mut state, "brk.b");
    press(&mut state, &[Key::Enter]);
    assert_eq!(state.name.as_deref(), Some("BRK.B"));
    // what is listed for the letters before is a list to choose from, too
    press(&mut state, &[Key::Char('/'), Key::Char('s')]);
    state.on_news(News::Found("S".to_owned(), vec![facts("SHOP", "ok"), facts("SPX", "ok"), facts("SPY", "ok")]));
    text(&mut state, "py");
    press(&mut state, &[Key::Enter]);
    assert_eq!(state.name.as_deref(), Some("SPY"));
    press(&mut state, &[Key::Char('/'), Key::Enter, Key::Char('/')]);
    text(&mut state, "averyverylongname");
    let Some(Overlay::Search(search)) = &state.overlay else { panic!("{:?}", state.overlay) };
    assert_eq!(search.text.len(), 12);
    assert_eq!(state.on_key(Key::Ctrl('c')), Effect::Quit);
}

#[test]
fn without_a_name_the_largest_is_shown() {
    let mut state = State::new(String::new(), false, None, Vec::new());
    assert!(state.wants().any_name);
    state.on_news(News::AnyName(Vec::new()));
    assert_eq!(state.name, None);
    let large = NameFacts { contracts: 9_999, ..facts("BIG", "ok") };
    state.on_news(News::AnyName(vec![facts("A", "ok"), large, facts("Z", "ok")]));
    assert_eq!((state.name.as_deref(), state.wants().any_name), (Some("BIG"), false));
}

#[test]
fn the_watch_list_is_bounded_and_opens_names() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('w')]);
    assert_eq!(state.watch, ["SPX", "NEW"]);
    press(&mut state, &[Key::Char('w'), Key::Char('4'), Key::Down, Key::Down, Key::Down, Key::Up, Key::Enter]);
    assert_eq!((state.name.as_deref(), state.page), (Some("NEW"), Page::Chain));
    for i in 0..30 {
        state.open(format!("N{i}"));
        press(&mut state, &[Key::Char('w')]);
    }
    assert_eq!(state.watch.len(), WATCH_MOST);
    assert!(state.message.as_ref().unwrap().0.contains("full"));
    state.on_news(News::Watch(watched()));
    let mut rows = watched();
    rows[0].spot += 1.0;
    rows[1].spot -= 1.0;
    state.on_news(News::Watch(rows));
    assert_eq!(state.watch_rows.iter().map(|row| row.moved).collect::<Vec<_>>(), [1, -1]);
}

#[test]
fn columns_are_chosen_and_put_in_order() {
    let mut state = shown((80, 24));
    let names = |state: &State| state.columns().iter().map(|column| column.facts().name).collect::<Vec<_>>().join(" ");
    assert_eq!(names(&state), "svc_theo svc_vol delta gamma vega theta");
    press(&mut state, &[Key::Char('c'), Key::Down, Key::Char(' '), Key::Home, Key::ShiftDown, Key::Char('J')]);
    assert_eq!(names(&state), "delta gamma svc_theo vega theta");
    press(&mut state, &[Key::End, Key::Char('x'), Key::ShiftUp, Key::Esc]);
    assert_eq!(names(&state), "delta gamma svc_theo vega mid theta");
    assert_eq!(state.overlay, None);
    // a group stands in their place, and they come back
    press(&mut state, &[Key::Char('g'), Key::Char('g')]);
    assert_eq!(state.columns(), Column::of(Group::Extra));
    press(&mut state, &[Key::Char('g'); Group::VIEWED.len() - 1]);
    assert_eq!(names(&state), "delta gamma svc_theo vega mid theta");
    press(&mut state, &[Key::Char('c')]);
    for _ in 0..10 {
        press(&mut state, &[Key::Home, Key::Char(' ')]);
    }
    assert_eq!(state.columns().len(), 1, "one stays");
    press(&mut state, &[Key::Char('r'), Key::Esc]);
    assert_eq!(state.columns().len(), 6);
    for (key, shift) in [('.', 1), ('.', 2), (',', 1), (',', 0), (',', 0)] {
        press(&mut state, &[Key::Char(key)]);
        assert_eq!(state.shift, shift);
    }
}

#[test]
fn a_strike_is_copied_once_and_failures_are_said() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Char('y')]);
    let (number, pair) = state.wants().copy.unwrap();
    assert_eq!(pair, ["ACMEcall100", "ACMEput100"]);
    assert_eq!(state.on_news(News::Copied(number + 1, "late".to_owned())), Effect::None);
    assert_eq!(state.on_news(News::Copied(number, "rows".to_owned())), Effect::Copy("rows".to_owned()));
    assert_eq!(state.wants().copy, None);
    for news in [News::Offline("gone".to_owned()), News::Failed("no".to_owned()), News::Pending(Subject::Copy(9, pair))]
    {
        press(&mut state, &[Key::Char('y')]);
        state.message = None;
        state.on_news(news);
        assert!(state.wants().copy.is_none() && state.message.is_some());
    }
    state.advance(5_000);
    assert_eq!(state.message, None, "words do not stay");
}

#[test]
fn everything_about_a_strike_follows_the_row_that_is_on() {
    let mut state = shown((80, 24));
    press(&mut state, &[Key::Enter]);
    let pair = |state: &State| state.wants().detail.unwrap();
    assert_eq!(pair(&state)[0], "ACMEcall100");
    press(&mut state, &[Key::Down]);
    assert_eq!(pair(&state)[0], "ACMEcall102.5");
    press(&mut state, &[Key::Right]);
    state.on_news(News::Chain(chain(&key("2026-12-04", "ACME"), 0.0)));
    assert_eq!(pair(&state)[0], "ACMEcall102.5");
    press(&mut state, &[Key::Esc]);
    assert_eq!(state.wants().detail, None);
}

#[test]
fn every_key_of_the_table_does_something() {
    let pressed = |word: &str| match word {
        "Left" => vec![Key::Left],
        "Right" => vec![Key::Right],
        "Up" => vec![Key::Up],
        "Down" => vec![Key::Down],
        "PgUp" => vec![Key::PageUp],
        "PgDn" => vec![Key::PageDown],
        "Enter" => vec![Key::Enter],
        "Ctrl-L" => vec![Key::Ctrl('l')],
        "Ctrl-C" => vec![Key::Ctrl('c')],
        // at the money is where it begins, nearer than the first column there is none, and the first page is on
        "a" => vec![Key::Home, Key::Char('a')],
        "," => vec![Key::Char('.'), Key::Char(',')],
        "1" => vec![Key::Char('2'), Key::Char('1')],
        word => vec![Key::Char(word.chars().next().unwrap())],
    };
    for (_, keys) in KEYS {
        for word in keys.iter().flat_map(|(keys, _)| keys.split(' ')) {
            let mut state = shown((80, 24));
            if matches!(word, "[" | "]" | "n") {
                recorded(&mut state, "2026-11-20T15:42:00-05:00");
            }
            let keys = pressed(word);
            for key in &keys[..keys.len() - 1] {
                state.on_key(*key);
            }
            let before = state.clone();
            let effect = state.on_key(keys[keys.len() - 1]);
            assert!(effect != Effect::None || state != before, "{word}");
        }
    }
}

/// The viewer of a feed with recorded days, at the latest snapshot, that has heard of those around it.
fn recorded(state: &mut State, time: &str) {
    state.on_news(News::Daemon(DaemonFacts { feed: "history:/days".to_owned(), ..daemon() }));
    let of = |time: &str| Some(time.to_owned());
    let moments =
        Moments { time: of(time), previous: of("2026-11-20T15:41:00-05:00"), next: of("2026-11-20T15:43:00-05:00") };
    state.on_news(News::Moments("ACME".to_owned(), state.as_of.clone(), moments));
}

#[test]
fn past_snapshots_are_stepped_through_and_marked() {
    let text = |state: &State| screen(state, NO_COLOUR);
    let mut state = shown((120, 40));
    press(&mut state, &[Key::Char('[')]);
    assert!(state.as_of.is_none() && text(&state).contains("no past days"), "a feed of the present");
    assert!(!state.wants().moments && state.wants().requests().iter().all(|request| !request.target.contains("as_of")));

    recorded(&mut state, "2026-11-20T15:42:00-05:00");
    assert!(state.wants().moments && !text(&state).contains("PAST"));
    press(&mut state, &[Key::Char('[')]);
    assert_eq!(state.as_of.as_deref(), Some("2026-11-20T15:41:00-05:00"));
    assert!(text(&state).contains("PAST 2026-11-20 15:41:00"), "{}", text(&state));
    let asked = state.wants().requests();
    assert!(
        asked.len() >= 3 && asked.iter().all(|request| request.target.contains("as_of=2026%2D11%2D20T15%3A41")),
        "{asked:?}"
    );
    assert!(!asked.iter().any(|request| matches!(request.subject, Subject::Name(_))), "that is of the present");

    // what was asked about another moment changes nothing
    let late = Moments { next: Some("2030-01-01T10:00:00-05:00".to_owned()), ..Moments::default() };
    state.on_news(News::Moments("ACME".to_owned(), None, late));
    press(&mut state, &[Key::Char(']')]);
    assert_eq!(state.as_of.as_deref(), Some("2026-11-20T15:41:00-05:00"));
    recorded(&mut state, "2026-11-20T15:41:00-05:00");
    press(&mut state, &[Key::Char('p')]);
    assert!(state.overlay.is_none() && text(&state).contains("of the present"));
    press(&mut state, &[Key::Char('e')]);
    assert!(
        state
            .wants()
            .requests()
            .iter()
            .any(|request| request.target.starts_with("/l1/explain?") && request.target.contains("&as_of="))
    );
    press(&mut state, &[Key::Esc, Key::Char(']')]);
    assert_eq!(state.as_of.as_deref(), Some("2026-11-20T15:43:00-05:00"));

    state.on_news(News::NoMoment("no snapshot of ACME; nearest: 2026-11-19".to_owned()));
    assert!(text(&state).contains("nearest: 2026-11-19") && state.expiries.is_empty());
    press(&mut state, &[Key::Char('n')]);
    assert!(state.as_of.is_none() && !text(&state).contains("nearest") && !text(&state).contains("PAST"));
    state.on_news(News::Expiries("ACME".to_owned(), expiries()));
    assert_eq!(state.expiries.len(), 10);
}

#[test]
fn pages_of_text_are_asked_for_shown_and_scrolled() {
    let mut state = shown((80, 24));
    let pages = [(Key::Char('e'), "Explanation of"), (Key::Char('p'), "Positions"), (Key::Char('v'), "Profit of one")];
    for (key, title) in pages.into_iter().chain([(Key::Char('V'), "Profit of all")]) {
        press(&mut state, &[key]);
        let page = state.wants().text.unwrap();
        assert!(page.title().starts_with(title), "{title}");
        let lines = (0..100).map(|n| format!("line {n}")).collect();
        state.on_news(News::Text(page, lines));
        press(&mut state, &[Key::PageDown, Key::Down]);
        let text = drawn(&state, NO_COLOUR).content().iter().map(|cell| cell.symbol()).collect::<String>();
        assert!(text.contains(title) && text.contains("line 11 ") && !text.contains("line 10 "), "{title}");
        press(&mut state, &[Key::Esc]);
        assert_eq!((state.wants().text, &state.overlay), (None, &None));
    }
    // Enter leads from a strike to its details, and from there to the explanation
    press(&mut state, &[Key::Enter, Key::Enter]);
    assert!(matches!(&state.overlay, Some(Overlay::Text(_))));
}

#[test]
fn styles_without_colour_have_none() {
    let mut state = shown((120, 40));
    state.on_news(News::Offline("gone".to_owned()));
    for cell in drawn(&state, NO_COLOUR).content() {
        assert_eq!((cell.fg, cell.bg), (ratatui::style::Color::Reset, ratatui::style::Color::Reset));
    }
    let chosen =
        drawn(&state, NO_COLOUR).content().iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count();
    assert!(chosen > 0);
}

/// A folder of quotes of one name: 100 ± 20 at a volatility of a quarter.
fn market() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("greeksd-view-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("chains")).unwrap();
    let norm_cdf = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let mut rows = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask\n".to_owned();
    let (years, sd): (f64, f64) = (28.0 / 365.0, 0.25 * (28.0f64 / 365.0).sqrt());
    let (fwd, df) = (100.0 * (0.04 * years).exp(), (-0.04 * years).exp());
    for strike in (80..=120).step_by(5) {
        let k = f64::from(strike);
        let d1 = (fwd / k).ln() / sd + 0.5 * sd;
        for (right, phi) in [("call", 1.0), ("put", -1.0)] {
            let value = df * phi * (fwd * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.03).max(0.0), value + 0.03);
            writeln!(rows, "2026-11-20T15:42:00-05:00,ACME,100,ACME,2026-12-18,{right},{strike},{bid:.2},{ask:.2}")
                .unwrap();
        }
    }
    std::fs::write(folder.join("chains/acme.csv"), rows).unwrap();
    std::fs::write(folder.join("rates.csv"), "date,tenor_days,rate\n2026-11-20,365,0.04\n").unwrap();
    folder
}

/// Takes in what comes until the state is as wanted.
fn until(
    state: &mut State,
    fetcher: &Fetcher,
    comes: &Receiver<News>,
    what: &str,
    is_wanted: impl Fn(&State) -> bool,
) -> Effect {
    let began = Instant::now();
    loop {
        fetcher.want(state.wants());
        let news = comes.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{what}: nothing comes"));
        let effect = state.on_news(news);
        if is_wanted(state) {
            return effect;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{what}: not in two minutes");
    }
}

#[test]
fn a_service_within_the_process_is_looked_at_and_its_end_is_said() {
    let folder = market();
    let feed = format!("dir:{}", folder.display());
    let arguments =
        ["greeksd", "view", "acme", "--feed", &feed, "--", "--threads", "1", "--now", "2026-11-20T15:42:00-05:00"];
    let plan = match config::read(arguments.map(OsString::from), &|_| None).unwrap() {
        Invocation::View(plan) => plan,
        other => panic!("{other:?}"),
    };
    let (symbol, watch) = shim::view::names(&plan.args).unwrap();
    assert_eq!(symbol.as_deref(), Some("ACME"));
    let daemon = shim::view::start(plan.service.as_ref().unwrap()).unwrap();
    assert!(daemon.addresses().iter().all(|address| address.ip().is_loopback() && address.port() != 0));
    let (tell, comes) = channel();
    let every = Duration::from_millis(50);
    let base = shim::view::address(&daemon).unwrap();
    let fetcher = Fetcher::start(base, every, move |news| tell.send(news).is_ok()).unwrap();
    let mut state = State::new("here".to_owned(), true, symbol, watch);
    until(&mut state, &fetcher, &comes, "rows", |state| state.rows().is_some());
    let delta = |state: &State| state.row().unwrap().call.as_ref().unwrap().get(Column::named("delta").unwrap());
    assert!((0.4..0.6).contains(&delta(&state)), "{}", delta(&state));
    let Some(expiry) = state.expiry() else { panic!("no expiry") };
    assert!((expiry.atm_vol - 0.25).abs() < 0.01 && expiry.is_american && expiry.key.expiry == "2026-12-18");
    until(&mut state, &fetcher, &comes, "standing", |state| matches!(state.name_status, NameStatus::Served(_)));
    // its quotes are shown: the group is there
    state.group = Some(Group::Quote);
    let bid = |state: &State| state.row().unwrap().call.as_ref().unwrap().get(Column::named("bid").unwrap());
    until(&mut state, &fetcher, &comes, "quotes", |state| bid(state) > 1.0);
    press(&mut state, &[Key::Enter]);
    let is_whole = |state: &State| match &state.overlay {
        Some(Overlay::Detail(detail)) => detail.values.iter().all(Option::is_some),
        _ => false,
    };
    until(&mut state, &fetcher, &comes, "everything", is_whole);
    press(&mut state, &[Key::Esc, Key::Char('y')]);
    let copied = until(&mut state, &fetcher, &comes, "a copy", |state| state.copying.is_none());
    let Effect::Copy(csv) = copied else { panic!("{copied:?}") };
    assert!(csv.starts_with("underlying,root,expiry,strike,right,osym,") && csv.lines().count() == 3, "{csv}");
    press(&mut state, &[Key::Char('/')]);
    text(&mut state, "ac");
    let found = |state: &State| matches!(&state.overlay, Some(Overlay::Search(search)) if search.found.len() == 1);
    until(&mut state, &fetcher, &comes, "a search", found);
    press(&mut state, &[Key::Enter, Key::Char('4'), Key::Char('w')]);
    until(&mut state, &fetcher, &comes, "the watch list", |state| state.watch_rows.len() == 1);
    assert_eq!((state.watch_rows[0].symbol.as_str(), state.watch_rows[0].spot), ("ACME", 100.0));
    press(&mut state, &[Key::Char('1')]);
    state.open("NOPE".to_owned());
    until(&mut state, &fetcher, &comes, "a name that is not", |state| state.name_status == NameStatus::NotServed);
    state.open("ACME".to_owned());
    until(&mut state, &fetcher, &comes, "rows again", |state| state.rows().is_some());
    daemon.stop();
    until(&mut state, &fetcher, &comes, "its end", |state| state.offline.is_some());
    assert!(state.rows().is_some(), "what was known stays");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_daemon_that_does_not_answer_holds_nobody_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = ServerBase::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (tell, comes) = channel();
    let fetcher = Fetcher::start(base, Duration::from_millis(50), move |news| tell.send(news).is_ok()).unwrap();
    // it takes the connection and says nothing; what is wanted meanwhile is only noted
    let (silent, _) = listener.accept().unwrap();
    for i in 0..1_000 {
        fetcher.want(super::wants::Wants { name: Some(format!("N{i}")), ..Default::default() });
    }
    assert!(comes.try_recv().is_err());
    drop((silent, listener));
    assert!(matches!(comes.recv_timeout(Duration::from_secs(60)), Ok(News::Offline(_))));
    drop(fetcher);
    // the thread ends, and with it what it tells
    while comes.recv_timeout(Duration::from_secs(60)).is_ok() {}
}

/// Run by `tests/view/run.py` in a terminal, which looks at what is left of it.
#[test]
#[ignore = "needs a terminal"]
fn a_panic_leaves_the_terminal() {
    super::terminal::leave_on_panic();
    let mut screen = super::terminal::Screen::enter(NO_COLOUR).unwrap();
    let state = shown(screen.size().unwrap());
    screen.draw(&state).unwrap();
    panic!("a fault while drawing");
}
