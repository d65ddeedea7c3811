//! Prints the rows read from files of history: `cargo run --release -p greeksd-history --example rows -- FILE…`.
#![allow(clippy::print_stdout, reason = "a program that says what it read")]

use history::layouts::{ReadOptions, read};
use std::path::PathBuf;
use std::time::Instant;

fn main() {
    let options = ReadOptions::default();
    for file in std::env::args_os().skip(1).map(PathBuf::from) {
        let (mut rows, mut without_price, began) = (0_u64, 0_u64, Instant::now());
        let outcome = read(&file, &options, &mut |row| {
            rows += 1;
            without_price += u64::from(row.spot.is_nan());
        });
        let (file, seconds) = (file.display(), began.elapsed().as_secs_f64());
        match outcome {
            Err(refused) => println!("{refused}"),
            Ok(read) => {
                let (layout, refused) = (read.layout, read.report.refused_total());
                println!(
                    "{file}: {layout}, {rows} quotes, {without_price} without a price, {refused} refused, {seconds:.2} s"
                );
                read.report.places.iter().take(10).for_each(|place| println!("  {place}"));
                read.report.errors.iter().for_each(|error| println!("  {error}"));
            }
        }
    }
}
