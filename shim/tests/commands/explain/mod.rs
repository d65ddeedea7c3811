//! Explanations: they are of the served chain, their inputs reproduce the values, and they name the reasons of missing
//! ones.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and prints its figures")]

mod compare;

use crate::support::market;
use crate::support::market::{NOW, get_from, service};
use engine::explain::{Explanation, StrikeOutcome, ValueMethod, Warning, explain};
use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::snapshot::Snapshot;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::drop_reason::DropReason;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Right, Style};
use kernel::quality::Quality;
use serde_json::Value;
use sim::SimMarket;
use sim::symbols::{Name, well_known};
use sim::tier::Tier;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};
use tools::explain::document::{ExplainDocument, Surroundings};
use tools::explain::text::text;

/// The chains of some names of the simulated market, with quotes, at full quality.
pub(crate) fn computed(is_wanted: impl Fn(&Name) -> bool) -> Vec<Arc<Chain>> {
    let names: Vec<Name> = well_known().into_iter().filter(|name| is_wanted(name)).collect();
    let sim = SimMarket::with_universe(1, NOW, &names);
    let books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, NOW)).collect();
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())));
    let mut passes = Passes::new(2, |_| ()).unwrap();
    passes.keep_quotes();
    let at = sim.instant(NOW);
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
    let mut chains = Vec::new();
    for quality in [Quality::Preliminary, Quality::Full, Quality::Full] {
        let market = MarketData { calendar: &calendar, rates: &curves };
        chains = passes.run_to(quality, market, &work).into_iter().map(|done| done.chain).collect();
    }
    chains
}

/// A few American names: with dividends, without, and with an adjusted root.
static AMERICAN: LazyLock<Vec<Arc<Chain>>> =
    LazyLock::new(|| computed(|name| ["KO", "AAPL", "AMZN", "GME"].contains(&name.symbol.as_str())));

/// Every contract of a chain.
pub(crate) fn contracts(chain: &Chain) -> impl Iterator<Item = (ContractKey, Style, usize)> + '_ {
    chain.slices.iter().flat_map(move |slice| {
        slice.rows.clone().map(move |row| {
            let row = row as usize;
            let (strike_milli, right) = (chain.strike_milli[row], chain.right[row]);
            (ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right }, slice.style, row)
        })
    })
}

fn documented(chain: &Chain, contract: &ContractKey) -> (Explanation, ExplainDocument) {
    let found = explain(chain, contract).unwrap();
    let document = ExplainDocument::of(chain, &found, &Surroundings::default());
    (found, document)
}

