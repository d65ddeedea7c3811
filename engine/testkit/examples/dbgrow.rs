use kernel::greeks::{Greek, Greeks};
use testkit::chain::{accurate, served};
use testkit::golden::rows;
use testkit::ruler::golden_error;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    for row in rows(&a[1]) {
        if a[2..].contains(&row.id) {
            let (k, sigma) = (row.k, row.vol());
            for (name, p) in [
                ("served", served(row.style, row.right, &row.terms, k, sigma)),
                ("acc", accurate(row.style, row.right, &row.terms, k, sigma)),
            ] {
                let g: Greeks<f64> = p.at(&row.terms, row.s).greeks(k, sigma);
                println!(
                    "{} {name} {:?}",
                    row.id,
                    [
                        Greek::Value,
                        Greek::Delta,
                        Greek::Gamma,
                        Greek::Speed,
                        Greek::Vega,
                        Greek::Ultima,
                        Greek::Rho,
                        Greek::Epsilon,
                        Greek::Vera
                    ]
                    .map(|x| golden_error(&row, x, &g).map(|e| (e * 1e12).round() / 1e12))
                );
                println!("   {p:?}");
            }
        }
    }
}
