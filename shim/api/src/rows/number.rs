//! Numbers to decimal text: correctly rounded, trailing zeros trimmed to a least count, never an exponent, never `-0`.
//!
//! A number is scaled to an integer, its digits are made eight at a time with multiplications, and sign, digits and
//! point are put together in one 16-byte word, so that a number costs one store. The scaled product can mislead only if
//! it rounds to exactly one half. Then the error of the multiplication decides, and if that is zero, the even neighbour
//! wins. So the text is the correctly rounded decimal of the exact binary value, as `format!("{:.6}")` prints it.
//!
//! For [`BLOCK`] numbers at once, the steps up to the digits run side by side ([`TextBlock`]), in plain loops over
//! arrays that the compiler vectorises. Each number has the same steps and the same text as alone. Never: an
//! allocation, a bound on what may be printed.

use std::io::Write;

/// Maximum bytes of one number: the widest finite `f64` with sign, point and eight decimals.
pub const NUMBER_MAX: usize = 320;

/// Numbers of less than this magnitude take the fast path: their integer part has at most eight digits.
const FAST_MAX: f64 = 1e8;

/// Decimals that a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// Up to this many, in shortest form: `0.25`, `100`.
    UpTo(u8),
    /// Always this many: `100.00`.
    Fixed(u8),
    /// Up to this many but at least one: `0.0`, for readers that take a number without a point for an integer.
    Point(u8),
    /// Always this many, as a word: `"100.00"` in JSON.
    Words(u8),
}

/// Writes `x` as [`put`] does, with the decimals that a column shows. The widths that tables use are compiled in;
/// others go through the standard library.
#[inline]
#[must_use]
pub fn put_as(buf: &mut [u8], at: usize, x: f64, print: Print) -> usize {
    match print {
        Print::UpTo(6) => put::<6, 0>(buf, at, x),
        Print::UpTo(4) => put::<4, 0>(buf, at, x),
        Print::Point(6) => put::<6, 1>(buf, at, x),
        Print::Point(4) => put::<4, 1>(buf, at, x),
        Print::Point(3) => put::<3, 1>(buf, at, x),
        Print::Fixed(4) => put::<4, 4>(buf, at, x),
        Print::Fixed(5) | Print::Words(5) => put::<5, 5>(buf, at, x),
        Print::Fixed(2) | Print::Words(2) => put::<2, 2>(buf, at, x),
        Print::UpTo(most) => put_wide(buf, at, x, most.into(), 0),
        Print::Fixed(most) | Print::Words(most) => put_wide(buf, at, x, most.into(), most.into()),
        Print::Point(most) => put_wide(buf, at, x, most.into(), most.min(1).into()),
    }
}

/// The text of `x`, which must be finite, with the decimals that a column shows.
#[must_use]
pub fn text(x: f64, print: Print) -> String {
    let mut buf = [0; NUMBER_MAX];
    let end = put_as(&mut buf, 0, x, print);
    String::from_utf8_lossy(&buf[..end]).into_owned()
}

/// The text `00000000` as a little-endian word.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Writes `x` with at least `LEAST` and at most `MOST` (up to 6) decimals at `buf[at..]` and returns the end of the
/// text. Bytes after the end, up to [`NUMBER_MAX`], may be overwritten. `x` must be finite.
#[inline(always)]
#[must_use]
pub fn put<const MOST: usize, const LEAST: usize>(buf: &mut [u8], at: usize, x: f64) -> usize {
    if x.abs() < FAST_MAX - 1.0 {
        put_scaled::<MOST, LEAST>(buf, at, x < 0.0, scaled::<MOST>(x))
    } else {
        put_wide(buf, at, x, MOST, LEAST)
    }
}

/// Appends `x`, which must be finite, with the decimals that a column shows.
#[inline]
pub fn push_as(to: &mut Vec<u8>, x: f64, print: Print) {
    // a short buffer where the text is: to clear a long one takes longer than the digits
    if let (Print::UpTo(6) | Print::Point(6), true) = (print, x.abs() < FAST_MAX - 1.0) {
        let mut buf = [0; 16];
        let end = to.len() + put_as(&mut buf, 0, x, print);
        // a copy of one length is a store
        to.extend_from_slice(&buf);
        return to.truncate(end);
    }
    let mut buf = [0; NUMBER_MAX];
    let end = put_as(&mut buf, 0, x, print);
    to.extend_from_slice(&buf[..end]);
}

