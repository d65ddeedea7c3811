//! `greeksd price` on the golden files: every column, every unit, every line.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use kernel::quality::Quality;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tools::price::{Summary, price};

const VALUES: [&str; 22] = [
    "price",
    "delta",
    "gamma",
    "speed",
    "vega",
    "volga",
    "ultima",
    "vanna",
    "zomma",
    "theta",
    "charm",
    "color",
    "veta",
    "rho",
    "vera",
    "epsilon",
    "lambda",
    "dual_delta",
    "dual_gamma",
    "d1",
    "d2",
    "fwd",
];

type Row = HashMap<String, String>;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name)
}

fn rows(text: &[u8]) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text);
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row =
        |record: csv::StringRecord| -> Row { names.iter().cloned().zip(record.iter().map(str::to_owned)).collect() };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn priced(input: &[u8], scheme: Quality) -> (Summary, Vec<u8>) {
    let mut out = Vec::new();
    let summary = price(input, &mut out, scheme).unwrap();
    (summary, out)
}

/// The columns of a file that `keep` admits.
fn columns(text: &[u8], keep: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text);
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let places: Vec<usize> = (0..).zip(&records[0]).filter(|(_, name)| keep(name)).map(|(i, _)| i).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in &records {
        writer.write_record(places.iter().map(|&i| &record[i])).unwrap();
    }
    writer.into_inner().unwrap()
}

/// Every value column within `tolerance` of the golden one, beyond its stated error, relative to the value or `floor`.
fn check(file: &str, scheme: Quality, tolerance: impl Fn(&str) -> f64, floor: f64) {
    let input = std::fs::read(golden(file)).unwrap();
    let (summary, output) = priced(&input, scheme);
    let (want, got) = (rows(&input), rows(&output));
    assert_eq!(summary, Summary { rows: want.len(), errors: 0 });
    for (want, got) in want.iter().zip(&got) {
        assert_eq!(want["id"], got["id"], "rows keep their order");
        for name in VALUES.into_iter().filter(|&name| !want[name].is_empty()) {
            let (x, y): (f64, f64) = (got[name].parse().unwrap(), want[name].parse().unwrap());
            let stated = want.get(&format!("{name}_err")).and_then(|e| e.parse::<f64>().ok()).unwrap_or(0.0);
            let bound = tolerance(name) * y.abs().max(floor) + 2.0 * stated;
            assert!((x - y).abs() <= bound, "{file} {} {name}: {x}, golden {y}, bound {bound:e}", want["id"]);
        }
    }
}

#[test]
fn european_rows_have_every_golden_value_in_its_published_unit() {
    for scheme in [Quality::Full, Quality::Reference] {
        check("european.csv", scheme, |_| 1e-9, 1e-6);
    }
}

#[test]
fn american_rows_agree_with_the_golden_values() {
    let loose = ["speed", "zomma", "color", "charm", "vera", "veta", "ultima"];
    check("american_nodiv.csv", Quality::Reference, |name| if loose.contains(&name) { 2e-1 } else { 1e-2 }, 1e-3);
}

#[test]
fn a_price_in_place_of_sigma_gives_the_implied_volatility_or_says_why_not() {
    let file = std::fs::read(golden("iv.csv")).unwrap();
    let input = columns(&file, |name| !name.starts_with("sigma") && name != "vega");
    let (_, output) = priced(&input, Quality::Reference);
    assert!(output.starts_with(b"id,style,right,s,k,t_years,r,b,divs,price,iv,delta,"));
    let mut found = 0;
    for (want, got) in rows(&file).iter().zip(&rows(&output)).filter(|(row, _)| row["style"] == "european") {
        if want["status"] == "ok" {
            let (iv, sigma): (f64, f64) = (got["iv"].parse().unwrap(), want["sigma"].parse().unwrap());
            assert!((iv - sigma).abs() <= 1e-8 * sigma, "{}: {iv}, golden {sigma}", want["id"]);
            assert_eq!(want["price"], got["price"]);
            found += 1;
        } else {
            let side = if want["status"] == "below_min" { "below" } else { "above" };
            assert!(got["error"].contains(side) && got["iv"].is_empty(), "{want:?} {got:?}");
        }
    }
    assert!(found >= 50, "{found} rows");
}

#[test]
fn a_row_that_cannot_be_priced_keeps_its_line() {
    let input = b"id,style,right,s,k,t_years,r,b,sigma,divs\n\
        a,european,call,100,100,1,0.05,0,0.2,\n\
        \"b, quoted\",american,call,100,x,1,0.05,0,0.2,\n\
        c,european,put,100,100,1,0.05,0,0.2,0.5:110\n\
        d,european\n\
        e,european,put,100,100,1,0.05,0,0.2,0.5:1;0.75:1\n";
    let (summary, output) = priced(input, Quality::Full);
    assert_eq!(summary, Summary { rows: 5, errors: 3 });
    let got = rows(&output);
    let ids: Vec<&str> = got.iter().map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["a", "b, quoted", "c", "d", "e"]);
    let errors: Vec<&str> = got.iter().map(|row| row["error"].as_str()).collect();
    assert_eq!(
        errors,
        [
            "",
            "k: not a number: x",
            "no model value: the dividends are worth more than the spot",
            "t_years: missing",
            ""
        ]
    );
    assert!(got[1]["price"].is_empty() && got[4]["price"].parse::<f64>().unwrap() > 0.0);
}