/// The thirty lines of docs/explain.md.
fn lines_of_the_docs() -> String {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/explain.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let block = docs.split("```python\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert!(block.lines().count() <= 30, "{} lines", block.lines().count());
    block
}

/// Program around them: reads a document per line, and prints the greatest difference and the number of comparisons.
const DRIVER: &str = r#"
import json, sys
worst, n, numbers = (0.0, "", ""), 0, 0
for line in sys.stdin:
    x = json.loads(line)
    again = greeks(x)
    served = x["values"]["served"]
    assert set(again) == set(served), set(again) ^ set(served)
    for name, number in served.items():
        if name == "lambda":  # a quotient by a value that may be nothing: as what it stands for
            again[name], number = again[name] * again["svc_theo"], number * served["svc_theo"]
        worst = max(worst, (abs(again[name] - number) / max(1, abs(number)), name, x["contract"]["osym"]))
        numbers += 1
    n += 1
print(json.dumps([worst[0], worst[1], worst[2], n, numbers]))
"#;

#[test]
fn the_lines_of_the_docs_give_every_european_value_again() {
    let block = lines_of_the_docs();
    // no other tier lists European contracts
    let chains = computed(|name| name.tier == Tier::Index);
    let mut lines = Vec::new();
    let mut n = 0;
    for chain in &chains {
        for (contract, _, row) in contracts(chain).filter(|(_, style, _)| *style == Style::European) {
            let (_, mut document) = documented(chain, &contract);
            if chain.columns.get(Col::SvcTheo)[row].is_nan() {
                assert!(document.warnings.iter().any(|warning| warning.name == "no_value"), "{contract:?}");
                continue;
            }
            document.forward.strikes.clear();
            lines.extend(document.json());
            lines.push(b'\n');
            n += 1;
        }
    }
    assert!(n > 1000, "{n} European contracts");
    let Some(python) = ["python3", "python"].into_iter().find(|program| {
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    }) else {
        println!("no Python on this machine: the lines of the docs were not run");
        return;
    };
    let mut child = Command::new(python)
        .args(["-c", &format!("{block}{DRIVER}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&lines).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    println!("{said}");
    assert_eq!(said[3], n, "{said}");
    assert!(said[4].as_u64().unwrap() > 20 * n as u64, "{said}");
    assert!(said[0].as_f64().unwrap() < 1e-9, "{said}");
}

#[test]
fn an_explanation_says_what_is_served_and_says_it_again_when_it_is_read() {
    for chain in AMERICAN.iter() {
        for (contract, style, row) in contracts(chain).step_by(23) {
            let (found, document) = documented(chain, &contract);
            assert_eq!((found.row, style), (row, Style::American));
            let again: ExplainDocument = serde_json::from_slice(&document.json()).unwrap();
            assert_eq!(again, document);
            assert!(text(&document).contains(document.contract.osym.trim()));
            let slice = &chain.slices[found.slice];
            if slice.adjusted {
                assert_eq!(found.warnings.first(), Some(&Warning::AdjustedRoot));
                assert!(
                    document.values.served.values().all(Option::is_none) && document.early_exercise.method.is_none()
                );
                continue;
            }
            let served = document.values.served["delta"].unwrap();
            assert!((served - chain.columns.get(Col::Delta)[row]).abs() < 1e-15);
            let (fwd, basis) = (document.forward.price.unwrap(), found.basis.unwrap());
            assert!(
                (basis.terms.fwd(basis.s) / fwd - 1.0).abs() < 1e-12,
                "{contract:?}: the forward of its own inputs"
            );
            let sum: f64 = document.carry.dividends.iter().map(|dividend| dividend.amount).sum();
            assert!((sum - slice.divs).abs() < 1e-12, "{contract:?}");
            let quotes = chain.quotes.as_ref().unwrap();
            assert_eq!(document.quote.bid.is_some(), quotes.get(row, engine::store::quotes::QuoteNumber::Bid) > 0.0);
        }
    }
}

#[test]
fn schemes_agree_and_the_method_is_told() {
    let (mut methods, mut worst, mut n) = (Vec::new(), 0.0_f64, 0);
    for chain in AMERICAN.iter() {
        for (contract, _, row) in contracts(chain).step_by(13) {
            let (found, document) = documented(chain, &contract);
            let Some(values) = &found.values else { continue };
            let served = chain.columns.get(Col::SvcTheo)[row];
            let strike = f64::from(contract.strike_milli) / 1000.0;
            worst = worst.max((values.reference.value - served).abs() / strike);
            n += 1;
            assert!((values.fast.value - served).abs() < 2e-4 * strike, "{contract:?}: {} {served}", values.fast.value);
            assert!(values.european.value < values.reference.value + 1e-6 * strike, "{contract:?}");
            let premium = document.early_exercise.premium.unwrap();
            assert!((premium - (served - values.european.value)).abs() < 1e-12);
            let method = found.method.unwrap();
            if !methods.contains(&method) {
                methods.push(method);
            }
            if method == ValueMethod::ExercisedNow {
                let paid = (found.basis.as_ref().unwrap().s - strike) * contract.right.phi();
                assert!((served - paid).abs() < 1e-9 * strike, "{contract:?}: {served} is not what exercise pays");
            }
        }
    }
    println!("{n} contracts, reference and served differ by {worst:.1e} of the strike at most; {methods:?}");
    assert!(n > 100 && worst < 2e-4, "{n} {worst}");
    let wanted = [ValueMethod::NeverPays, ValueMethod::ExercisedNow, ValueMethod::NoDividends, ValueMethod::Dividends];
    assert!(wanted.iter().all(|method| methods.contains(method)), "{methods:?}");
}

#[test]
fn each_strike_has_a_vote_or_a_reason_and_the_votes_are_the_forward() {
    let mut unused = 0;
    for chain in AMERICAN.iter() {
        let mut seen = None;
        for (contract, ..) in contracts(chain).filter(|(contract, ..)| contract.right == Right::Call) {
            if seen.replace((contract.root, contract.expiry)) == Some((contract.root, contract.expiry)) {
                continue;
            }
            let found = explain(chain, &contract).unwrap();
            let slice = &chain.slices[found.slice];
            if slice.adjusted {
                continue;
            }
            let voted =
                |outcome: &StrikeOutcome| if let StrikeOutcome::Voted(vote) = outcome { Some(*vote) } else { None };
            let votes: Vec<_> = found.strikes.iter().filter_map(|strike| voted(&strike.outcome)).collect();
            unused += found.strikes.len() - votes.len();
            assert!(votes.len() >= found.parity.pairs as usize, "{contract:?}");
            if votes.is_empty() {
                assert!(found.parity.pairs == 0 && found.warnings.contains(&Warning::NoPair), "{contract:?}");
                continue;
            }
            let share: f64 = votes.iter().map(|vote| vote.share).sum();
            assert!((share - 1.0).abs() < 1e-9, "{contract:?}: {share}");
            let mean: f64 = votes.iter().map(|vote| vote.share * vote.fwd).sum();
            assert!((mean - found.parity.fwd).abs() < 3.0 * found.parity.error + 1e-3 * mean, "{contract:?}: {mean}");
            // what the others make likely moves it by its error, not by more
            let basis = found.basis.unwrap();
            let apart = (found.parity.fwd - slice.fwd_price).abs() / found.parity.error.max(basis.fwd_error);
            assert!(apart < 6.0 || found.warnings.contains(&Warning::ForwardOutvoted), "{contract:?}: {apart}");
        }
    }
    assert!(unused > 50, "{unused} strikes without a vote");
}

/// One name of the simulated market with changed quotes.
fn changed(change: impl Fn(&mut Book)) -> Arc<Chain> {
    let names: Vec<_> = well_known().into_iter().filter(|name| name.symbol.as_str() == "KO").collect();
    let sim = SimMarket::with_universe(1, NOW, &names);
    let mut book = sim.book(0, NOW).unwrap();
    change(&mut book);
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())));
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let market = MarketData { calendar: &calendar, rates: &curves };
    passes.run_to(Quality::Preliminary, market, &[(&book, sim.instant(NOW))]).remove(0).chain
}

/// The contract in the middle of a slice, and its row there.
fn middle(book: &Book, slice: usize) -> usize {
    let of = &book.slices[slice];
    let near = |row: &usize| (f64::from(of.strike_milli[*row]) / 1000.0 - book.spot).abs();
    (0..of.strike_milli.len()).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap()
}

#[test]
fn warnings_say_what_is_wrong() {
    let slice_of = |book: &Book| book.slices.iter().position(|s| !s.adjusted && s.rows() > 40).unwrap();
    let warned = |change: &dyn Fn(&mut Book, usize, usize)| {
        let place = std::cell::Cell::new((0, 0, None));
        let chain = changed(|book| {
            let slice = slice_of(book);
            let row = middle(book, slice);
            change(book, slice, row);
            let of = &book.slices[slice];
            let (strike_milli, right) = (of.strike_milli[row], of.right[row]);
            place.set((slice, row, Some(ContractKey { root: of.root, expiry: of.expiry, strike_milli, right })));
        });
        explain(&chain, &place.get().2.unwrap()).unwrap().warnings
    };
    let plain = warned(&|_, _, _| ());
    assert!(plain.contains(&Warning::Preliminary), "{plain:?}");
    assert!(!plain.contains(&Warning::NoPair) && !plain.contains(&Warning::Quote(DropReason::Crossed)), "{plain:?}");
    let crossed = warned(&|book, slice, row| {
        let of = &mut book.slices[slice];
        (of.bid[row], of.ask[row]) = (of.ask[row] + 1.0, of.bid[row]);
    });
    assert!(crossed.contains(&Warning::Quote(DropReason::Crossed)), "{crossed:?}");
    let old = warned(&|book, slice, row| {
        book.slices[slice].ts[row] -= jiff::SignedDuration::from_hours(1);
    });
    assert!(old.contains(&Warning::Quote(DropReason::Stale)), "{old:?}");
    let alone = warned(&|book, slice, _| book.slices[slice].bid.fill(f64::NAN));
    assert!(alone.contains(&Warning::NoPair) && alone.contains(&Warning::Quote(DropReason::NoBid)), "{alone:?}");
    // quotes of another moment than the price, too wide to put the price in doubt
    let shifted = warned(&|book, _, _| {
        book.spot *= 1.003;
        for of in &mut book.slices {
            of.bid.iter_mut().for_each(|bid| *bid = (*bid - 0.1).max(0.0));
            of.ask.iter_mut().for_each(|ask| *ask += 0.1);
        }
    });
    let is_shifted = |all: &[Warning]| all.contains(&Warning::SpotShifted) && !all.contains(&Warning::SpotOff);
    assert!(is_shifted(&shifted) && !is_shifted(&plain), "{shifted:?}");
    let projected = warned(&|book, slice, _| {
        let expiry = book.slices[slice].expiry;
        book.dividends = vec![(expiry.yesterday().unwrap(), 0.5)];
        book.projected_from = Some(expiry.yesterday().unwrap());
    });
    assert!(projected.contains(&Warning::ProjectedDividends), "{projected:?}");
}

#[test]
fn the_endpoint_answers_and_refuses() {
    let service = service(Snapshot::new(7, AMERICAN.clone(), Vec::new()));
    let (contract, ..) = contracts(&AMERICAN[0]).nth(40).unwrap();
    let mut osi = [0; kernel::contract::osi::OSI_LEN];
    let n = contract.write_compact(&mut osi);
    let symbol = std::str::from_utf8(&osi[..n]).unwrap();
    let got = get_from(&service, &format!("/l1/explain?osym={symbol}"));
    assert_eq!((got.status, got.content_type), (200, "application/json"));
    let document: ExplainDocument = serde_json::from_str(&got.body).unwrap();
    assert_eq!((document.market.snapshot, document.contract.osym.replace(' ', "")), (7, symbol.to_owned()));
    let got = get_from(&service, &format!("/l1/explain?osym={symbol}&format=text"));
    assert!(got.status == 200 && got.body.contains("forward") && got.body.contains("svc_theo"), "{}", got.body);
    for (query, status, words) in [
        ("", 400, "osym is required"),
        ("?osym=AAPL", 400, "osym"),
        ("?osym=AAPL261218C00000001", 404, "no such contract"),
        ("?osym=QQQQ261218C00100000", 404, "no such contract"),
        ("?osym=AAPL261218C00100000&colour=red", 400, "unknown parameter: colour"),
        ("?osym=AAPL261218C00100000&format=xml", 400, "format"),
    ] {
        let got = get_from(&service, &format!("/l1/explain{query}"));
        assert!(got.status == status && got.body.contains(words), "{query}: {} {}", got.status, got.body);
    }
}

#[test]
fn a_chain_that_was_not_computed_here_has_what_it_says_itself() {
    let (market, _) = (market::market(), ());
    let service = service(market);
    let got = get_from(&service, "/l1/explain?osym=ACME261218C00100000");
    assert_eq!(got.status, 200, "{}", got.body);
    let document: ExplainDocument = serde_json::from_str(&got.body).unwrap();
    assert!(document.warnings.iter().any(|warning| warning.name == "no_evidence"), "{:?}", document.warnings);
    assert!(document.values.served["delta"].is_some() && document.values.reference.is_empty());
    assert!(document.quote.bid.is_none() && !document.quote.shown);
}

/// The command, of a daemon and of a feed.
#[cfg(unix)]
mod command {
    use crate::support::daemon::{Daemon, chain, folder, remove};
    use serde_json::Value;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::{Command, Output};
    use tools::explain::document::ExplainDocument;

    fn explained(arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
        command.arg("explain").args(arguments).env_clear().output().unwrap()
    }

    fn document(arguments: &[&str]) -> ExplainDocument {
        let output = explained(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A document whose every text has what would set the title of a terminal.
    fn hostile(document: Value) -> Value {
        match document {
            Value::String(text) => Value::String(format!("{text}\u{1b}]0;title\u{7}")),
            Value::Array(all) => all.into_iter().map(hostile).collect(),
            Value::Object(all) => all.into_iter().map(|(name, value)| (name, hostile(value))).collect(),
            other => other,
        }
    }

    /// The address of a server that answers one request with a document.
    fn answer_once(document: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let _ = client.read(&mut head).unwrap();
            let length = document.len();
            write!(client, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{document}")
                .unwrap();
        });
        format!("http://{address}")
    }

    #[test]
    fn a_daemon_and_a_feed_say_the_same() {
        let market = folder("explain", &chain(100.0));
        let feed = format!("dir:{}", market.display());
        let mut daemon = Daemon::start(&feed, &["--threads", "1"]);
        daemon.wait("the market", |health| health["pending"] == 0 && health["preliminary"].as_u64() == Some(0));
        let (url, osym) = (format!("http://{}", daemon.address), "ACME261218C00105000");
        let of_daemon = document(&[osym, "--url", &url]);
        let of_feed = document(&[osym, "--feed", &feed]);
        assert_eq!(of_daemon.contract, of_feed.contract);
        for from in [["--url", url.as_str()], ["--feed", feed.as_str()]] {
            assert_eq!(document(&["ACME 12/18 105 C", from[0], from[1]]).contract, of_feed.contract);
        }
        // a thread reads recorded days: the command waits for it
        let of_days = document(&[osym, "--feed", &format!("history:{}", market.display())]);
        assert_eq!(of_days.contract.osym, of_feed.contract.osym);
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-6;
        assert!(near(of_daemon.forward.price, of_feed.forward.price));
        assert!(near(of_daemon.values.served["delta"], of_feed.values.served["delta"]));
        assert!(!of_daemon.quote.shown && of_daemon.quote.bid.is_none() && of_daemon.quote.age_s.is_some());
        assert!(of_feed.quote.shown && of_feed.quote.bid.is_some(), "a feed of one's own is shown");
        let used = of_daemon.forward.strikes.iter().filter(|strike| strike.used).count();
        assert!((3..=9).contains(&used), "{used} of 9 strikes");
        let row = daemon.rows(&format!("/l1/greeks?osym={osym}&greeks=all")).remove(0);
        let shown = |name: &str| row[name].as_f64().unwrap();
        assert!((shown("delta") - of_daemon.values.served["delta"].unwrap()).abs() < 1e-6, "{row}");
        assert!((shown("fwd_price") - of_daemon.forward.price.unwrap()).abs() < 1e-6, "{row}");
        let text = explained(&[osym, "--url", &url]);
        assert!(String::from_utf8_lossy(&text.stdout).contains("early ex."), "{text:?}");
        for (arguments, words) in [
            (vec!["ACME"], "not a contract such as"),
            (vec!["ACME261218C00106000", "--url", url.as_str()], "no contract"),
            (vec![osym, "--url", "http://127.0.0.1:1"], "is a daemon running there?"),
            (vec![osym, "--url", "nowhere"], "expected http://"),
            (vec!["ZZZZ261218C00106000", "--feed", feed.as_str()], "lists no contract of ZZZZ"),
            (vec!["ACME261218C00106000", "--feed", feed.as_str()], "does not list that contract"),
            (vec![osym, "--feed", "sum"], "feed sum"),
        ] {
            let output = explained(&arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains(words), "{arguments:?}: {said}");
        }
        let body: Value = serde_json::from_str(&daemon.get(&format!("/l1/explain?osym={osym}")).1).unwrap();
        assert_eq!(body["contract"]["osym"], "ACME  261218C00105000");
        daemon.stop();
        remove(&market);
        let url = answer_once(hostile(body).to_string());
        let output = explained(&[osym, "--url", &url]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("]0;title"), "{text:?} {:?}", output.stderr);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
