//! Strategies over the simulated market, each against arithmetic by hand or an integral.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::scenario::{chains, desk, number, service_and_desk};
use crate::support::market::{Got, get, get_from};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::quotes::ChainQuotes;
use engine::strategy::{KnownStrategy, SpotDistribution};
use serde_json::Value;
use shim::app::Service;
use std::sync::Arc;

const CONDOR: &str = "+1 KO 12/18 66 P,-1 KO 12/18 70 P,-1 KO261218C00076000,1 KO    261218C00080000";

/// KO, XOM and SPX with a bid two cents below each value and an ask three above.
fn service_of(csv: &str) -> Service {
    let quoted = chains().iter().map(|chain| {
        let mut chain = Chain::clone(chain);
        let prices = chain.columns.get(Col::SvcTheo).iter().map(|value| [value - 0.02, value + 0.03]).collect();
        let times = vec![chain.valued_at; chain.strike_milli.len()];
        chain.quotes = Some(Box::new(ChainQuotes::new(prices, Vec::new(), times)));
        Arc::new(chain)
    });
    service_and_desk(desk(csv), Snapshot::new(1, quoted.collect(), vec![])).0
}

fn got(legs: &str, more: &str) -> Got {
    let legs = legs.replace('+', "%2B").replace(' ', "%20");
    get_from(&service_of("symbol,quantity\n"), &format!("/l1/strategy?legs={legs}{more}"))
}

fn strategy(legs: &str, more: &str) -> Value {
    let Got { status, body, .. } = got(legs, more);
    assert_eq!(status, 200, "{legs}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn numbers(of: &Value) -> Vec<f64> {
    of.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 2e-4, "{a} {b}");
}

fn ko() -> &'static Chain {
    &chains()[0]
}

#[test]
fn a_condor_is_what_it_is_by_hand() {
    let found = strategy(CONDOR, "");
    assert_eq!(
        (&found["strategy"], &found["side"], &found["entry"]),
        (&"iron condor".into(), &"credit".into(), &"mid".into())
    );
    let legs = found["legs"].as_array().unwrap();
    let each = |field: &str| legs.iter().map(|leg| number(leg, field)).collect::<Vec<_>>();
    assert_eq!(each("quantity"), [1.0, -1.0, -1.0, 1.0]);
    assert_eq!(legs[1]["osym"], "KO    261218P00070000");
    let net = |field: &str| each(field).iter().zip(each("quantity")).map(|(x, n)| 100.0 * x * n).sum::<f64>();
    // sold at bid and bought at ask costs more than the middle: five cents in two legs of each side
    for (field, wanted) in [
        ("mid", net("mid")),
        ("ask", net("mid") + 10.0),
        ("bid", net("mid") - 10.0),
        ("value", net("value")),
        ("delta", net("delta")),
        ("gamma", net("gamma")),
        ("vega", net("vega")),
        ("theta", net("theta")),
        ("rho", net("rho")),
    ] {
        near(number(&found["net"], field), wanted);
    }
    let credit = -number(&found, "cost");
    near(credit, -net("mid"));
    assert!(credit > 0.0);
    let even = numbers(&found["breakevens"]);
    near(even[0], 70.0 - credit / 100.0);
    near(even[1], 76.0 + credit / 100.0);
    assert_eq!(even.len(), 2);
    near(number(&found, "largest_gain"), credit);
    near(number(&found, "largest_loss"), credit - 400.0);
    for point in found["payoff"].as_array().unwrap() {
        let [s, profit] = numbers(point)[..] else { panic!("{point}") };
        let wings = (66.0 - s).max(0.0) - (70.0 - s).max(0.0) - (s - 76.0).max(0.0) + (s - 80.0).max(0.0);
        near(profit, 100.0 * wings + credit);
    }
    let natural = strategy(CONDOR, "&entry=ask");
    near(number(&natural, "cost"), 10.0 - credit);
}

