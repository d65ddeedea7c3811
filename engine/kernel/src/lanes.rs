//! Lanes: numbers side by side. The only file that names `wide`.
//!
//! Every formula of the kernel is written once over [`Lanes`]. `f64` is the reference lane; a register of four or eight
//! doubles is as many of them, and [`Registers`] are several side by side, enough independent work to hide the latency
//! of a dependent chain. Where the processor that the build is for has no register of eight (AVX-512), `wide` makes it
//! of two of four (AVX), and those of two of two (SSE2, NEON).
//! No operation looks at another lane, so a formula gives the same bits on all of them.

use bytemuck::cast;
use core::fmt::Debug;
use core::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};
use wide::{f64x4, f64x8, u64x4, u64x8};

/// The lanes that the passes over columns use.
pub type Block = Registers<f64x8, 1>;

/// Two blocks side by side, where the work of one does not hide its own latency.
pub type TwoBlocks = Registers<f64x8, 2>;

/// Lanes of a block in the columns: every block of rows is padded to a multiple of this.
pub const BLOCK: usize = Block::N;

/// `G` registers of four doubles.
pub type Pack<const G: usize> = Registers<f64x4, G>;

/// A truth value in each lane.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// True if any lane is true.
    fn any(self) -> bool;
    /// True if every lane is true.
    fn all(self) -> bool;
    /// The truth value of lane `i`.
    fn lane(self, i: usize) -> bool;
}

/// Real numbers side by side, one option (or one grid) in each lane.
pub trait Lanes:
    Copy
    + Debug
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Number of lanes.
    const N: usize;
    /// Result of a comparison.
    type Mask: Mask;

    /// `x` in every lane.
    fn splat(x: f64) -> Self;
    /// Lanes with the number that `of` returns for the index of each.
    fn from_fn(of: impl FnMut(usize) -> f64) -> Self;
    /// The first `N` numbers of `from`. Panics if there are fewer.
    fn load(from: &[f64]) -> Self;
    /// Writes the lanes to the first `N` places of `to`. Panics if there are fewer.
    fn store(self, to: &mut [f64]);
    /// Lane `i`.
    fn lane(self, i: usize) -> f64;
    /// `self·m + a`: one rounding where the build has a fused multiply-add, two elsewhere.
    fn mul_add(self, m: Self, a: Self) -> Self;
    /// `a − self·m`, rounded like [`Lanes::mul_add`].
    fn neg_mul_add(self, m: Self, a: Self) -> Self;
    /// The greater; where one of the two is NaN, `o`.
    fn max(self, o: Self) -> Self;
    /// The smaller; where one of the two is NaN, `o`.
    fn min(self, o: Self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The nearest integer, ties to even.
    fn round(self) -> Self;
    /// `self < o`.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self ≤ o`.
    fn le(self, o: Self) -> Self::Mask;
    /// `self > o`.
    fn gt(self, o: Self) -> Self::Mask;
    /// `yes` in the lanes where the mask is true, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// 2 to the power of an integral lane, −1022 to 1023.
    fn exp2_int(self) -> Self;
    /// Mantissa in [√½, √2) and integral exponent of a positive normal number.
    fn mantissa_exponent(self) -> (Self, Self);
}

/// A number that all lanes of `L` share, or one number per lane.
pub(crate) trait InLanes<L: Lanes>: Lanes {
    /// The number as lanes.
    fn in_lanes(self) -> L;
}

impl<L: Lanes> InLanes<L> for f64 {
    #[inline(always)]
    fn in_lanes(self) -> L {
        L::splat(self)
    }
}

impl<R: Lanes, const G: usize> InLanes<Self> for Registers<R, G> {
    #[inline(always)]
    fn in_lanes(self) -> Self {
        self
    }
}

impl Mask for bool {
    fn any(self) -> bool {
        self
    }
    fn all(self) -> bool {
        self
    }
    fn lane(self, _: usize) -> bool {
        self
    }
}

/// True if `mul_add` is one instruction on this build; where it is not, both lane types round twice.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
/// The bits of √½: where the mantissa's range begins.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE: u64 = 1.0f64.to_bits();
/// 2⁵²: adding it turns a small integer into the low bits of a double.
const TWO52: f64 = 4_503_599_627_370_496.0;