/// Number of texts that are made side by side.
pub const BLOCK: usize = 8;

/// The texts of [`BLOCK`] numbers.
#[derive(Clone, Debug, Default)]
pub struct TextBlock {
    /// Text of each number in the lower bytes, first character lowest.
    words: [u128; BLOCK],
    /// Bytes of each text; 0: not made, because the number is missing or [`put_as`] has to write it.
    len: [u8; BLOCK],
}

impl TextBlock {
    /// Makes the texts of these numbers with the decimals that a column shows, equal to those of [`put_as`].
    pub fn fill(&mut self, print: Print, x: &[f64; BLOCK]) {
        match print {
            Print::UpTo(6) => self.make::<6, 0>(x),
            Print::UpTo(4) => self.make::<4, 0>(x),
            Print::Point(6) => self.make::<6, 1>(x),
            Print::Point(4) => self.make::<4, 1>(x),
            Print::Fixed(4) => self.make::<4, 4>(x),
            Print::Fixed(5) | Print::Words(5) => self.make::<5, 5>(x),
            Print::Fixed(2) | Print::Words(2) => self.make::<2, 2>(x),
            Print::UpTo(_) | Print::Fixed(_) | Print::Words(_) | Print::Point(_) => self.len = [0; BLOCK],
        }
    }

    /// Writes the text of number `k` at `buf[at..]` and returns its end; `None`: it was not made. Bytes after the end,
    /// up to 16 from `at`, may be overwritten.
    #[inline(always)]
    #[must_use]
    pub fn put(&self, k: usize, buf: &mut [u8], at: usize) -> Option<usize> {
        let len = usize::from(self.len[k]);
        if len == 0 {
            return None;
        }
        buf[at..at + 16].copy_from_slice(&self.words[k].to_le_bytes());
        Some(at + len)
    }

    #[inline(never)]
    fn make<const MOST: usize, const LEAST: usize>(&mut self, x: &[f64; BLOCK]) {
        let unit = const { 10u64.pow(MOST as u32) as f64 };
        let widen = const { 10u64.pow(8 - MOST as u32) };
        let (mut whole, mut fraction, mut is_made) = ([0; BLOCK], [0; BLOCK], [false; BLOCK]);
        for k in 0..BLOCK {
            let magnitude = x[k].abs();
            let product = magnitude * unit;
            let rounded = product.round_ties_even();
            // neither missing, nor large, nor a product that rounds to a half
            is_made[k] = (magnitude < FAST_MAX - 1.0) & ((product - rounded).abs() < 0.5);
            let scaled = if is_made[k] { rounded } else { 0.0 };
            // the quotient of a whole number may fall just below it
            let below = (scaled * (1.0 / unit)).floor();
            let left = scaled - below * unit;
            let carry = if left >= unit { 1.0 } else { 0.0 };
            whole[k] = bits_of(below + carry);
            fraction[k] = bits_of(left - carry * unit) * widen;
        }
        let (whole, fraction) = (whole.map(digits8), fraction.map(digits8));
        for k in 0..BLOCK {
            let (word, len) = compose::<MOST, LEAST>(x[k] < 0.0, whole[k], fraction[k]);
            self.words[k] = word;
            self.len[k] = if is_made[k] { len as u8 } else { 0 };
        }
    }
}

/// A whole number below 2^32 as an integer, by a step that all vector instructions have.
#[inline(always)]
fn bits_of(x: f64) -> u64 {
    (x + (1u64 << 52) as f64).to_bits() & 0xffff_ffff
}

/// Writes a strike given in thousandths, in shortest form. Bytes after the end may be overwritten.
#[inline]
#[must_use]
pub fn put_milli(buf: &mut [u8], at: usize, milli: u32) -> usize {
    put_scaled::<3, 0>(buf, at, false, u64::from(milli))
}

/// The eight digits of a strike in an OSI symbol. Strikes of 100,000 and more have no symbol; their text is cut.
#[inline]
#[must_use]
pub fn osi_digits(milli: u32) -> [u8; 8] {
    (digits8(u64::from(milli % 100_000_000)) | ZEROS).to_le_bytes()
}

