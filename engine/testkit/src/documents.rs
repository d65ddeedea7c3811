//! Vendors' documents written from quotes, in the layouts that the vendors document, with numbers that nobody reads in
//! their places: what readers are tested and timed on.

use engine::store::book::Book;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{Right, Symbol};
use kernel::contract::{osi::OSI_LEN, strike_of};
use kernel::records::{Activity, QuoteRecord, quoted};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The quotes of one underlying.
#[derive(Clone, Debug)]
pub struct Quoted {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Price of the underlying, in hundredths or finer.
    pub spot: f64,
    /// The latest time of a quote.
    pub ts: Timestamp,
    /// Every contract once.
    pub quotes: Vec<QuoteRecord>,
}

impl Quoted {
    /// The numbers of a book; sizes are invented.
    #[must_use]
    pub fn of(book: &Book) -> Self {
        let mut quotes = Vec::new();
        for slice in &book.slices {
            for row in 0..slice.rows() {
                let contract = kernel::contract::ContractKey {
                    root: slice.root,
                    expiry: slice.expiry,
                    strike_milli: slice.strike_milli[row],
                    right: slice.right[row],
                };
                let size = |price: f64| if price > 0.0 { f64::from(1 + contract.strike_milli % 97) } else { 0.0 };
                quotes.push(QuoteRecord {
                    ts: whole_millis(slice.ts[row]),
                    underlying: book.underlying,
                    contract,
                    bid: slice.bid[row],
                    ask: slice.ask[row],
                    bid_size: size(slice.bid[row]),
                    ask_size: size(slice.ask[row]),
                    activity: Activity::default(),
                });
            }
        }
        let latest = quotes.iter().map(|quote| quote.ts).max().unwrap_or(book.ts);
        Self { underlying: book.underlying, spot: (book.spot * 100.0).round() / 100.0, ts: latest, quotes }
    }

    /// Cboe's file. Its quotes have no times: fifteen minutes before the file, which is made in whole seconds.
    #[must_use]
    pub fn cboe(&self) -> String {
        let made = in_zone(self.ts + SignedDuration::from_mins(15), &TimeZone::UTC, ' ');
        let traded = in_zone(self.ts - SignedDuration::from_mins(1), &eastern(), 'T');
        let mut out = format!("{{\"timestamp\": \"{}\", \"data\": {{\"options\": [", &made[..19]);
        for (i, q) in self.quotes.iter().enumerate() {
            let (bid, ask) = (or_zero(q.bid), or_zero(q.ask));
            let noise = noise(q);
            write!(
                out,
                "{}{{\"option\": \"{}\", \"bid\": {bid:?}, \"bid_size\": {:?}, \"ask\": {ask:?}, \"ask_size\": {:?}, \
                 \"iv\": {noise:.4}, \"open_interest\": {:.1}, \"volume\": {:.1}, \"delta\": {:.4}, \"gamma\": {:.4}, \
                 \"vega\": {:.4}, \"theta\": -{:.4}, \"rho\": {:.4}, \"theo\": {:.4}, \"change\": 0.0, \"open\": \
                 {:.2}, \"high\": {:.2}, \"low\": {:.2}, \"tick\": \"down\", \"last_trade_price\": {:.2}, \
                 \"last_trade_time\": \"{}\", \"percent_change\": 0.0, \"prev_day_close\": {:.13}}}",
                if i == 0 { "" } else { ", " },
                compact(q),
                q.bid_size,
                q.ask_size,
                (noise * 4000.0).floor(),
                (noise * 300.0).floor(),
                noise * 0.9,
                noise / 10.0,
                noise * 2.0,
                noise / 5.0,
                noise * 3.0,
                ask * 0.99,
                bid * 1.1,
                bid * 1.2,
                bid * 0.9,
                bid * 1.01,
                &traded[..19],
                bid * 1.003,
            )
            .unwrap();
        }
        let (name, spot) = (self.underlying, self.spot);
        write!(
            out,
            "], \"symbol\": \"{name}\", \"security_type\": \"stock\", \"exchange_id\": 3, \"current_price\": {spot:?}, \
             \"price_change\": 1.75, \"bid\": {:.2}, \"ask\": {:.2}, \"iv30\": 38.981, \"seqno\": 45770655729, \
             \"last_trade_time\": \"{}\", \"tick\": \"up\"}}, \"symbol\": \"{name}\"}}",
            spot - 0.01,
            spot + 0.01,
            &traded[..19],
        )
        .unwrap();
        out
    }

