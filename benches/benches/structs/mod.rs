//! What a careful plain program would do: a struct for each row of a layer, filled from the columns, rounded, and given
//! to `serde_json` (the columnar layer's CSV to `csv`). The yardstick of the row writer.

use engine::contract::Right;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// Writes a whole chain.
pub(crate) type Writer = fn(&Chain, &mut Vec<u8>);

const TIME: &str = "2026-11-20T15:42:07.318";

/// One contract, its numbers rounded to four decimals.
struct Row<'a> {
    chain: &'a Chain,
    slice: &'a Slice,
    row: usize,
}

impl Row<'_> {
    fn raw(&self, col: Col) -> f64 {
        self.chain.columns.get(col)[self.row]
    }

    fn get(&self, col: Col) -> f64 {
        round(self.raw(col))
    }

    fn per_one(&self, col: Col) -> f64 {
        round(self.raw(col) * 100.0)
    }

    fn words(&self, col: Col) -> String {
        format!("{:.5}", self.raw(col))
    }

    fn strike(&self) -> f64 {
        f64::from(self.chain.strike_milli[self.row]) / 1000.0
    }

    fn pick<T>(&self, call: T, put: T) -> T {
        if self.chain.right[self.row] == Right::Call { call } else { put }
    }

    fn osi(&self) -> String {
        let letter = self.pick('C', 'P');
        let strike = self.chain.strike_milli[self.row];
        format!("{}{}{letter}{strike:08}", self.slice.root, self.slice.expiry.strftime("%y%m%d"))
    }
}

fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}

fn rows(chain: &Chain) -> impl Iterator<Item = Row<'_>> {
    let of = move |slice| move |row: u32| Row { chain, slice, row: row as usize };
    chain.slices.iter().flat_map(move |slice| slice.rows.clone().map(of(slice)))
}

fn put(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("memory takes every byte");
}

/// Structs of numbers and words; the names are the layer's.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($words:ident),* } { $($numbers:ident),* } { $($zeros:ident),* }) => {
        #[derive(Serialize, Default)]
        $(#[$meta])*
        struct $name {
            $($words: String,)*
            $($numbers: f64,)*
            $($zeros: u32,)*
        }
    };
}

#[derive(Serialize)]
struct Data<T> {
    data: Vec<T>,
}

record!(#[allow(non_snake_case)] Envelope {
    contractID, symbol, expiration, strike, r#type, last, mark, bid, bid_size, ask, ask_size, volume, open_interest,
    date, implied_volatility, delta, gamma, theta, vega, rho
} {} {});

/// The envelope layer.
pub(crate) fn envelope(chain: &Chain, out: &mut Vec<u8>) {
    let zero = || "0".to_owned();
    let money = || "0.00".to_owned();
    let record = |row: Row<'_>| Envelope {
        contractID: row.osi(),
        symbol: chain.underlying.to_string(),
        expiration: row.slice.expiry.to_string(),
        strike: format!("{:.2}", row.strike()),
        r#type: row.pick("call", "put").to_owned(),
        last: money(),
        mark: money(),
        bid: money(),
        bid_size: zero(),
        ask: money(),
        ask_size: zero(),
        volume: zero(),
        open_interest: zero(),
        date: "2026-11-20".to_owned(),
        implied_volatility: row.words(Col::SvcVol),
        delta: row.words(Col::Delta),
        gamma: row.words(Col::Gamma),
        theta: row.words(Col::Theta),
        vega: row.words(Col::Vega),
        rho: row.words(Col::Rho),
    };
    put(&Data { data: rows(chain).map(record).collect() }, out);
}

record!(#[allow(non_snake_case)] Strikes { ticker, tradeDate, expirDate, updatedAt } {
    strike, stockPrice, spotPrice, callValue, putValue, callBidIv, callMidIv, callAskIv, smvVol, putBidIv, putMidIv,
    putAskIv, delta, gamma, theta, vega, rho, driftlessTheta, extSmvVol, extCallValue, extPutValue
} {
    dte, callVolume, callOpenInterest, callBidSize, callAskSize, putVolume, putOpenInterest, putBidSize, putAskSize,
    callBidPrice, callAskPrice, putBidPrice, putAskPrice, residualRate, phi
});