impl Lanes for f64 {
    const N: usize = 1;
    type Mask = bool;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn from_fn(mut of: impl FnMut(usize) -> f64) -> Self {
        of(0)
    }
    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        from[0]
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[0] = self;
    }
    #[inline(always)]
    fn lane(self, _: usize) -> f64 {
        self
    }
    #[inline(always)]
    fn mul_add(self, m: Self, a: Self) -> Self {
        // without the instruction f64::mul_add is a call to a library, and would differ from the packs
        if FUSED { f64::mul_add(self, m, a) } else { self * m + a }
    }
    #[inline(always)]
    fn neg_mul_add(self, m: Self, a: Self) -> Self {
        if FUSED { f64::mul_add(-self, m, a) } else { a - self * m }
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        // not f64::max, which treats NaN in another way than a compare and a blend
        if self > o { self } else { o }
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        if self < o { self } else { o }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn round(self) -> Self {
        f64::round_ties_even(self)
    }
    #[inline(always)]
    fn lt(self, o: Self) -> bool {
        self < o
    }
    #[inline(always)]
    fn le(self, o: Self) -> bool {
        self <= o
    }
    #[inline(always)]
    fn gt(self, o: Self) -> bool {
        self > o
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn exp2_int(self) -> Self {
        // the sum holds the biased exponent in its low bits, and the shift moves it into place: no conversion to
        // integer
        let n = (self + (TWO52 + 1023.0)).to_bits();
        f64::from_bits(n << 52)
    }
    #[inline(always)]
    fn mantissa_exponent(self) -> (Self, Self) {
        let bits = self.to_bits();
        // the exponent rounds up from √½ on, so the mantissa is centred on 1 and ln has no cancellation there
        let raised = (bits.wrapping_sub(SQRT_HALF).wrapping_add(ONE)) >> 52;
        let exponent = f64::from_bits(raised | TWO52.to_bits()) - (TWO52 + 1023.0);
        let mantissa = f64::from_bits(bits.wrapping_sub(raised << 52).wrapping_add(ONE));
        (mantissa, exponent)
    }
}

/// Registers of `wide` as lanes; a mask fills a lane of the same register with ones or zeros.
macro_rules! register {
    ($($register:ident, $bits:ident, $n:literal;)*) => {$(
        impl Mask for $register {
            #[inline(always)]
            fn any(self) -> bool {
                $register::any(self)
            }
            #[inline(always)]
            fn all(self) -> bool {
                $register::all(self)
            }
            #[inline(always)]
            fn lane(self, i: usize) -> bool {
                self.to_bitmask() >> i & 1 == 1
            }
        }

        impl Lanes for $register {
            const N: usize = $n;
            type Mask = Self;

            #[inline(always)]
            fn splat(x: f64) -> Self {
                $register::splat(x)
            }
            #[inline(always)]
            fn from_fn(of: impl FnMut(usize) -> f64) -> Self {
                $register::new(core::array::from_fn(of))
            }
            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let (chunks, _) = from[..$n].as_chunks();
                $register::new(chunks[0])
            }
            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                to[..$n].copy_from_slice(&self.to_array());
            }
            #[inline(always)]
            fn lane(self, i: usize) -> f64 {
                self.to_array()[i]
            }
            #[inline(always)]
            fn mul_add(self, m: Self, a: Self) -> Self {
                $register::mul_add(self, m, a)
            }
            #[inline(always)]
            fn neg_mul_add(self, m: Self, a: Self) -> Self {
                self.mul_neg_add(m, a)
            }
            #[inline(always)]
            fn max(self, o: Self) -> Self {
                // the compare and blend of the scalar lane, so that NaN goes the same way on every instruction set: on
                // x86 one instruction does both
                if cfg!(target_arch = "x86_64") { self.fast_max(o) } else { <$register>::select(self.simd_gt(o), self, o) }
            }
            #[inline(always)]
            fn min(self, o: Self) -> Self {
                if cfg!(target_arch = "x86_64") { self.fast_min(o) } else { <$register>::select(self.simd_lt(o), self, o) }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $register::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $register::sqrt(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn lt(self, o: Self) -> Self {
                self.simd_lt(o)
            }
            #[inline(always)]
            fn le(self, o: Self) -> Self {
                self.simd_le(o)
            }
            #[inline(always)]
            fn gt(self, o: Self) -> Self {
                self.simd_gt(o)
            }
            #[inline(always)]
            fn select(mask: Self, yes: Self, no: Self) -> Self {
                <$register>::select(mask, yes, no)
            }
            #[inline(always)]
            fn exp2_int(self) -> Self {
                cast::<$bits, _>(cast::<_, $bits>(self + (TWO52 + 1023.0)) << 52u32)
            }
            #[inline(always)]
            fn mantissa_exponent(self) -> (Self, Self) {
                let (bits, one) = (cast::<_, $bits>(self), $bits::splat(ONE));
                let raised = (bits - $bits::splat(SQRT_HALF) + one) >> 52u32;
                let exponent = cast::<_, Self>(raised | $bits::splat(TWO52.to_bits())) - (TWO52 + 1023.0);
                (cast(bits - (raised << 52u32) + one), exponent)
            }
        }
    )*};
}
register! { f64x4, u64x4, 4; f64x8, u64x8, 8; }

/// `G` registers side by side.
#[derive(Clone, Copy, Debug)]
pub struct Registers<R, const G: usize>([R; G]);

/// The answers of a comparison of two [`Registers`].
#[derive(Clone, Copy)]
pub struct RegistersMask<R: Lanes, const G: usize>([R::Mask; G]);

macro_rules! each {
    ($i:ident => $e:expr) => {{
        core::array::from_fn(
            #[inline(always)]
            |$i| $e,
        )
    }};
}

macro_rules! operator {
    ($($trait:ident, $call:ident, $assign:ident, $call_assign:ident;)*) => {$(
        impl<R: Lanes, const G: usize> $trait for Registers<R, G> {
            type Output = Self;
            #[inline(always)]
            fn $call(self, o: Self) -> Self {
                Registers(each!(i => $trait::$call(self.0[i], o.0[i])))
            }
        }
        impl<R: Lanes, const G: usize> $trait<f64> for Registers<R, G> {
            type Output = Self;
            #[inline(always)]
            fn $call(self, o: f64) -> Self {
                $trait::$call(self, Self::splat(o))
            }
        }
        impl<R: Lanes, const G: usize> $assign for Registers<R, G> {
            #[inline(always)]
            fn $call_assign(&mut self, o: Self) {
                *self = $trait::$call(*self, o);
            }
        }
    )*};
}
operator! {
    Add, add, AddAssign, add_assign;
    Sub, sub, SubAssign, sub_assign;
    Mul, mul, MulAssign, mul_assign;
    Div, div, DivAssign, div_assign;
}

impl<R: Lanes, const G: usize> Neg for Registers<R, G> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Registers(each!(i => -self.0[i]))
    }
}