/// |x|·10^`MOST` rounded to an integer, exactly: ties of the exact value to even.
#[inline(always)]
fn scaled<const MOST: usize>(x: f64) -> u64 {
    let scale = const { 10u64.pow(MOST as u32) as f64 };
    let magnitude = x.abs();
    let product = magnitude * scale;
    let mut rounded = product.round_ties_even();
    if (product - rounded).abs() >= 0.5 {
        rounded = break_tie(magnitude, scale, product);
    }
    rounded as u64
}

/// Rounds a `product` that ends in exactly one half: the error of the multiplication gives the side of the exact
/// product.
#[cold]
#[inline(never)]
fn break_tie(magnitude: f64, scale: f64, product: f64) -> f64 {
    let error = magnitude.mul_add(scale, -product);
    if error > 0.0 {
        product.ceil()
    } else if error < 0.0 {
        product.floor()
    } else {
        product.round_ties_even()
    }
}

/// Writes the integer `scaled`·10^−`MOST`. The integer part has at most eight digits.
#[inline(always)]
fn put_scaled<const MOST: usize, const LEAST: usize>(buf: &mut [u8], at: usize, negative: bool, scaled: u64) -> usize {
    const { assert!(LEAST <= MOST && MOST <= 6) };
    let unit = const { 10u64.pow(MOST as u32) };
    let widen = const { 10u64.pow(8 - MOST as u32) };
    let (whole, fraction) = (digits8(scaled / unit), digits8(scaled % unit * widen));
    let (word, len) = compose::<MOST, LEAST>(negative, whole, fraction);
    buf[at..at + 16].copy_from_slice(&word.to_le_bytes());
    at + len
}

/// Sign, digits before the point, point and decimals as one word, first character lowest, and their number.
#[inline(always)]
fn compose<const MOST: usize, const LEAST: usize>(negative: bool, whole: u64, fraction: u64) -> (u128, usize) {
    // The last digit before the point is always shown.
    let lead = (whole | 1 << 56).trailing_zeros() / 8;
    let (text, n_whole) = ((whole | ZEROS) >> (8 * lead), 8 - lead as usize);
    // Decimals after the last one that is not zero are not shown, beyond `LEAST`.
    let n_significant = 8 - fraction.leading_zeros() as usize / 8;
    let n_decimals = n_significant.max(LEAST);
    let n_tail = if n_decimals == 0 { 0 } else { n_decimals + 1 };
    let tail = ((fraction | ZEROS) << 8) | u64::from(b'.');
    let minus = usize::from(negative && (whole | fraction) != 0);
    let unsigned = (u128::from(tail) << (8 * n_whole)) | u128::from(text);
    let word = (unsigned << (8 * minus)) | (u128::from(b'-') & (minus as u128).wrapping_neg());
    (word, minus + n_whole + n_tail)
}

