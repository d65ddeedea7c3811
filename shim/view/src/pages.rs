//! Pages of text over the screen: the explanation of a contract, positions, scenarios. It has their requests, and turns
//! answers into lines. Never: a number that the daemon did not compute.

use super::parse::TextTable;

/// Maximum number of lines of a page.
const LINES_MOST: usize = 5_000;
/// Spot moves (%) and times of a scenario.
const GRID: &str = "spot=-20..20:4&at=now,7d,30d";

/// Subject of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextPage {
    /// The explanation of a contract.
    Explanation(String),
    /// Positions by underlying, and in total.
    Positions,
    /// Call and put of a strike at other spots and times.
    Scenario([String; 2]),
    /// All positions at other spots and times.
    PositionScenario,
}

impl TextPage {
    /// Title of the page.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Explanation(osym) => format!("Explanation of {}", osym.replace(' ', "")),
            Self::Positions => "Positions".to_owned(),
            Self::Scenario(_) => "Profit of one contract by spot and time".to_owned(),
            Self::PositionScenario => "Profit of all positions by spot and time".to_owned(),
        }
    }

    /// Path and query of the request; `escaped` percent-encodes text.
    pub(crate) fn target(&self, escaped: impl Fn(&str) -> String) -> String {
        match self {
            Self::Explanation(osym) => format!("/l1/explain?osym={}&format=text", escaped(osym)),
            Self::Positions => "/l1/positions?by=underlying,total&format=csv".to_owned(),
            Self::Scenario(pair) => {
                let both: Vec<String> = pair.iter().filter(|osym| !osym.is_empty()).map(|osym| escaped(osym)).collect();
                format!("/l1/scenario?osym={}&{GRID}&greeks=none&format=csv", both.join(","))
            }
            Self::PositionScenario => format!("/l1/scenario?positions=*&sum=total&{GRID}&greeks=none&format=csv"),
        }
    }

    /// Lines of the page from an answer.
    ///
    /// # Errors
    /// The answer is no such table.
    pub(crate) fn lines(&self, bytes: &[u8]) -> Result<Vec<String>, String> {
        let mut lines = match self {
            Self::Explanation(_) => {
                let text = host::printable::printable(&String::from_utf8_lossy(bytes));
                text.lines().map(str::to_owned).collect()
            }
            Self::Positions => positions(&TextTable::read(bytes)?),
            Self::Scenario(_) | Self::PositionScenario => profits(&TextTable::read(bytes)?),
        };
        lines.truncate(LINES_MOST);
        Ok(lines)
    }
}

/// One line for each row: name, number of positions, value, profit and Greeks.
fn positions(table: &TextTable) -> Vec<String> {
    const SHOWN: [(&str, &str); 8] = [
        ("Value", "value"),
        ("Profit", "profit"),
        ("Delta $", "dollar_delta"),
        ("Gamma 1%", "gamma_1pct"),
        ("Vega", "vega"),
        ("Theta", "theta"),
        ("Decay", "decay"),
        ("Rho", "rho"),
    ];
    let heads: String = SHOWN.iter().map(|(title, _)| format!("{title:>12}")).collect();
    let mut lines = vec![format!("{:<8}{:>6}{heads}", "Name", "Lines")];
    for row in table.rows() {
        let name = if row.text("level") == "total" { "Total" } else { row.text("underlying") };
        let numbers: String = SHOWN.iter().map(|(_, field)| format!("{:>12}", money(row.number(field)))).collect();
        lines.push(format!("{name:<8}{:>6}{numbers}", row.text("positions")));
    }
    lines
}

/// Profits of each contract, or of all positions: a line for each spot, a column for each time.
fn profits(table: &TextTable) -> Vec<String> {
    let mut lines = Vec::new();
    let rows = table.rows();
    let mut contracts: Vec<&str> = rows.iter().map(|row| row.text("osym")).collect();
    contracts.dedup();
    for contract in contracts {
        let of: Vec<_> = rows.iter().filter(|row| row.text("osym") == contract).collect();
        let mut moments: Vec<&str> = of.iter().map(|row| row.text("at")).collect();
        moments.dedup();
        let mut moves: Vec<&str> = of.iter().map(|row| row.text("spot_move")).collect();
        moves.truncate(of.iter().filter(|row| Some(&row.text("at")) == moments.first()).count());
        if !lines.is_empty() {
            lines.push(String::new());
        }
        if !contract.is_empty() {
            lines.push(contract.replace(' ', ""));
        }
        let heads: String =
            moments.iter().map(|at| format!("{:>20}", at.get(..16).unwrap_or(at).replace('T', " "))).collect();
        lines.push(format!("{:>8}{heads}", "Spot %"));
        for spot in moves {
            let cell = |at: &&str| {
                let found = of.iter().find(|row| row.text("at") == *at && row.text("spot_move") == spot);
                format!("{:>20}", found.map_or_else(|| "-".to_owned(), |row| money(row.number("profit"))))
            };
            lines.push(format!("{spot:>8}{}", moments.iter().map(cell).collect::<String>()));
        }
    }
    lines
}

fn money(value: f64) -> String {
    match value {
        value if !value.is_finite() => "-".to_owned(),
        value if value.abs() >= 1000.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profits_are_a_table_of_spots_and_moments() {
        let csv =
            b"osym,at,spot_move,profit\nA  1,2026-11-20T15:42:07-05:00,-4,-1.5\nA  1,2026-11-20T15:42:07-05:00,0,0\n\
            A  1,2026-11-27T15:42:07-05:00,-4,-2\nA  1,2026-11-27T15:42:07-05:00,0,1234.5\n";
        let page = TextPage::Scenario(["A  1".to_owned(), String::new()]);
        let lines = page.lines(csv).unwrap();
        assert_eq!(lines[0], "A1");
        assert_eq!(lines[1], "  Spot %    2026-11-20 15:42    2026-11-27 15:42");
        assert_eq!(lines[2], "      -4               -1.50               -2.00");
        assert_eq!(lines[3], "       0                0.00                1234");
        let target = page.target(|text| text.replace(' ', "%20"));
        assert_eq!(target, "/l1/scenario?osym=A%20%201&spot=-20..20:4&at=now,7d,30d&greeks=none&format=csv");
    }

    #[test]
    fn positions_have_a_total() {
        let csv = b"level,underlying,positions,value,profit\nunderlying,KO,2,7334,\ntotal,,2,7334.25,\n";
        let lines = TextPage::Positions.lines(csv).unwrap();
        assert!(lines[1].starts_with("KO") && lines[2].starts_with("Total") && lines[2].contains("7334"), "{lines:?}");
    }
}
