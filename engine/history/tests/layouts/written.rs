//! Rows written by hand, under the exact headers of their vendors.

use crate::folder::{gzip, line, rows_in, zip};
use history::layouts::{ColumnMap, LayoutError, ReadOptions};
use kernel::contract::Symbol;
use kernel::error::Reason;

/// Reads a text, and compares what comes of it row by row.
fn check(name: &str, layout: &str, text: &str, want: &[&str]) {
    let (rows, read) = rows_in(name, text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((read.layout, read.is_whole()), (layout, true), "{name}");
    assert_eq!(read.report.places, [], "{name}");
    let got: Vec<String> = rows.iter().map(line).collect();
    assert_eq!(got, want, "{name}");
}

const DATASHOP: &str = "underlying_symbol,quote_date,root,expiration,strike,option_type,open,high,low,close,trade_volume,\
bid_size_1545,bid_1545,ask_size_1545,ask_1545,underlying_bid_1545,underlying_ask_1545,implied_underlying_price_1545,\
active_underlying_price_1545,implied_volatility_1545,delta_1545,gamma_1545,theta_1545,vega_1545,rho_1545,bid_size_eod,\
bid_eod,ask_size_eod,ask_eod,underlying_bid_eod,underlying_ask_eod,vwap,open_interest,delivery_code\n";

#[test]
fn datashop_has_two_snapshots_and_the_first_counts_where_it_is_there() {
    let row = |date: &str, quotes: &str| {
        format!(
            "A,{date},A,2024-12-20,65.000,C,0,0,0,0,0,{quotes},131.55,131.505,0,1,0,0,0,0,299,64.9,222,69.5,131.5,132,0,0,\n"
        )
    };
    let text = [
        DATASHOP.to_owned(),
        row("2024-04-09", "77,66,77,67,131.25,131.75"), // summer
        row("2024-11-29", "77,66,77,67,131.25,131.75"), // an early close, and winter
        row("2019-11-29", "77,66,77,67,131.25,131.75"), // one of before it was closed for this snapshot
        row("2024-04-09", ",,,,,"),                     // no such snapshot
        row("2024-04-09", "0,0,0,0,0,0"),               // no quote in it
    ]
    .concat();
    check(
        "UnderlyingOptionsEODCalcs.csv",
        "cboe-datashop-eod",
        &text,
        &[
            "2024-04-09T19:45:00Z A A 2024-12-20 65000 Call 66 67 131.5",
            "2024-11-29T17:45:00Z A A 2024-12-20 65000 Call 66 67 131.5",
            "2019-11-29T18:00:00Z A A 2024-12-20 65000 Call 66 67 131.5",
            "2024-04-09T20:00:00Z A A 2024-12-20 65000 Call 64.9 69.5 131.75",
            "2024-04-09T19:45:00Z A A 2024-12-20 65000 Call 0 0 131.505",
        ],
    );
}

#[test]
fn datashop_intervals_name_their_instant_and_indices_have_a_mark() {
    let text = "underlying_symbol,quote_datetime,root,expiration,strike,option_type,open,high,low,close,trade_volume,\
                bid_size,bid,ask_size,ask,underlying_bid,underlying_ask,implied_underlying_price,open_interest\n\
                ^SPX,2024-03-08 09:31:00,SPXW,2024-03-22,5100.000,P,0,0,0,0,0,12,30.1,7,30.4,0,0,5150.2,3\n\
                ^SPX,2024-03-08 09:31:00,SPX,2024-04-19,5100.000,p,0,0,0,0,0,12,60.1,7,60.4,0,0,5149.8,3\n\
                BRK.B,2024-03-11 09:31:00,BRKB,2024-03-15,400.000,C,0,0,0,0,0,1,5.1,2,5.2,404,404.5,,3\n";
    check(
        "spx.csv",
        "cboe-datashop-intervals",
        text,
        &[
            "2024-03-08T14:31:00Z SPX SPXW 2024-03-22 5100000 Put 30.1 30.4 5150.2",
            "2024-03-08T14:31:00Z SPX SPX 2024-04-19 5100000 Put 60.1 60.4 NaN",
            "2024-03-11T13:31:00Z BRK.B BRKB 2024-03-15 400000 Call 5.1 5.2 404.25",
        ],
    );
}

#[test]
fn orats_has_a_strike_a_row_and_no_spot_of_an_index() {
    let text = "ticker,cOpra,pOpra,stkPx,expirDate,yte,strike,cVolu,cOi,pVolu,pOi,cBidPx,cValue,cAskPx,pBidPx,pValue,\
                pAskPx,cBidIv,cMidIv,cAskIv,smoothSmvVol,pBidIv,pMidIv,pAskIv,iRate,divRate,residualRateData,delta,gamma,\
                theta,vega,rho,phi,driftlessTheta,extVol,extCTheo,extPTheo,spot_px,trade_date\n\
                A,A240119C00130000,A240119P00130000,138.2,1/19/2024,0.04,130,1,2,3,4,8.5,8.7,9,0.3,0.4,0.5,0,0,0,0,0,0,0,0,0,\
                0,0,0,0,0,0,0,0,0,0,0,1,1/3/2024\n\
                SPX,SPXW240105C04700000,SPXW240105P04700000,4705.1,1/5/2024,0.01,4700,1,2,3,4,20,20,21,15,15,16,0,0,0,0,0,0,0,\
                0,0,0,0,0,0,0,0,0,0,0,0,0,1,1/3/2024\n\
                SPX,SPX241220C04700000,SPX241220P04700000,4650.3,12/20/2024,1,4700,1,2,3,4,300,300,301,210,210,211,0,0,0,0,0,\
                0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1/3/2024\n\
                SPX,,,4650.3,12/20/2024,1,4800,1,2,3,4,0,0,1,2,2,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,7/3/2024\n";
    check(
        "orats.csv",
        "orats-strikes",
        text,
        &[
            "2024-01-03T20:46:00Z A A 2024-01-19 130000 Call 8.5 9 138.2",
            "2024-01-03T20:46:00Z A A 2024-01-19 130000 Put 0.3 0.5 138.2",
            "2024-01-03T20:46:00Z SPX SPXW 2024-01-05 4700000 Call 20 21 4705.1",
            "2024-01-03T20:46:00Z SPX SPXW 2024-01-05 4700000 Put 15 16 4705.1",
            "2024-01-03T20:46:00Z SPX SPX 2024-12-20 4700000 Call 300 301 NaN",
            "2024-01-03T20:46:00Z SPX SPX 2024-12-20 4700000 Put 210 211 NaN",
            "2024-07-03T16:46:00Z SPX SPX 2024-12-20 4800000 Call 0 1 4650.3",
            "2024-07-03T16:46:00Z SPX SPX 2024-12-20 4800000 Put 2 3 4650.3",
        ],
    );
}

const OPTIONSDX: &str = "[QUOTE_UNIXTIME], [QUOTE_READTIME], [QUOTE_DATE], [QUOTE_TIME_HOURS], [UNDERLYING_LAST], \
[EXPIRE_DATE], [EXPIRE_UNIX], [DTE], [C_DELTA], [C_GAMMA], [C_VEGA], [C_THETA], [C_RHO], [C_IV], [C_VOLUME], [C_LAST], \
[C_SIZE], [C_BID], [C_ASK], [STRIKE], [P_BID], [P_ASK], [P_SIZE], [P_LAST], [P_DELTA], [P_GAMMA], [P_VEGA], [P_THETA], \
[P_RHO], [P_IV], [P_VOLUME], [STRIKE_DISTANCE], [STRIKE_DISTANCE_PCT]\n";

#[test]
fn optionsdx_names_neither_underlying_nor_root() {
    let row = |expiry: &str| {
        format!(
            "1638392400, 2021-12-01 16:00, 2021-12-01, 16.000000, 4513.040000, {expiry}, 1, 0.0, 0.98, 0.0, 0.0, 0.0, 0.0, , \
             , 147.87, 300 x 12, 139.610000, 142.100000, 4310.000000, 0.000000, 0.010000, 0 x 4522, 0.03, 0.0, 0.0, 0.0, 0.0, \
             0.0, 2.52, , 140.4, 0.312\n"
        )
    };
    let text = [OPTIONSDX.to_owned(), row("2021-12-17"), row("2021-12-20")].concat();
    check(
        "spx_eod_202112.txt",
        "optionsdx",
        &text,
        &[
            "2021-12-01T21:00:00Z SPX SPX 2021-12-17 4310000 Call 139.61 142.1 4513.04",
            "2021-12-01T21:00:00Z SPX SPX 2021-12-17 4310000 Put 0 0.01 4513.04",
            "2021-12-01T21:00:00Z SPX SPXW 2021-12-20 4310000 Call 139.61 142.1 4513.04",
            "2021-12-01T21:00:00Z SPX SPXW 2021-12-20 4310000 Put 0 0.01 4513.04",
        ],
    );
    let (rows, _) = rows_in("spx.txt", text.as_bytes(), &ReadOptions::default()).unwrap();
    let sizes: Vec<_> = rows[..2].iter().map(|row| (row.quote.bid_size, row.quote.ask_size)).collect();
    assert_eq!(sizes, [(300.0, 12.0), (0.0, 4522.0)]);
    let refused = rows_in("options2021december.txt", text.as_bytes(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused, LayoutError::NoUnderlying { layout: "optionsdx", .. }), "{refused}");
    let named = ReadOptions { underlying: Symbol::parse("SPXW"), ..ReadOptions::default() };
    let (rows, _) = rows_in("options_december.txt", text.as_bytes(), &named).unwrap();
    assert_eq!(rows[0].quote.underlying.as_str(), "SPX");
}

#[test]
fn historical_option_data_is_read_under_old_and_new_names() {
    let new = "UnderlyingSymbol,UnderlyingPrice,Exchange,OptionSymbol,Blank,Type,Expiration,DataDate,Strike,Last,Bid,Ask,\
               Volume,OpenInterest,IV,Delta,Gamma,Theta,Vega,Alias\n\
               LUV,61.3,*,LUV210401C00030000,,call,04/01/2021,03/31/2021,30,0,30.6,32.2,0,0,0.3,1,0,0,0,\n\
               SPX,3910.5,W,SPXW  210401P03900000,,put,04/01/2021,03/31/2021 15:45,3900,0,20.1,20.5,0,0,0.3,1,0,0,0,\n";
    let want = [
        "2021-03-31T20:00:00Z LUV LUV 2021-04-01 30000 Call 30.6 32.2 61.3",
        "2021-03-31T19:45:00Z SPX SPXW 2021-04-01 3900000 Put 20.1 20.5 3910.5",
    ];
    check("L2_20210331.csv", "historicaloptiondata", new, &want);
    let old = "underlying,underlying_last, exchange,optionroot,optionext,type,expiration,quotedate,strike,last,bid,ask,volume,\
               openinterest,impliedvol,delta,gamma,theta,vega,optionalias,IVBid,IVAsk\n\
               GOOG,500.1,*,WGOAB,,call,01/16/2010,11/27/2009,510,0,30.6,32.2,0,0,0.3,1,0,0,0,x,0,0\n";
    let want = ["2009-11-27T18:00:00Z GOOG GOOG 2010-01-16 510000 Call 30.6 32.2 500.1"];
    check("old.csv", "historicaloptiondata", old, &want);
    let l1 =
        new.lines().map(|line| line.split(',').take(14).collect::<Vec<_>>().join(",")).collect::<Vec<_>>().join("\r\n");
    let (rows, read) = rows_in("L1.csv", l1.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((rows.len(), read.layout), (2, "historicaloptiondata"));
}

#[test]
fn dolthub_has_neither_root_nor_price() {
    let text = "date,act_symbol,expiration,strike,call_put,bid,ask,vol,delta,gamma,theta,vega,rho\n\
                2024-01-03,BRK.B,2024-01-19,350.00,Call,11.05,11.55,0.2,0.6,0.0,0.0,0.0,0.0\n";
    check(
        "x.csv",
        "dolthub-option-chain",
        text,
        &["2024-01-03T21:00:00Z BRK.B BRKB 2024-01-19 350000 Call 11.05 11.55 NaN"],
    );
}

const OWN: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n";

#[test]
fn our_own_columns_are_read_in_all_packings() {
    let row = "2026-08-21T16:00:00-04:00,BRK/B,14.41,BRKB,2026-08-28,call,5.5,8.9,10.05,,7\n";
    let text = format!("{OWN}{row}");
    let want = "2026-08-21T20:00:00Z BRK.B BRKB 2026-08-28 5500 Call 8.9 10.05 14.41";
    check("c.csv", "greeksd", &text, &[want]);
    let twice = [gzip(OWN.as_bytes()), gzip(row.as_bytes())].concat();
    let packed = zip(&[("readme.pdf", b"x"), ("a/c.csv", text.as_bytes()), ("c.csv.gz", &gzip(text.as_bytes()))]);
    for (name, bytes, n) in [("c.csv.gz", gzip(text.as_bytes()), 1), ("c.gz", twice, 1), ("c.zip", packed, 2)] {
        let (rows, read) = rows_in(name, &bytes, &ReadOptions::default()).unwrap();
        assert_eq!((rows.len(), read.layout, read.is_whole()), (n, "greeksd", true), "{name}");
        assert!(rows.iter().all(|row| line(row) == want), "{name}");
    }
    let symbols = "quote_time,osym,bid,ask\n2026-08-21T16:00:00-04:00,BRKB  260828C00005500,8.9,10.05\n";
    check("s.csv", "greeksd-symbols", symbols, &["2026-08-21T20:00:00Z BRK.B BRKB 2026-08-28 5500 Call 8.9 10.05 NaN"]);
    let strikes = "quote_time,underlying,expiry,strike,call_bid,call_ask,put_bid,put_ask\n2026-08-21,SPY,2026-08-28,600,1,2,3,4\n";
    check(
        "k.csv",
        "greeksd-strikes",
        strikes,
        &[
            "2026-08-21T20:00:00Z SPY SPY 2026-08-28 600000 Call 1 2 NaN",
            "2026-08-21T20:00:00Z SPY SPY 2026-08-28 600000 Put 3 4 NaN",
        ],
    );
}

#[test]
fn unknown_headers_are_read_by_a_map_of_columns() {
    let text = "when,sym,EXP,K1000,cp,b,a\n2024-01-03 21:00,SPY,20240119,470500,C,5.1,5.2\n";
    let refused = rows_in("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("7 columns of no known layout"), "{refused}");
    let columns = "quote_time=when,underlying=sym,expiry=exp,strike=K1000,right=cp,bid=b,ask=a";
    let options = ReadOptions {
        columns: ColumnMap::parse(columns).unwrap(),
        zone: Some(jiff::tz::TimeZone::UTC),
        strike_divisor: 1000.0,
        ..ReadOptions::default()
    };
    let (rows, read) = rows_in("x.csv", text.as_bytes(), &options).unwrap();
    assert_eq!(read.report.places, []);
    assert_eq!(line(&rows[0]), "2024-01-03T21:00:00Z SPY SPY 2024-01-19 470500 Call 5.1 5.2 NaN");
}

#[test]
fn a_bad_row_costs_itself_and_is_told_with_its_place() {
    let good = |strike: u32| format!("2026-08-21T16:00:00Z,X,14.41,X,2026-08-28,call,{strike},8.9,10.05,,7\n");
    for (from, to, field, reason, kept) in [
        ("8.9", "-2", "bid", Reason::OutOfRange, 2),
        ("8.9", "ten", "bid", Reason::NotANumber, 2),
        ("8.9", "inf", "bid", Reason::OutOfRange, 2),
        ("10.05", "1e300", "ask", Reason::OutOfRange, 2),
        ("call", "1", "right", Reason::NotARight, 2),
        (",X,2026-08-28", ",1SPX,2026-08-28", "root", Reason::Flex, 2),
        ("2026-08-28", "2026-02-30", "expiry", Reason::NotADate, 2),
        ("2026-08-21T16:00:00Z", "yesterday", "quote_time", Reason::NotATime, 2),
        ("2,8.9", "2.00005,8.9", "strike", Reason::OutOfRange, 2),
        (",8.9,10.05,,7", "", "bid", Reason::Missing, 2),
        // a price that is none costs the price and not the quote
        ("14.41", "1e9", "und_price", Reason::OutOfRange, 3),
    ] {
        let text = [OWN.to_owned(), good(1), good(2).replace(from, to), good(3)].concat();
        let (rows, read) = rows_in("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((rows.len(), read.report.records, read.is_whole()), (kept, 3, true), "{to}");
        let place = &read.report.places[0];
        assert_eq!((place.line, place.field, place.reason), (3, field, reason), "{to}");
        assert!(to.is_empty() || to.contains(&place.value), "{to}: {}", place.value);
        assert_eq!(read.report.refused_total(), 1, "{to}");
    }
}