/// The second difference of the curve's puts is the density; summed where the legs gain, it is the probability.
#[test]
fn probability_of_profit_is_the_integral_of_the_density() {
    let normal = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    for (legs, expiry) in [
        (CONDOR, "2026-12-18"),
        ("1 KO 12/18 70 C", "2026-12-18"),
        ("-1 KO 12/18 70 C,-1 KO 12/18 70 P", "2026-12-18"),
        ("100 KO,-1 KO 12/18 74 C", "2026-12-18"),
    ] {
        let found = strategy(legs, "");
        let slice = ko().slices.iter().find(|slice| slice.expiry.to_string() == expiry).unwrap();
        let spot = SpotDistribution::of(ko(), slice).unwrap();
        let root = (slice.days / 365.0).sqrt();
        let put = |k: f64| {
            let deviation = spot.vol(k) * root;
            let d1 = (slice.fwd_price / k).ln() / deviation + 0.5 * deviation;
            k * normal(deviation - d1) - slice.fwd_price * normal(-d1)
        };
        let mut points: Vec<Vec<f64>> = found["payoff"].as_array().unwrap().iter().map(numbers).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let profit = |s: f64| {
            let at = points.partition_point(|point| point[0] <= s).clamp(1, points.len() - 1);
            let (a, b) = (&points[at - 1], &points[at]);
            a[1] + (b[1] - a[1]) * (s - a[0]) / (b[0] - a[0])
        };
        let (step, mut sum, mut all) = (0.01, 0.0, 0.0);
        for n in 1000..20_000 {
            let k = f64::from(n) * step + 0.5 * step;
            let mass = (put(k + step) - 2.0 * put(k) + put(k - step)) / step;
            all += mass;
            sum += if profit(k) > 0.0 { mass } else { 0.0 };
        }
        assert!((all - 1.0).abs() < 1e-3, "{all}");
        let chance = number(&found, "profit_chance");
        assert!((chance - sum).abs() < 2e-3 && chance > 0.05 && chance < 0.95, "{legs}: {chance} {sum}");
    }
}

#[test]
fn shares_calendars_and_naked_legs_have_their_bounds() {
    let covered = strategy("100 KO,-1 KO 12/18 74 C", "&entry=value");
    let (spot, premium) = (number(&covered, "und_price"), number(&covered["legs"][1], "value"));
    assert_eq!(covered["strategy"], "covered call");
    near(numbers(&covered["breakevens"])[0], spot - premium);
    near(number(&covered, "largest_gain"), 100.0 * (74.0 - spot + premium));
    near(number(&covered, "largest_loss"), -100.0 * (spot - premium));
    near(number(&covered["net"], "delta"), 100.0 - 100.0 * number(&covered["legs"][1], "delta"));

    let naked = strategy("-1 KO 12/18 70 C,-1 KO 12/18 70 P", "");
    assert!(naked["strategy"] == "short straddle" && naked["largest_loss"].is_null() && naked["reason"].is_null());
    let long = strategy("2 KO 12/18 70 C", "");
    assert!(long["largest_gain"].is_null() && long["strategy"] == "long call");
    near(number(&long, "largest_loss"), -number(&long, "cost"));

    let later = ko().slices.iter().find(|slice| slice.expiry.to_string().as_str() > "2026-12-31").unwrap().expiry;
    let calendar = strategy(&format!("-1 KO 12/18 70 C,+1 KO {later} 70 C"), "&entry=value");
    assert_eq!((&calendar["strategy"], &calendar["expiry"]), (&"long call calendar".into(), &"2026-12-18".into()));
    let (cost, even) = (number(&calendar, "cost"), numbers(&calendar["breakevens"]));
    assert!(cost > 0.0 && even.len() == 2 && even[0] < 70.0 && even[1] > 70.0, "{calendar}");
    // far from the strike both are worth as much: the cost is lost, but for rates on the strike
    assert!((number(&calendar, "largest_loss") + cost).abs() < 0.3 * cost, "{calendar}");
    // at the strike the later call is worth what a scenario says
    let target =
        format!("/l1/scenario?osym=KO{}C00070000&at=2026-12-18&spot_unit=level&spot=70", later.strftime("%y%m%d"));
    let scenario: Vec<Value> = serde_json::from_str(&get_from(&service_of("symbol,quantity\n"), &target).body).unwrap();
    let at_strike = calendar["payoff"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers)
        .find(|point| (point[0] - 70.0).abs() < 1e-9)
        .unwrap();
    near(at_strike[1], 100.0 * number(&scenario[0], "value") - cost);

    let shares = strategy("-100 KO", "");
    assert!(shares["strategy"] == "short shares" && shares["profit_chance"].is_null() && shares["expiry"].is_null());
    assert!(shares["largest_loss"].is_null() && numbers(&shares["breakevens"]).len() == 1);
    // an index is written for its weekly root, too
    let spx = &chains()[1];
    let weekly = spx.slices.iter().find(|slice| slice.root.as_str() == "SPXW" && slice.days > 7.0).unwrap();
    let strike = |row: u32| f64::from(spx.strike_milli[row as usize]) / 1000.0;
    let [low, high] = [weekly.rows.start, weekly.rows.start + 4].map(strike);
    let date = weekly.expiry.strftime("%-m/%-d/%Y");
    let index = strategy(&format!("-1 SPX {date} {high} P,1 SPX {date} {low} P"), "");
    assert_eq!((&index["strategy"], &index["legs"][0]["root"]), (&"bull put vertical".into(), &"SPXW".into()));
}