/// The strikes layer.
pub(crate) fn strikes(chain: &Chain, out: &mut Vec<u8>) {
    let record = |call: Row<'_>| {
        let put = Row { row: call.row + 1, ..call };
        Strikes {
            ticker: chain.underlying.to_string(),
            tradeDate: "2026-11-20".to_owned(),
            expirDate: call.slice.expiry.to_string(),
            updatedAt: TIME.to_owned(),
            strike: call.strike(),
            stockPrice: call.slice.und_price,
            spotPrice: call.slice.und_price,
            callValue: call.get(Col::SvcTheo),
            putValue: put.get(Col::SvcTheo),
            callBidIv: call.get(Col::BidVol),
            callMidIv: call.get(Col::MidVol),
            callAskIv: call.get(Col::AskVol),
            smvVol: call.get(Col::SvcVol),
            putBidIv: put.get(Col::BidVol),
            putMidIv: put.get(Col::MidVol),
            putAskIv: put.get(Col::AskVol),
            delta: call.get(Col::Delta),
            gamma: call.get(Col::Gamma),
            theta: call.get(Col::Theta),
            vega: call.get(Col::Vega),
            rho: call.get(Col::Rho),
            driftlessTheta: call.get(Col::Theta),
            extSmvVol: call.get(Col::SvcVol),
            extCallValue: call.get(Col::SvcTheo),
            extPutValue: put.get(Col::SvcTheo),
            dte: 28,
            ..Strikes::default()
        }
    };
    let calls = rows(chain).filter(|row| row.pick(true, false));
    put(&Data { data: calls.map(record).collect() }, out);
}

record!(Quotes { symbol, root, expiry, option_type, option } {
    strike, delta, gamma, theta, vega, rho, iv, mid_iv, vendor_theo, underlying_bid, underlying_ask, underlying_mid
} {
    option_bid, option_ask, option_mid, option_last_trade_price, option_open, option_high, option_low, option_close,
    option_prev_day_close, option_volume, option_trade_count, open_interest, option_bid_size, option_ask_size
});

/// The quotes layer.
pub(crate) fn quotes(chain: &Chain, out: &mut Vec<u8>) {
    let record = |row: Row<'_>| Quotes {
        symbol: chain.underlying.to_string(),
        root: row.slice.root.to_string(),
        expiry: row.slice.expiry.to_string(),
        option_type: row.pick("C", "P").to_owned(),
        option: row.osi(),
        strike: row.strike(),
        delta: row.get(Col::Delta),
        gamma: row.get(Col::Gamma),
        theta: row.get(Col::Theta),
        vega: row.get(Col::Vega),
        rho: row.get(Col::Rho),
        iv: row.get(Col::SvcVol),
        mid_iv: row.get(Col::MidVol),
        vendor_theo: row.get(Col::SvcTheo),
        underlying_bid: row.slice.und_price,
        underlying_ask: row.slice.und_price,
        underlying_mid: row.slice.und_price,
        ..Quotes::default()
    };
    put(&rows(chain).map(record).collect::<Vec<_>>(), out);
}

/// The numbers of the columnar layer, in its order, after bid and ask; implied volatility and its error last.
const ALL: [Col; 22] = [
    Col::Delta,
    Col::Theta,
    Col::Vega,
    Col::Rho,
    Col::Epsilon,
    Col::Lambda,
    Col::Gamma,
    Col::Vanna,
    Col::Charm,
    Col::Volga,
    Col::Veta,
    Col::Vera,
    Col::Speed,
    Col::Zomma,
    Col::Color,
    Col::Ultima,
    Col::D1,
    Col::D2,
    Col::DualDelta,
    Col::DualGamma,
    Col::SvcVol,
    Col::IvError,
];

fn columnar(row: &Row<'_>, col: Col) -> f64 {
    match col {
        Col::Vega | Col::Rho | Col::Epsilon => row.per_one(col),
        Col::Veta => round(row.raw(col) / 365.0),
        _ => row.get(col),
    }
}

#[derive(Serialize, Default)]
struct Columns {
    symbol: Vec<String>,
    expiration: Vec<String>,
    strike: Vec<f64>,
    right: Vec<&'static str>,
    timestamp: Vec<&'static str>,
    bid: Vec<f64>,
    ask: Vec<f64>,
    #[serde(flatten)]
    numbers: std::collections::BTreeMap<&'static str, Vec<f64>>,
    underlying_timestamp: Vec<&'static str>,
    underlying_price: Vec<f64>,
}

/// The columnar layer, version 3, column by column.
pub(crate) fn columnar_v3(chain: &Chain, out: &mut Vec<u8>) {
    let mut columns = Columns::default();
    for row in rows(chain) {
        columns.symbol.push(chain.underlying.to_string());
        columns.expiration.push(row.slice.expiry.to_string());
        columns.strike.push(row.strike());
        columns.right.push(row.pick("CALL", "PUT"));
        columns.timestamp.push(TIME);
        columns.bid.push(0.0);
        columns.ask.push(0.0);
        columns.underlying_timestamp.push(TIME);
        columns.underlying_price.push(row.slice.und_price);
    }
    for col in ALL {
        columns.numbers.insert(col.name(), rows(chain).map(|row| columnar(&row, col)).collect());
    }
    put(&columns, out);
}

