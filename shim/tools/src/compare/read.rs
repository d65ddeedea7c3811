//! Reads quotes and a vendor's own numbers from its file, by the layouts of [`history::layouts`]. Never: a layout.

use crate::arguments::CompareArgs;
use engine::compare::{VendorNumbers, VendorRow};
use history::layouts::{
    LayoutError, ReadOptions, SHOWN, ShownNumbers, names_with_shown, read_shown, read_shown_response,
};
use history::row::HistoryRow;
use kernel::limits;
use std::path::Path;

/// A quote with the volatility and Greeks of the vendor.
#[derive(Clone, Copy, Debug)]
pub(super) struct VendorQuote {
    pub(super) row: HistoryRow,
    pub(super) sigma: f64,
    pub(super) greeks: VendorNumbers,
}

/// Contents of a file.
#[derive(Debug)]
pub(super) struct VendorFile {
    pub(super) layout: &'static str,
    pub(super) quotes: Vec<VendorQuote>,
    /// Place value of the last printed digit of each number.
    pub(super) digits: VendorRow,
    pub(super) refused: u64,
    pub(super) places: Vec<String>,
}

/// Reads the file of the arguments, or the response of an address.
///
/// # Errors
/// The file cannot be read, is damaged, or its layout has no numbers of a vendor.
pub(super) fn read(args: &CompareArgs, response: Option<&[u8]>) -> Result<VendorFile, String> {
    if let Some(name) = &args.layout {
        check_layout(name)?;
    }
    let options = ReadOptions {
        layout: args.layout.clone(),
        time: args.time,
        decimal: args.text.decimal(),
        dates: args.text.dates(),
        ..ReadOptions::default()
    };
    let (mut quotes, mut beyond) = (Vec::new(), 0);
    let mut decimals: [Option<u8>; SHOWN] = [None; SHOWN];
    let mut take = |mut row: HistoryRow, shown: &ShownNumbers| {
        if quotes.len() as f64 >= limits::INSTRUMENTS.most {
            beyond += 1;
            return;
        }
        row.spot = args.spot.unwrap_or(row.spot);
        let [sigma, greeks @ ..] = shown.values;
        quotes.push(VendorQuote { row, sigma, greeks });
        decimals.iter_mut().zip(shown.decimals).for_each(|(most, own)| *most = own.max(*most));
    };
    let source = Path::new(&args.input);
    let read = match response {
        Some(bytes) => read_shown_response(source, bytes, &options, &mut take),
        None => read_shown(source, &options, &mut take),
    };
    let read = read.map_err(|error| explained(&error))?;
    if let Some(error) = read.report.errors.first() {
        return Err(error.to_string());
    }
    let is_shown = |quote: &VendorQuote| quote.sigma.is_finite() || quote.greeks.iter().any(|greek| greek.is_finite());
    if !quotes.is_empty() && !quotes.iter().any(is_shown) {
        return Err(format!(
            "{}: {} quotes of layout {}, none with a volatility or Greek of the vendor; docs/compare.md lists their columns",
            args.input,
            quotes.len(),
            read.layout
        ));
    }
    let [sigma, greeks @ ..] = decimals.map(|n| n.map_or(0.0, |n| 0.1_f64.powi(i32::from(n))));
    Ok(VendorFile {
        layout: read.layout,
        quotes,
        digits: VendorRow { row: 0, sigma, greeks },
        refused: read.report.refused_total() + beyond,
        places: read.report.places.iter().map(ToString::to_string).collect(),
    })
}

/// Refuses an unknown layout, and names the nearest ones.
fn check_layout(name: &str) -> Result<(), String> {
    let known = names_with_shown();
    if known.contains(&name) || history::layouts::is_layout(name) {
        return Ok(());
    }
    let words = |text: &str| text.to_lowercase().split(['-', '_']).map(str::to_owned).collect::<Vec<_>>();
    let own = words(name);
    let is_near = |other: &&&str| words(other).iter().any(|word| own.iter().any(|own| begin_alike(own, word)));
    let near: Vec<&str> = known.iter().filter(is_near).copied().collect();
    Err(match near.is_empty() {
        true => format!("--layout: no layout is called {name}; there are {}", known.join(", ")),
        false => format!("--layout: no layout is called {name}; nearest: {}", near.join(", ")),
    })
}

/// True if two words begin with the same letters: four of them, or as many as the shorter word has, at least three.
fn begin_alike(one: &str, other: &str) -> bool {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    same >= one.len().min(other.len()).clamp(3, 4)
}

/// Error text; for a file of no known layout, it lists the layouts.
fn explained(error: &LayoutError) -> String {
    match error {
        LayoutError::Unreadable(_) | LayoutError::Packed { .. } | LayoutError::NotJson { .. } => error.to_string(),
        _ => format!(
            "{error}: no known layout ({}); docs/compare.md lists the columns of each layout",
            names_with_shown().join(", ")
        ),
    }
}