    /// ThetaData's option quotes as csv.
    #[must_use]
    pub fn thetadata_csv(&self) -> String {
        let mut out = "timestamp,symbol,expiration,strike,right,bid_size,bid_exchange,bid,bid_condition,ask_size,\
                       ask_exchange,ask,ask_condition\n"
            .to_owned();
        let zone = eastern();
        for q in &self.quotes {
            let (bid, ask) = (or_zero(q.bid), or_zero(q.ask));
            let (time, strike, right) = (in_zone(q.ts, &zone, 'T'), strike(q), word(q).to_uppercase());
            writeln!(
                out,
                "{time},{},{},{strike:.3},{right},{},5,{bid},50,{},5,{ask},50",
                q.contract.root, q.contract.expiry, q.bid_size, q.ask_size
            )
            .unwrap();
        }
        out
    }

    /// ThetaData's option quotes as one object a line.
    #[must_use]
    pub fn thetadata_lines(&self) -> String {
        let (mut out, zone) = (String::new(), eastern());
        for q in &self.quotes {
            let (bid, ask) = (or_zero(q.bid), or_zero(q.ask));
            let (time, strike, right) = (in_zone(q.ts, &zone, 'T'), strike(q), word(q).to_uppercase());
            writeln!(
                out,
                "{{\"timestamp\":\"{time}\",\"symbol\":\"{}\",\"expiration\":\"{}\",\"strike\":{strike:.3},\"right\":\
                 \"{right}\",\"bid_size\":{},\"bid_exchange\":5,\"bid\":{bid},\"bid_condition\":50,\"ask_size\":{},\
                 \"ask_exchange\":5,\"ask\":{ask},\"ask_condition\":50}}",
                q.contract.root, q.contract.expiry, q.bid_size, q.ask_size
            )
            .unwrap();
        }
        out
    }

    /// Tradier's chain: of one expiration there, of all here.
    #[must_use]
    pub fn tradier(&self) -> String {
        let mut out = "{\"options\":{\"option\":[".to_owned();
        for (i, q) in self.quotes.iter().enumerate() {
            let (bid, ask, noise) = (or_zero(q.bid), or_zero(q.ask), noise(q));
            let (strike, expiry, right) = (strike(q), q.contract.expiry, word(q));
            let millis = q.ts.as_millisecond();
            write!(
                out,
                "{}{{\"symbol\":\"{}\",\"description\":\"{} {expiry} ${strike:.2} {right}\",\"exch\":\"Z\",\"type\":\
                 \"option\",\"last\":{:.2},\"change\":0.0,\"volume\":{:.0},\"open\":null,\"high\":null,\"low\":null,\
                 \"close\":null,\"bid\":{bid:?},\"ask\":{ask:?},\"underlying\":\"{}\",\"strike\":{strike:?},\
                 \"greeks\":{{\"delta\":{:.6},\"gamma\":{:.6},\"theta\":-{:.6},\"vega\":{:.6},\"rho\":{:.6},\"phi\":\
                 -{:.6},\"bid_iv\":{:.6},\"mid_iv\":{:.6},\"ask_iv\":{:.6},\"smv_vol\":{:.3},\"updated_at\":\
                 \"2026-11-20 20:00:00\"}},\"change_percentage\":0.0,\"average_volume\":0,\"last_volume\":2,\
                 \"trade_date\":{},\"prevclose\":{:.2},\"week_52_high\":0.0,\"week_52_low\":0.0,\"bidsize\":{},\
                 \"bidexch\":\"C\",\"bid_date\":{},\"asksize\":{},\"askexch\":\"N\",\"ask_date\":{millis},\
                 \"open_interest\":{:.0},\"contract_size\":100,\"expiration_date\":\"{expiry}\",\"expiration_type\":\
                 \"standard\",\"option_type\":\"{right}\",\"root_symbol\":\"{}\"}}",
                if i == 0 { "" } else { "," },
                compact(q),
                self.underlying,
                bid * 1.01,
                noise * 300.0,
                self.underlying.as_str().replace('.', "/"),
                noise,
                noise / 9.0,
                noise / 3.0,
                noise / 2.0,
                noise / 4.0,
                noise / 5.0,
                noise * 0.98,
                noise,
                noise * 1.02,
                noise,
                millis - 60_000,
                bid,
                q.bid_size,
                millis - 500,
                q.ask_size,
                noise * 4000.0,
                q.contract.root,
            )
            .unwrap();
        }
        out + "]}}"
    }

