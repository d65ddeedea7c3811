//! The yardstick of the row writer, for one layer of each format: a careful plain program. It fills a struct for each
//! row from the columns, rounds the numbers, and serialises it by `serde_json` or `csv`.

use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use kernel::contract::Right;
use serde::Serialize;

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

/// The columnar layer, version 3, as CSV.
pub(crate) fn columnar_v3_csv(chain: &Chain, out: &mut Vec<u8>) {
    let mut writer = csv::Writer::from_writer(out);
    for row in rows(chain) {
        let words = (chain.underlying.as_str(), row.slice.expiry.to_string(), row.strike(), row.pick("CALL", "PUT"));
        let numbers: Vec<f64> = ALL.iter().map(|&col| columnar(&row, col)).collect();
        writer.serialize((words, TIME, 0.0, 0.0, numbers, TIME, row.slice.und_price)).expect("memory");
    }
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
