//! Every build gives equal bits: formulas that leave no choice to a library, on a block, against one number.
//!
//! Builds for AVX2, for AVX-512 and for aarch64 have a fused multiply-add and agree to the last bit; those without one
//! round twice and agree with each other. `tests/levels.sh` compares what the whole program writes.

use kernel::black76::{Horizon, european};
use kernel::elementary::{exp, ln};
use kernel::greeks::Derivatives;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::normal::norm_cdf;

/// Of a build with a fused multiply-add, and of one without.
const EXPECTED: [u64; 2] = [0x1042_a559_4c86_b865, 0x7524_e277_91da_bb42];

/// FNV-1a over the bits of every lane.
fn add(digest: &mut u64, lanes: Block) {
    for byte in (0..BLOCK).flat_map(|i| lanes.lane(i).to_le_bytes()) {
        *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
}

#[test]
fn every_level_gives_these_bits() {
    let mut digest = 0xcbf2_9ce4_8422_2325;
    for (n, t) in [1e-3f64, 0.02, 0.25, 1.0, 3.0].into_iter().enumerate() {
        // numbers of an expiry as they are, not from a library's exponential
        let drift = 0.01 * n as f64 - 0.02;
        let at = Horizon { t, root_t: t.sqrt(), df: 0.99 - 0.03 * n as f64, df_b: 1.01 - 0.02 * n as f64, drift };
        for first in 0..64 {
            let lanes = |f: &dyn Fn(f64) -> f64| {
                let numbers: [f64; BLOCK] = core::array::from_fn(|i| f((first * BLOCK + i) as f64));
                Block::load(&numbers)
            };
            let (k, sigma) = (lanes(&|i| 40.0 + 0.27 * i), lanes(&|i| 0.03 + 0.0017 * i));
            [exp(sigma * -9.0), ln(k), norm_cdf(ln(k * 0.01) / sigma)].into_iter().for_each(|l| add(&mut digest, l));
            for phi in [1.0, -1.0] {
                let Derivatives { v, x, sigma, x_sigma, xx_sigma, r, r_sigma, b, k, d } =
                    european(phi, &at, Block::splat(100.0), k, sigma);
                let alone = [v, x_sigma, xx_sigma, r, r_sigma, b].into_iter();
                alone.chain(x).chain(sigma).chain(k).chain(d).for_each(|l| add(&mut digest, l));
            }
        }
    }
    let fused = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
    let expected = EXPECTED[usize::from(!fused)];
    assert_eq!(digest, expected, "{digest:#018x} in place of {expected:#018x}; fused: {fused}");
}