    /// Schwab's chain: of one expiration there, of all here.
    #[must_use]
    pub fn schwab(&self) -> String {
        let rights = [(Right::Call, "call"), (Right::Put, "put")].map(|(right, word)| {
            let mut strikes: BTreeMap<_, Vec<String>> = BTreeMap::new();
            for q in self.quotes.iter().filter(|q| q.contract.right == right) {
                let (bid, ask, noise, millis) = (or_zero(q.bid), or_zero(q.ask), noise(q), q.ts.as_millisecond());
                let mut padded = [0; OSI_LEN];
                q.contract.write_padded(&mut padded);
                let symbol = core::str::from_utf8(&padded).unwrap();
                let (strike, expiry, root) = (strike(q), q.contract.expiry, q.contract.root);
                strikes.entry((expiry, q.contract.strike_milli)).or_default().push(format!(
                    "{{\"putCall\":\"{}\",\"symbol\":\"{symbol}\",\"description\":\"{root} {expiry} {strike:.2}\",\
                     \"exchangeName\":\"OPR\",\"bid\":{bid:?},\"ask\":{ask:?},\"last\":{bid:.2},\"mark\":{:.3},\
                     \"bidSize\":{},\"askSize\":{},\"bidAskSize\":\"{}X{}\",\"totalVolume\":{:.0},\
                     \"tradeTimeInLong\":{},\"quoteTimeInLong\":{millis},\"volatility\":\"NaN\",\"delta\":{noise:.3},\
                     \"openInterest\":{:.0},\"strikePrice\":{strike:?},\"expirationDate\":\"{expiry}T20:00:00.000+00:00\",\
                     \"multiplier\":100.0,\"settlementType\":\"P\",\"optionRoot\":\"{root}\",\"nonStandard\":false,\
                     \"mini\":false}}",
                    word.to_uppercase(),
                    (bid + ask) / 2.0,
                    q.bid_size,
                    q.ask_size,
                    q.bid_size,
                    q.ask_size,
                    noise * 300.0,
                    millis - 60_000,
                    noise * 4000.0,
                ));
            }
            let mut expiries: BTreeMap<_, Vec<String>> = BTreeMap::new();
            for ((expiry, milli), contracts) in strikes {
                let strike = strike_of(milli);
                expiries.entry(expiry).or_default().push(format!("\"{strike:?}\":[{}]", contracts.join(",")));
            }
            let expiries = expiries.iter().map(|(expiry, strikes)| format!("\"{expiry}:28\":{{{}}}", strikes.join(",")));
            format!("\"{word}ExpDateMap\":{{{}}}", expiries.collect::<Vec<_>>().join(","))
        });
        format!(
            "{{\"symbol\":\"{}\",\"status\":\"SUCCESS\",\"underlying\":null,\"isDelayed\":false,\
             \"isChainTruncated\":false,\"underlyingPrice\":{:.2},{}}}",
            self.underlying.as_str().replace('.', "/"),
            self.spot,
            rights.join(",")
        )
    }