#[test]
fn positions_of_a_name_count_from_what_was_paid() {
    let csv =
        "account,osym,symbol,quantity,price\na,KO261218C00070000,,-3,1.5\na,,KO,300,68\nb,KO251218P00070000,,1,1\n";
    let of = |more: &str| {
        let got = get_from(&service_of(csv), &format!("/l1/strategy?positions={more}"));
        assert_eq!(got.status, 200, "{}", got.body);
        serde_json::from_str::<Value>(&got.body).unwrap()
    };
    let found = of("*&underlying=KO");
    assert_eq!(
        (&found["strategy"], &found["entry"], found["missing"].as_u64()),
        (&"covered call".into(), &"paid".into(), Some(1))
    );
    near(number(&found, "cost"), 300.0 * 68.0 - 300.0 * 1.5);
    near(numbers(&found["breakevens"])[0], 66.5);
    near(number(&found, "largest_gain"), 300.0 * 3.5);
    assert!((0.0..1.0).contains(&number(&found, "profit_chance")));
    assert_eq!(of("a&underlying=KO&entry=mid")["entry"], "mid");
}

#[test]
fn legs_with_prices_count_from_them() {
    let found = strategy("100 KO,-1 KO 12/18 74 C", "&price=68,1.5");
    assert_eq!(found["entry"], "paid");
    near(number(&found, "cost"), 6650.0);
    near(numbers(&found["breakevens"])[0], 66.5);
    assert_eq!(strategy("100 KO,-1 KO 12/18 74 C", "&price=68,1.5&entry=mid")["entry"], "mid");
}

#[test]
fn a_contract_in_words_is_explained() {
    let service = service_of("symbol,quantity\n");
    let of = |osym: &str| get_from(&service, &format!("/l1/explain?osym={}", osym.replace(' ', "%20")));
    let contract = |osym: &str| {
        let got = of(osym);
        assert_eq!(got.status, 200, "{osym}: {}", got.body);
        serde_json::from_str::<Value>(&got.body).unwrap()["contract"].clone()
    };
    let wanted = contract("KO261218C00070000");
    for words in ["KO 12/18 70 C", "KO 2026-12-18 70 call", "ko 18dec26 70c", "KO    261218C00070000"] {
        assert_eq!(contract(words), wanted, "{words}");
    }
    let spx = &chains()[1];
    let weekly = spx.slices.iter().find(|slice| slice.root.as_str() == "SPXW" && slice.days > 7.0).unwrap();
    let strike = f64::from(spx.strike_milli[weekly.rows.start as usize]) / 1000.0;
    assert_eq!(contract(&format!("SPX {} {strike} P", weekly.expiry))["root"], "SPXW");
    for (osym, wanted) in [
        (
            "KO 13/18 70 C",
            "400 {\"error\":\"osym: not a contract such as SPY 12/18 712 C or SPY261218C00712000: KO 13/18",
        ),
        ("KO", "400 {\"error\":\"osym: not a contract"),
        ("KO 12/18 71.11 C", "404 {\"error\":\"no such contract is listed: KO261218C00071110\"}"),
    ] {
        let Got { status, body, .. } = of(osym);
        assert!(format!("{status} {body}").starts_with(wanted), "{osym}: {status} {body}");
    }
}

