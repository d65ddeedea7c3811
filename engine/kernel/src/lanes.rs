//! What a lane is made of: the only file that names `wide`.
//!
//! Every formula of the kernel is written once over [`Lanes`]. `f64` is the reference lane; [`Pack`] is `G` AVX2 (or
//! NEON, or SSE2) registers side by side, enough independent work to hide the latency of a dependent chain.
//! No operation looks at another lane, so a formula on `Pack` gives the same bits as on `f64`.

use core::fmt::Debug;
use core::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};
use wide::{f64x4, u64x4};

/// Lanes of a block in the columns: every block of rows is padded to a multiple of this.
pub const BLOCK: usize = 8;

/// The lanes that the passes over columns use.
pub type Block = Pack<2>;

/// A yes or no in each lane.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// True if any lane says yes.
    fn any(self) -> bool;
    /// True if every lane says yes.
    fn all(self) -> bool;
    /// The answer of lane `i`.
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
    /// How many lanes.
    const N: usize;
    /// What a comparison gives.
    type Mask: Mask;

    /// The same number in every lane.
    fn splat(x: f64) -> Self;
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
    /// `yes` where the mask says so, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// 2 to the power of an integral lane, −1022 to 1023.
    fn exp2_int(self) -> Self;
    /// Mantissa in [√½, √2) and integral exponent of a positive normal number.
    fn mantissa_exponent(self) -> (Self, Self);
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

/// `G` registers of four doubles.
#[derive(Clone, Copy, Debug)]
pub struct Pack<const G: usize>([f64x4; G]);

/// The answers of a comparison of two [`Pack`]s.
#[derive(Clone, Copy, Debug)]
pub struct PackMask<const G: usize>([f64x4; G]);

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
        impl<const G: usize> $trait for Pack<G> {
            type Output = Self;
            #[inline(always)]
            fn $call(self, o: Self) -> Self {
                Pack(each!(i => $trait::$call(self.0[i], o.0[i])))
            }
        }
        impl<const G: usize> $trait<f64> for Pack<G> {
            type Output = Self;
            #[inline(always)]
            fn $call(self, o: f64) -> Self {
                $trait::$call(self, Self::splat(o))
            }
        }
        impl<const G: usize> $assign for Pack<G> {
            #[inline(always)]
            fn $call_assign(&mut self, o: Self) {
                *self = $trait::$call(*self, o);
            }
        }
    )*};
}
operator! { Add, add, AddAssign, add_assign; Sub, sub, SubAssign, sub_assign; Mul, mul, MulAssign, mul_assign; Div, div, DivAssign, div_assign; }

impl<const G: usize> Neg for Pack<G> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Pack(each!(i => -self.0[i]))
    }
}

impl<const G: usize> BitAnd for PackMask<G> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, o: Self) -> Self {
        PackMask(each!(i => self.0[i] & o.0[i]))
    }
}
impl<const G: usize> BitOr for PackMask<G> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, o: Self) -> Self {
        PackMask(each!(i => self.0[i] | o.0[i]))
    }
}
impl<const G: usize> Not for PackMask<G> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        PackMask(each!(i => !self.0[i]))
    }
}
impl<const G: usize> Mask for PackMask<G> {
    #[inline(always)]
    fn any(self) -> bool {
        // comparisons fill a lane with ones or zeros, so the sign bits are the answer
        self.0.iter().any(|m| m.to_bitmask() != 0)
    }
    #[inline(always)]
    fn all(self) -> bool {
        self.0.iter().all(|m| m.to_bitmask() == 0b1111)
    }
    #[inline(always)]
    fn lane(self, i: usize) -> bool {
        self.0[i / 4].to_bitmask() >> (i % 4) & 1 == 1
    }
}

#[inline(always)]
fn to_bits(x: f64x4) -> u64x4 {
    bytemuck::cast(x)
}
#[inline(always)]
fn from_bits(x: u64x4) -> f64x4 {
    bytemuck::cast(x)
}

impl<const G: usize> Lanes for Pack<G> {
    const N: usize = 4 * G;
    type Mask = PackMask<G>;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Pack([f64x4::splat(x); G])
    }
    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let (quads, _) = from[..4 * G].as_chunks::<4>();
        Pack(each!(i => f64x4::new(quads[i])))
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        let (quads, _) = to[..4 * G].as_chunks_mut::<4>();
        for (quad, lanes) in quads.iter_mut().zip(self.0) {
            *quad = lanes.to_array();
        }
    }
    #[inline(always)]
    fn lane(self, i: usize) -> f64 {
        self.0[i / 4].to_array()[i % 4]
    }
    #[inline(always)]
    fn mul_add(self, m: Self, a: Self) -> Self {
        Pack(each!(i => self.0[i].mul_add(m.0[i], a.0[i])))
    }
    #[inline(always)]
    fn neg_mul_add(self, m: Self, a: Self) -> Self {
        Pack(each!(i => self.0[i].mul_neg_add(m.0[i], a.0[i])))
    }
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        // the compare and blend of the scalar lane, so that NaN goes the same way on every instruction set
        Self::select(self.gt(o), self, o)
    }
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Self::select(self.lt(o), self, o)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Pack(each!(i => self.0[i].abs()))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Pack(each!(i => self.0[i].sqrt()))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Pack(each!(i => self.0[i].round_ties_even()))
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Self::Mask {
        PackMask(each!(i => self.0[i].simd_lt(o.0[i])))
    }
    #[inline(always)]
    fn le(self, o: Self) -> Self::Mask {
        PackMask(each!(i => self.0[i].simd_le(o.0[i])))
    }
    #[inline(always)]
    fn gt(self, o: Self) -> Self::Mask {
        PackMask(each!(i => self.0[i].simd_gt(o.0[i])))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Pack(each!(i => mask.0[i].bitselect(yes.0[i], no.0[i])))
    }
    #[inline(always)]
    fn exp2_int(self) -> Self {
        Pack(each!(i => from_bits(to_bits(self.0[i] + f64x4::splat(TWO52 + 1023.0)) << 52u32)))
    }
    #[inline(always)]
    fn mantissa_exponent(self) -> (Self, Self) {
        let one = u64x4::splat(ONE);
        let raised: [u64x4; G] = each!(i => (to_bits(self.0[i]) - u64x4::splat(SQRT_HALF) + one) >> 52u32);
        let exponent = each!(i => from_bits(raised[i] | u64x4::splat(TWO52.to_bits())) - f64x4::splat(TWO52 + 1023.0));
        let mantissa = each!(i => from_bits(to_bits(self.0[i]) - (raised[i] << 52u32) + one));
        (Pack(mantissa), Pack(exponent))
    }
}