    /// A page of Massive's snapshot: of 250 contracts there, of all here.
    #[must_use]
    pub fn massive(&self) -> String {
        let mut out = "{\"request_id\":\"104d9b901d0c9e81d284cb8b41c5cdd3\",\"results\":[".to_owned();
        let (nanos, spot, name) = (self.ts.as_nanosecond(), self.spot, self.underlying);
        for (i, q) in self.quotes.iter().enumerate() {
            let (bid, ask, noise) = (or_zero(q.bid), or_zero(q.ask), noise(q));
            write!(
                out,
                "{}{{\"break_even_price\":{:.3},\"day\":{{\"change\":{:.16},\"change_percent\":{:.15},\"close\":{:.2},\
                 \"high\":{:.2},\"last_updated\":{nanos},\"low\":{:.2},\"open\":{:.2},\"previous_close\":{:.2},\
                 \"volume\":8,\"vwap\":{:.4}}},\"details\":{{\"contract_type\":\"{}\",\"exercise_style\":\"american\",\
                 \"expiration_date\":\"{}\",\"shares_per_contract\":100,\"strike_price\":{},\"ticker\":\"O:{}\"}},\
                 \"greeks\":{{\"delta\":{:.16},\"gamma\":{:.18},\"theta\":-{:.17},\"vega\":{:.16}}},\
                 \"implied_volatility\":{:.16},\"last_quote\":{{\"ask\":{ask},\"ask_size\":{},\"bid\":{bid},\
                 \"bid_size\":{},\"last_updated\":{},\"midpoint\":{:.3},\"timeframe\":\"REAL-TIME\"}},\"last_trade\":\
                 {{\"price\":{:.2},\"sip_timestamp\":{nanos},\"size\":1,\"conditions\":[209],\"exchange\":309,\
                 \"timeframe\":\"REAL-TIME\"}},\"open_interest\":{:.0},\"underlying_asset\":{{\
                 \"change_to_break_even\":{:.14},\"last_updated\":{nanos},\"price\":{spot},\"ticker\":\"{name}\",\
                 \"timeframe\":\"REAL-TIME\"}}}}",
                if i == 0 { "" } else { "," },
                strike(q) + ask,
                -noise,
                -noise * 7.0,
                bid,
                bid * 1.1,
                bid * 0.9,
                bid,
                bid,
                bid * 1.01,
                word(q),
                q.contract.expiry,
                strike(q),
                compact(q),
                noise,
                noise / 100.0,
                noise / 30.0,
                noise / 2.0,
                noise,
                q.ask_size,
                q.bid_size,
                q.ts.as_nanosecond(),
                (bid + ask) / 2.0,
                bid,
                noise * 4000.0,
                noise * 20.0,
            )
            .unwrap();
        }
        out + "],\"status\":\"OK\"}"
    }

    /// A page of Alpaca's snapshot: of 1,000 contracts there, of all here.
    #[must_use]
    pub fn alpaca(&self) -> String {
        let mut out = "{\"next_page_token\":null,\"snapshots\":{".to_owned();
        for (i, q) in self.quotes.iter().enumerate() {
            let (bid, ask, noise) = (or_zero(q.bid), or_zero(q.ask), noise(q));
            write!(
                out,
                "{}\"{}\":{{\"dailyBar\":{{\"c\":{bid:.2},\"h\":{bid:.2},\"l\":{bid:.2},\"n\":3,\"o\":{bid:.2},\"t\":\
                 \"2026-11-20T05:00:00Z\",\"v\":3,\"vw\":{bid:.6}}},\"greeks\":{{\"delta\":{:.4},\"gamma\":{:.4},\
                 \"rho\":{:.4},\"theta\":-{:.4},\"vega\":{:.4}}},\"impliedVolatility\":{:.4},\"latestQuote\":{{\"ap\":\
                 {ask},\"as\":{},\"ax\":\"C\",\"bp\":{bid},\"bs\":{},\"bx\":\"N\",\"c\":\"A\",\"t\":\"{}\"}},\
                 \"latestTrade\":{{\"c\":\"a\",\"p\":{bid:.2},\"s\":1,\"t\":\"2026-11-20T19:59:59.1Z\",\"x\":\"D\"}}}}",
                if i == 0 { "" } else { "," },
                compact(q),
                noise,
                noise / 9.0,
                noise / 3.0,
                noise / 4.0,
                noise / 2.0,
                noise,
                q.ask_size,
                q.bid_size,
                q.ts,
            )
            .unwrap();
        }
        out + "}}"
    }