/// The eight decimal digits of a number below 10^8, one byte each (0 to 9), first digit in the lowest byte.
///
/// Halves, then quarters, then single digits are split in parallel lanes of one word; each division by a constant is a
/// multiplication by its reciprocal, exact over the lane's range.
#[inline(always)]
fn digits8(n: u64) -> u64 {
    let high = ((n & 0xffff_ffff) * 109_951_163) >> 40;
    let fours = high | ((n - 10_000 * high) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// Numbers of 100 million and more, and unusual widths, by the standard library.
#[cold]
#[inline(never)]
fn put_wide(buf: &mut [u8], at: usize, x: f64, most: usize, least: usize) -> usize {
    let free = buf.len() - at;
    let mut rest = &mut buf[at..];
    if write!(rest, "{x:.most$}").is_err() {
        return at;
    }
    let mut end = at + free - rest.len();
    let shortest = end - (most - least);
    while end > shortest && buf[end - 1] == b'0' {
        end -= 1;
    }
    if buf[end - 1] == b'.' {
        end -= 1;
    }
    let is_zero = buf[at..end].iter().all(|b| matches!(b, b'-' | b'0' | b'.'));
    if is_zero && buf[at] == b'-' {
        buf.copy_within(at + 1..end, at);
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text<const MOST: usize, const LEAST: usize>(x: f64) -> String {
        let mut buf = [0; NUMBER_MAX];
        let end = put::<MOST, LEAST>(&mut buf, 0, x);
        String::from_utf8(buf[..end].to_vec()).unwrap()
    }

    /// The standard library's correctly rounded text, zeros trimmed, sign of zero dropped.
    fn expected(x: f64, most: usize, least: usize) -> String {
        let mut text = format!("{x:.most$}");
        for _ in least..most {
            if !text.ends_with('0') {
                break;
            }
            text.pop();
        }
        let text = text.trim_end_matches('.').to_owned();
        match text.strip_prefix('-') {
            Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
            _ => text,
        }
    }

    fn text_as(x: f64, print: Print) -> String {
        let mut buf = [0; NUMBER_MAX];
        let end = put_as(&mut buf, 0, x, print);
        String::from_utf8(buf[..end].to_vec()).unwrap()
    }

    #[test]
    fn a_number_with_a_point_has_one_whichever_way_it_is_made() {
        for (x, want) in
            [(60.0, "60.0"), (0.0, "0.0"), (-0.0, "0.0"), (67.5, "67.5"), (-1e-9, "0.0"), (1e9, "1000000000.0")]
        {
            assert_eq!(text_as(x, Print::Point(6)), want);
            assert_eq!(text_as(x, Print::Point(3)), want);
            let mut block = TextBlock::default();
            block.fill(Print::Point(6), &[x; BLOCK]);
            let mut buf = [0; NUMBER_MAX];
            if let Some(end) = block.put(3, &mut buf, 0) {
                assert_eq!(&buf[..end], want.as_bytes());
            }
        }
    }

    #[test]
    fn unusual_widths_follow_the_same_rules() {
        for x in [0.0, -0.0, -1e-9, 0.5, -2.25, 1234.5678, 1e9, -0.05, 100.0, -99_999_998.123_456_4, 99_999_999.5] {
            for most in 0..=8 {
                let wide = usize::from(most);
                assert_eq!(text_as(x, Print::UpTo(most)), expected(x, wide, 0));
                for print in [Print::UpTo(most), Print::Point(most)] {
                    let mut pushed = Vec::new();
                    push_as(&mut pushed, x, print);
                    assert_eq!(String::from_utf8(pushed).unwrap(), text_as(x, print));
                }
                assert_eq!(text_as(x, Print::Fixed(most)), expected(x, wide, wide));
                assert_eq!(text_as(x, Print::Point(most)), expected(x, wide, wide.min(1)));
                assert_eq!(text_as(x, Print::Words(most)), expected(x, wide, wide));
            }
        }
    }

    #[test]
    fn zero_has_no_sign_at_any_width() {
        let tiny = [-0.0, -f64::MIN_POSITIVE, -5e-324, -1e-12, -1e-9, -4.9e-9];
        for most in 0..=8u8 {
            for print in [Print::UpTo(most), Print::Fixed(most), Print::Point(most), Print::Words(most)] {
                for x in tiny {
                    let text = text_as(x, print);
                    assert!(text.bytes().all(|b| b == b'0' || b == b'.'), "{x:e} as {print:?}: {text}");
                    let (mut block, mut buf) = (TextBlock::default(), [0; 16]);
                    block.fill(print, &[x; BLOCK]);
                    if let Some(end) = block.put(0, &mut buf, 0) {
                        assert_eq!(std::str::from_utf8(&buf[..end]).unwrap(), text, "{x:e} as {print:?}, in a block");
                    }
                }
            }
        }
    }

    /// Every (most, least) that a table uses.
    fn check(x: f64) {
        assert_eq!(text::<6, 0>(x), expected(x, 6, 0), "{x:e}");
        assert_eq!(text::<5, 5>(x), expected(x, 5, 5), "{x:e}");
        assert_eq!(text::<4, 0>(x), expected(x, 4, 0), "{x:e}");
        assert_eq!(text::<4, 1>(x), expected(x, 4, 1), "{x:e}");
        assert_eq!(text::<4, 4>(x), expected(x, 4, 4), "{x:e}");
        assert_eq!(text::<2, 2>(x), expected(x, 2, 2), "{x:e}");
        assert_eq!(text::<0, 0>(x), expected(x, 0, 0), "{x:e}");
        check_block(x);
    }

    /// A block has the texts of its numbers one by one, or leaves a number out.
    fn check_block(x: f64) {
        let around = [x, -x, x * 1.000_000_1, f64::NAN, x + 1.0, 0.0, x * 7.0, 1e9];
        let (mut block, mut buf) = (TextBlock::default(), [0; 16]);
        let prints =
            [Print::UpTo(6), Print::UpTo(4), Print::Point(4), Print::Fixed(4), Print::Fixed(5), Print::Words(2)];
        for print in prints {
            block.fill(print, &around);
            for (k, &x) in around.iter().enumerate() {
                match block.put(k, &mut buf, 0) {
                    Some(end) => assert_eq!(std::str::from_utf8(&buf[..end]).unwrap(), text_as(x, print), "{x:e}"),
                    None => assert!(x.is_nan() || x.abs() >= FAST_MAX - 1.0 || is_tie(x, print), "{x:e} {print:?}"),
                }
            }
        }
        block.fill(Print::UpTo(3), &around);
        assert_eq!(block.put(0, &mut buf, 0), None, "a width that no table uses");
    }

    /// True if the digit after the last one that is shown is a five, and nothing behind it counts.
    fn is_tie(x: f64, print: Print) -> bool {
        let (Print::UpTo(n) | Print::Fixed(n) | Print::Words(n) | Print::Point(n)) = print;
        let product = x.abs() * 10f64.powi(n.into());
        (product - product.floor() - 0.5).abs() < 1e-9
    }

    /// A small generator, so that millions of cases take seconds.
    fn xorshift(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    #[test]
    fn edges_are_spelt_out() {
        let rows = [
            (0.0, "0"),
            (-0.0, "0"),
            (-1e-9, "0"),
            (5e-7, "0"),
            (5.000000000000001e-7, "0.000001"),
            (-5e-324, "0"),
            (1.5e-6, "0.000002"),
            (9.9999995, "9.999999"),
            (9.99999951, "10"),
            (0.597061, "0.597061"),
            (-0.5, "-0.5"),
            (100.0, "100"),
            (99_999_998.999_999_9, "99999999"),
            (99_999_999.5, "99999999.5"),
            (-123_456_789.125, "-123456789.125"),
            (1e21, "1000000000000000000000"),
        ];
        for (x, wanted) in rows {
            assert_eq!(text::<6, 0>(x), wanted, "{x:e}");
        }
        assert_eq!(text::<5, 5>(-0.000_001), "0.00000");
        assert_eq!(text::<4, 1>(0.0), "0.0");
        assert_eq!(text::<6, 0>(f64::MAX).len(), 309);
        assert!(text::<6, 6>(f64::MIN).len() <= NUMBER_MAX);
    }

    #[test]
    fn text_is_the_correctly_rounded_decimal_at_every_magnitude() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for magnitude in [1e-6, 1e-3, 1.0, 600.0, 1e5, 2e8, 1e12] {
            for _ in 0..40_000 {
                let unit = (xorshift(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
                check((unit - 0.5) * 2.0 * magnitude);
            }
        }
    }

    #[test]
    fn decimals_that_end_in_five_past_the_cut_round_by_their_exact_binary_value() {
        let mut state = 0x2545_f491_4f6c_dd1d;
        for decimals in [3, 5, 6, 7] {
            for _ in 0..60_000 {
                let n = xorshift(&mut state) % 1_000_000_000;
                let x = (n * 10 + 5) as f64 / 10f64.powi(decimals);
                check(x);
                check(-x);
            }
        }
        // Exact ties: sixteenths and their like.
        for n in 0..200_000u32 {
            check(f64::from(n) / 128.0);
        }
    }

    #[test]
    fn strikes_are_printed_from_thousandths() {
        let mut buf = [0; 16];
        for milli in (0..3_000_000).chain([99_999_999, 12_345_678, 4_294_967_295]) {
            let end = put_milli(&mut buf, 0, milli);
            let wanted = expected(f64::from(milli) / 1000.0, 3, 0);
            assert_eq!(std::str::from_utf8(&buf[..end]).unwrap(), wanted);
            if milli < 100_000_000 {
                assert_eq!(std::str::from_utf8(&osi_digits(milli)).unwrap(), format!("{milli:08}"));
            }
        }
    }

    proptest! {
        #[test]
        fn any_finite_number_is_printed_like_the_standard_library(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            if x.is_finite() {
                check(x);
            }
        }
    }
}