/// The same as CSV.
pub(crate) fn columnar_v3_csv(chain: &Chain, out: &mut Vec<u8>) {
    let mut writer = csv::Writer::from_writer(out);
    for row in rows(chain) {
        let words = (chain.underlying.as_str(), row.slice.expiry.to_string(), row.strike(), row.pick("CALL", "PUT"));
        let numbers: Vec<f64> = ALL.iter().map(|&col| columnar(&row, col)).collect();
        writer.serialize((words, TIME, 0.0, 0.0, numbers, TIME, row.slice.und_price)).expect("memory");
    }
}

#[derive(Serialize)]
struct Contract {
    security_type: &'static str,
    root: String,
    expiration: u32,
    strike: u32,
    right: &'static str,
}

struct Tick([f64; 20]);

impl Serialize for Tick {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(24))?;
        seq.serialize_element(&56_527_318)?;
        for number in &self.0 {
            seq.serialize_element(number)?;
        }
        seq.serialize_element(&56_527_318)?;
        seq.serialize_element(&6001.25)?;
        seq.serialize_element(&20_261_120)?;
        seq.end()
    }
}

#[derive(Serialize)]
struct Element {
    contract: Contract,
    ticks: [Tick; 1],
}

/// The columnar layer, version 2.
pub(crate) fn columnar_v2(chain: &Chain, out: &mut Vec<u8>) {
    let element = |row: Row<'_>| {
        let numbers = [&[0.0, 0.0][..], &ALL.map(|col| columnar(&row, col))].concat();
        let contract = Contract {
            security_type: "OPTION",
            root: row.slice.root.to_string(),
            expiration: 20_261_218,
            strike: chain.strike_milli[row.row],
            right: row.pick("C", "P"),
        };
        Element { contract, ticks: [Tick(std::array::from_fn(|i| if i < 18 { numbers[i] } else { numbers[i + 4] }))] }
    };
    put(&rows(chain).map(element).collect::<Vec<_>>(), out);
}

record!(Chains {
    symbol, description, exch, r#type, underlying, bidexch, askexch, expiration_date, expiration_type, option_type,
    root_symbol
} { strike } {
    last, change, volume, open, high, low, close, bid, ask, change_percentage, average_volume, last_volume, prevclose,
    week_52_high, week_52_low, bidsize, asksize, open_interest, contract_size
});

record!(Greeks { updated_at } { delta, gamma, theta, vega, rho, bid_iv, mid_iv, ask_iv, smv_vol } { phi });

#[derive(Serialize)]
struct WithGreeks {
    contract: Chains,
    trade_date: u64,
    bid_date: u64,
    ask_date: u64,
    greeks: Greeks,
}

/// The chains layer.
pub(crate) fn chains(chain: &Chain, out: &mut Vec<u8>) {
    let word = |text: &str| text.to_owned();
    let record = |row: Row<'_>| {
        let right = row.pick("Call", "Put");
        let date = row.slice.expiry.strftime("%b %-d %Y");
        let contract = Chains {
            symbol: row.osi(),
            description: format!("{} {date} ${:.2} {right}", row.slice.root, row.strike()),
            exch: word("Z"),
            r#type: word("option"),
            underlying: chain.underlying.to_string(),
            bidexch: word("Z"),
            askexch: word("Z"),
            expiration_date: row.slice.expiry.to_string(),
            expiration_type: word("standard"),
            option_type: right.to_lowercase(),
            root_symbol: row.slice.root.to_string(),
            strike: row.strike(),
            contract_size: 100,
            ..Chains::default()
        };
        let greeks = Greeks {
            updated_at: word("2026-11-20 20:42:07"),
            delta: row.get(Col::Delta),
            gamma: row.get(Col::Gamma),
            theta: row.get(Col::Theta),
            vega: row.get(Col::Vega),
            rho: row.get(Col::Rho),
            bid_iv: row.get(Col::BidVol),
            mid_iv: row.get(Col::MidVol),
            ask_iv: row.get(Col::AskVol),
            smv_vol: row.get(Col::SvcVol),
            phi: 0,
        };
        let at = 1_795_207_327_318;
        WithGreeks { contract, trade_date: at, bid_date: at, ask_date: at, greeks }
    };
    put(&rows(chain).map(record).collect::<Vec<_>>(), out);
}
