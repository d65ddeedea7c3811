//! Memory by purpose: bytes of everything that grows with feeds and requests, summed over live objects. Never: a bound,
//! which stands where the memory is taken.

use http::metrics::write_metric;

/// Purpose of memory, as a label, and its bytes.
pub type Entry = (&'static str, u64);

/// Appends the ledger as one metric.
pub fn write_prometheus(entries: &[Entry], out: &mut String) {
    let samples = entries.iter().map(|&(of, bytes)| ([("of", of)], bytes));
    write_metric(out, "memory_bytes", "Allocated bytes by purpose, without the overhead of the allocator", samples);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_a_line_of_one_metric() {
        let mut out = String::new();
        write_prometheus(&[("chains", 7), ("books", 8)], &mut out);
        let lines: Vec<&str> = out.lines().skip(2).collect();
        assert_eq!(lines, [r#"greeksd_memory_bytes{of="chains"} 7"#, r#"greeksd_memory_bytes{of="books"} 8"#]);
    }
}