#[test]
fn a_long_file_is_priced_in_its_order_and_twice_the_same() {
    let mut input = "style,right,s,k,t_years,r,b,sigma\n".to_owned();
    for i in 0..5000 {
        input.push_str(&format!("european,call,100,{},0.5,0.03,0.01,0.25\n", 50 + i % 100));
    }
    let (summary, output) = priced(input.as_bytes(), Quality::Full);
    assert_eq!(summary, Summary { rows: 5000, errors: 0 });
    for (i, row) in rows(&output).iter().enumerate() {
        assert_eq!(row["k"], (50 + i % 100).to_string());
    }
    assert!(priced(input.as_bytes(), Quality::Full).1 == output);
}

#[test]
fn an_input_without_its_columns_is_refused() {
    let error = price(&b"a,b\n1,2\n"[..], Vec::new(), Quality::Full).unwrap_err().to_string();
    assert!(error.contains("no column style, right, s"), "{error}");
}

#[test]
fn an_input_of_another_country_has_the_same_values() {
    let plain = "style,right,s,k,t_years,r,b,sigma,divs\neuropean,call,100.5,100,1,0.02,0,0.2,\namerican,put,100.5,1250,1,0.02,0,0.25,0.5:1\n";
    let want = rows(&priced(plain.as_bytes(), Quality::Full).1);
    let comma = plain.replace(',', ";").replace("0.5:1", "#").replace('.', ",").replace('#', "0.5:1");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for text in [
        plain.replace(',', ";").into_bytes(),
        plain.replace(',', "\t").into_bytes(),
        plain.replace("call", "C").replace("put", "p").into_bytes(),
        comma.clone().into_bytes(),
        utf16(&format!("\u{feff}{comma}")),
        plain.replace("1250", "\"1,250\"").into_bytes(),
    ] {
        let (summary, output) = priced(&text, Quality::Full);
        let shown = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(summary, Summary { rows: 2, errors: 0 }, "{shown}: {}", String::from_utf8_lossy(&output));
        for (want, got) in want.iter().zip(&rows(&output)) {
            VALUES.iter().for_each(|name| assert_eq!(got[*name], want[*name], "{shown} {name}"));
        }
    }
}

/// Runs the command in a folder.
fn command(folder: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.arg("price").args(arguments).current_dir(folder).output().unwrap()
}

const INPUT: &str = "style,right,s,k,t_years,r,b,sigma\neuropean,call,100,100,1,0.02,0,0.2\n";

#[test]
fn numbers_that_look_like_percent_are_doubted_once() {
    let folder = std::env::temp_dir().join(format!("greeksd-price-doubts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rows = "european,call,100,100,1,5,0,0.2\neuropean,call,100,100,1,0.02,0,20\n";
    for (text, want) in
        [(INPUT.to_owned(), ""), (format!("{INPUT}{rows}"), "warning: row 2: r is 5: rates are decimal")]
    {
        std::fs::write(folder.join("x.csv"), &text).unwrap();
        let said = String::from_utf8(command(&folder, &["x.csv", "-o", "out.csv"]).stderr).unwrap();
        assert_eq!(
            (said.matches("warning").count(), said.contains(want)),
            (usize::from(!want.is_empty()), true),
            "{said}"
        );
        assert_eq!(said.contains("(and 1 more)"), !want.is_empty(), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_output_that_is_the_input_is_refused_and_nothing_is_lost() {
    let folder = std::env::temp_dir().join(format!("greeksd-price-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    std::fs::write(folder.join("x.csv"), INPUT).unwrap();
    std::fs::hard_link(folder.join("x.csv"), folder.join("link.csv")).unwrap();
    for output in ["x.csv", "./x.csv", "link.csv"] {
        let out = command(&folder, &["x.csv", "-o", output]);
        assert!(!out.status.success(), "{output}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("is also the input"), "{out:?}");
        assert_eq!(read("x.csv"), INPUT);
    }
    // a run that fails leaves what was there
    std::fs::write(folder.join("out.csv"), "before").unwrap();
    std::fs::write(folder.join("bad.csv"), "a,b\n1,2\n").unwrap();
    assert!(!command(&folder, &["bad.csv", "-o", "out.csv"]).status.success());
    assert_eq!(read("out.csv"), "before");
    assert!(command(&folder, &["x.csv", "-o", "out.csv"]).status.success());
    assert!(read("out.csv").lines().count() == 2 && read("out.csv").contains("price"), "{}", read("out.csv"));
    assert!(command(&folder, &["x.csv", "-o", "new.csv"]).status.success());
    assert_eq!(read("new.csv"), read("out.csv"));
    if cfg!(unix) {
        assert!(command(&folder, &["x.csv", "-o", "/dev/null"]).status.success());
        let out = command(&folder, &["x.csv", "-o", "/dev/stdout"]);
        assert_eq!(String::from_utf8_lossy(&out.stdout), read("out.csv"));
    }
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bad.csv", "link.csv", "new.csv", "out.csv", "x.csv"], "nothing unfinished is left");
    std::fs::remove_dir_all(&folder).unwrap();
}