impl<R: Lanes, const G: usize> BitAnd for RegistersMask<R, G> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, o: Self) -> Self {
        RegistersMask(each!(i => self.0[i] & o.0[i]))
    }
}
impl<R: Lanes, const G: usize> BitOr for RegistersMask<R, G> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, o: Self) -> Self {
        RegistersMask(each!(i => self.0[i] | o.0[i]))
    }
}
impl<R: Lanes, const G: usize> Not for RegistersMask<R, G> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        RegistersMask(each!(i => !self.0[i]))
    }
}
impl<R: Lanes, const G: usize> Mask for RegistersMask<R, G> {
    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().any(|m| m.any())
    }
    #[inline(always)]
    fn all(self) -> bool {
        self.0.iter().all(|m| m.all())
    }
    #[inline(always)]
    fn lane(self, i: usize) -> bool {
        self.0[i / R::N].lane(i % R::N)
    }
}

impl<R: Lanes, const G: usize> Lanes for Registers<R, G> {
    const N: usize = R::N * G;
    type Mask = RegistersMask<R, G>;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Registers([R::splat(x); G])
    }
    #[inline(always)]
    fn from_fn(mut of: impl FnMut(usize) -> f64) -> Self {
        Registers(each!(i => R::from_fn(|lane| of(i * R::N + lane))))
    }
    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let from = &from[..Self::N];
        Registers(each!(i => R::load(&from[i * R::N..])))
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        for (to, register) in to[..Self::N].chunks_exact_mut(R::N).zip(self.0) {
            register.store(to);
        }
    }
    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        self.0[i / R::N].lane(i % R::N)
    }
    #[inline(always)]
    fn mul_add(self, m: Self, a: Self) -> Self {
        Registers(each!(i => self.0[i].mul_add(m.0[i], a.0[i])))
    }
    #[inline(always)]
    fn neg_mul_add(self, m: Self, a: Self) -> Self {
        Registers(each!(i => self.0[i].neg_mul_add(m.0[i], a.0[i])))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Registers(each!(i => self.0[i].max(o.0[i])))
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Registers(each!(i => self.0[i].min(o.0[i])))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Registers(each!(i => self.0[i].abs()))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Registers(each!(i => self.0[i].sqrt()))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Registers(each!(i => self.0[i].round()))
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self::Mask {
        RegistersMask(each!(i => self.0[i].lt(o.0[i])))
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self::Mask {
        RegistersMask(each!(i => self.0[i].le(o.0[i])))
    }
    #[inline(always)]
    fn gt(self, o: Self) -> Self::Mask {
        RegistersMask(each!(i => self.0[i].gt(o.0[i])))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Registers(each!(i => R::select(mask.0[i], yes.0[i], no.0[i])))
    }
    #[inline(always)]
    fn exp2_int(self) -> Self {
        Registers(each!(i => self.0[i].exp2_int()))
    }
    #[inline(always)]
    fn mantissa_exponent(self) -> (Self, Self) {
        let both: [(R, R); G] = each!(i => self.0[i].mantissa_exponent());
        (Registers(each!(i => both[i].0)), Registers(each!(i => both[i].1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers at which instruction sets could differ: a multiple of every width of lanes.
    const NUMBERS: [f64; 24] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        0.1,
        -0.3,
        0.499_999_999_999_999_94,
        TWO52 - 0.5,
        -TWO52 - 1.0,
        1e-300,
        5e-324,
        -4e-310,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        f64::MAX,
        f64::MIN,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// The results of every operation on three numbers.
    fn operations<L: Lanes>(a: L, b: L, c: L) -> Vec<L> {
        let (mut sum, mut difference, mut product) = (a, a, a);
        sum += b;
        difference -= b;
        product *= b;
        let pick = |mask: L::Mask| L::select(mask, a, c);
        vec![
            sum,
            difference,
            product,
            a + b,
            a - b,
            a * b,
            a / b,
            a + 0.1,
            a - 0.1,
            a * 0.1,
            a / 0.1,
            -a,
            a.mul_add(b, c),
            a.neg_mul_add(b, c),
            a.max(b),
            a.min(b),
            a.abs(),
            a.sqrt(),
            a.round(),
            pick(a.lt(b)),
            pick(a.le(b)),
            pick(a.gt(b)),
            pick(a.lt(b) & b.le(c)),
            pick(a.lt(b) | b.gt(c)),
            pick(!a.le(b)),
        ]
    }

    /// Bits of a number; one pattern for every NaN, whose payload is the processor's choice.
    fn bits(x: f64) -> u64 {
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    }

    /// Compares every operation on `L` with the scalar's, lane by lane.
    fn equals_the_scalar<L: Lanes>() {
        let n = NUMBERS.len();
        assert_eq!(n % L::N, 0);
        let at = |i: usize| NUMBERS[i % n];
        for (first, second) in (0..n).flat_map(|first| (0..n).map(move |second| (first, second))) {
            for start in (0..n).step_by(L::N) {
                let lanes = |shift: usize| -> Vec<f64> { (0..L::N).map(|i| at(start + shift + i)).collect() };
                let (a, b, c) = (lanes(0), lanes(first), lanes(second));
                let (x, y, z) = (L::load(&a), L::load(&b), L::load(&c));
                let all = operations(x, y, z);
                let mask = x.lt(y);
                assert_eq!(mask.any(), (0..L::N).any(|i| a[i] < b[i]), "{a:?} < {b:?}");
                assert_eq!(mask.all(), (0..L::N).all(|i| a[i] < b[i]), "{a:?} < {b:?}");
                for i in 0..L::N {
                    assert_eq!(mask.lane(i), a[i] < b[i], "lane {i} of {a:?} < {b:?}");
                    for (which, (ours, one)) in all.iter().zip(operations(a[i], b[i], c[i])).enumerate() {
                        let ours = ours.lane(i);
                        assert_eq!(bits(ours), bits(one), "{which} of {} {} {}: {ours} {one}", a[i], b[i], c[i]);
                    }
                }
            }
        }
        for exponent in -1022..=1023 {
            let mut stored = vec![0.0; L::N];
            L::splat(f64::from(exponent)).exp2_int().store(&mut stored);
            let x = f64::from(exponent).exp2_int();
            for mantissa in [1.0, 1.25, f64::from_bits(SQRT_HALF) * 2.0, 2.0f64.next_down()] {
                let (m, e) = (x * mantissa).mantissa_exponent();
                let lanes = L::splat(x * mantissa).mantissa_exponent();
                for (i, &power) in stored.iter().enumerate() {
                    assert_eq!(bits(power), bits(x));
                    assert_eq!([lanes.0, lanes.1].map(|l| bits(l.lane(i))), [m, e].map(bits), "{}", x * mantissa);
                }
            }
        }
    }

    #[test]
    fn every_operation_gives_the_scalar_s_bits() {
        equals_the_scalar::<Pack<1>>();
        equals_the_scalar::<Pack<3>>();
        equals_the_scalar::<Block>();
        equals_the_scalar::<Registers<f64x8, 3>>();
    }
}