    /// Databento's file of one-second quotes, version 3, every contract `times` times.
    #[must_use]
    pub fn databento(&self, times: u32) -> Vec<u8> {
        let symbol = |text: &str| {
            let mut out = text.as_bytes().to_vec();
            out.resize(71, 0);
            out
        };
        let mut body = b"OPRA.PILLAR\0\0\0\0\0".to_vec();
        body.extend(15u16.to_le_bytes());
        body.extend([0; 24]);
        body.extend([1, 0, 0, 71, 0]);
        body.extend([0; 53 + 4 + 12]);
        body.extend(u32::try_from(self.quotes.len()).unwrap().to_le_bytes());
        let number = |i: usize| u32::try_from(i).unwrap() + 16_000_000;
        for (i, q) in self.quotes.iter().enumerate() {
            let mut padded = [0; OSI_LEN];
            q.contract.write_padded(&mut padded);
            body.extend(symbol(core::str::from_utf8(&padded).unwrap()));
            body.extend([1u32, 19_900_101, 20_991_231].map(u32::to_le_bytes).as_flattened());
            body.extend(symbol(&number(i).to_string()));
        }
        let mut out = b"DBN\x03".to_vec();
        out.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        out.extend(body);
        let price = |x: f64| if x > 0.0 { (x * 1e9).round() as i64 } else { i64::MAX };
        for time in 0..times {
            let earlier = SignedDuration::from_secs(i64::from(times - 1 - time));
            for (i, q) in self.quotes.iter().enumerate() {
                let nanos = u64::try_from((q.ts - earlier).as_nanosecond()).unwrap().to_le_bytes();
                out.extend([20, 0xC0, 30, 0]);
                out.extend(number(i).to_le_bytes());
                out.extend(nanos);
                out.extend(i64::MAX.to_le_bytes());
                out.extend([0, 0, 0, 0, 0, b'N', 0xC0, 0]);
                out.extend(nanos);
                out.extend([0; 8]);
                out.extend([price(q.bid), price(q.ask)].map(i64::to_le_bytes).as_flattened());
                out.extend([q.bid_size as u32, q.ask_size as u32].map(u32::to_le_bytes).as_flattened());
                out.extend([0; 8]);
            }
        }
        out
    }
}

/// True if two records have the same quote of one contract; a side that is not quoted may be 0 or NaN.
#[must_use]
pub fn has_same_quote(a: &QuoteRecord, b: &QuoteRecord) -> bool {
    let prices = |q: &QuoteRecord| [q.bid, q.ask].map(|price| quoted(price).to_bits());
    (a.ts, a.underlying, a.contract, prices(a)) == (b.ts, b.underlying, b.contract, prices(b))
}

fn whole_millis(ts: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(ts.as_millisecond()).unwrap()
}

fn eastern() -> TimeZone {
    TimeZone::get("America/New_York").unwrap()
}

/// Date and clock time with milliseconds, without an offset.
fn in_zone(ts: Timestamp, zone: &TimeZone, between: char) -> String {
    let at = zone.to_datetime(ts);
    let (date, time) = (at.date(), at.time());
    let (hour, minute, second, millis) =
        (time.hour(), time.minute(), time.second(), time.subsec_nanosecond() / 1_000_000);
    format!("{date}{between}{hour:02}:{minute:02}:{second:02}.{millis:03}")
}

fn compact(q: &QuoteRecord) -> String {
    let mut out = [0; OSI_LEN];
    let n = q.contract.write_compact(&mut out);
    core::str::from_utf8(&out[..n]).unwrap().to_owned()
}

fn strike(q: &QuoteRecord) -> f64 {
    strike_of(q.contract.strike_milli)
}

fn word(q: &QuoteRecord) -> &'static str {
    if q.contract.right == Right::Call { "call" } else { "put" }
}

fn or_zero(price: f64) -> f64 {
    if price > 0.0 { price } else { 0.0 }
}

/// Some number between 0.05 and 1.05, another one for each contract.
fn noise(q: &QuoteRecord) -> f64 {
    0.05 + f64::from(q.contract.strike_milli.wrapping_mul(2_654_435_761) >> 16) / 65_536.0
}