#[test]
fn every_known_strategy_is_proposed_about_the_money() {
    let service = service_of("symbol,quantity\n");
    let of = |name: &str, more: &str| {
        let target = format!("/l1/strategy?underlying=KO&strategy={}{more}", name.replace(' ', "%20"));
        get_from(&service, &target)
    };
    for name in KnownStrategy::names() {
        let got = of(name, "");
        assert_eq!(got.status, 200, "{name}: {}", got.body);
        let found: Value = serde_json::from_str(&got.body).unwrap();
        assert_eq!(found["strategy"], name, "{found}");
        assert!(number(&found["net"], "value").is_finite() && found["reason"].is_null(), "{found}");
    }
    let found: Value = serde_json::from_str(&of("iron condor", "&expiry=2026-12-18").body).unwrap();
    let strikes: Vec<f64> = found["legs"].as_array().unwrap().iter().map(|leg| number(leg, "strike")).collect();
    let spot = number(&found, "und_price");
    assert!(strikes.is_sorted() && strikes[1] < spot && spot < strikes[2], "{strikes:?} {spot}");
    assert_eq!(found["expiry"], "2026-12-18");
    let covered: Value = serde_json::from_str(&of("covered call", "").body).unwrap();
    assert!((number(&covered["legs"][0], "quantity") - 100.0).abs() < 1e-9, "{covered}");
    assert!(number(&covered["legs"][1], "strike") > spot, "{covered}");
    let got = of("long straddle", "&expiry=2026-12-19");
    let wanted = "KO: no contracts of 2026-12-19 with values for this strategy: long straddle";
    assert!(got.status == 404 && got.body.contains(wanted), "{}", got.body);
}

#[test]
fn every_format_has_the_tables() {
    let csv = got(CONDOR, "&format=csv").body;
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.starts_with("quantity,underlying,root,expiry,strike,right,osym,multiplier,bid,mid,ask,value"), "{csv}");
    let net = got(CONDOR, "&format=csv&rows=net").body;
    assert!(net.lines().nth(1).unwrap().starts_with("iron condor,KO,"), "{net}");
    assert!(got(CONDOR, "&format=ndjson&rows=payoff").body.starts_with("{\"spot\":0,\"profit\":-"));
    let page = got(CONDOR, "&format=html").body;
    assert!(page.contains("KO · iron condor") && page.contains("credit ") && page.contains("breakeven "), "{page}");
    for format in ["arrow", "parquet"] {
        let Got { status, content_type, body, .. } = got(CONDOR, &format!("&format={format}&rows=net"));
        assert!(status == 200 && content_type.contains(format) && body.len() > 500, "{format}");
    }
}

#[test]
fn shares_of_an_index_are_refused() {
    let service = service_of("symbol,quantity\n");
    let asked = [
        "/l1/strategy?legs=100%20SPX,-1%20SPX%2012/18%207300%20C",
        "/l1/strategy?legs=100%20SPXW",
        "/l1/strategy?strategy=covered%20call&underlying=SPX",
        "/l1/scenario?osym=100%20SPX&spot=1",
    ];
    for target in asked {
        let Got { status, body, .. } = get_from(&service, target);
        assert!(status == 400 && body.contains("an index has no shares"), "{target}: {status} {body}");
    }
    assert_eq!(get_from(&service, "/l1/strategy?strategy=iron%20condor&underlying=SPX").status, 200);
}

#[test]
fn legs_that_make_no_strategy_are_refused_in_plain_words() {
    let many = vec!["KO"; 101].join(",");
    for (legs, wanted) in [
        ("", "400 {\"error\":\"legs, positions or strategy is required\"}"),
        ("KO 12/18 70", "400 {\"error\":\"legs: not a leg such as -1 SPY 12/18 712 C"),
        ("KO,XOM", "400 {\"error\":\"legs are of one underlying"),
        ("1 KO 12/18 71.11 C", "404 {\"error\":\"KO 2026-12-18 71.11 C: not listed\"}"),
        ("1 KO 12/18/25 70 C", "404 {\"error\":\"KO 2025-12-18 70 C: expired\"}"),
        ("NOPE", "404 {\"error\":\"NOPE: not listed\"}"),
        (many.as_str(), "400 {\"error\":\"legs: at most 100\"}"),
    ] {
        let Got { status, body, .. } = got(legs, "");
        assert!(format!("{status} {body}").starts_with(wanted), "{legs}: {status} {body}");
    }
    let past = got("KO", "&as_of=2024-01-03");
    assert!(past.status == 400 && past.body.contains("history:DIR"), "{}", past.body);
    // an adjusted root, and values of before a restart
    assert!(get("/l1/strategy?legs=ACME1261218C00100000").body.contains("adjusted"));
    let restored = get("/l1/strategy?legs=1%20ACME%2012/18%20100%20C");
    assert_eq!(restored.status, 200, "{}", restored.body);
}
