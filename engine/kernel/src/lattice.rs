//! Early exercise premiums from coarse lattices, one contract per lane: for a first pass over an expiry whose borrow is
//! not known yet, and for values that must not come from the tables. Never: a quote, a table.
//!
//! A trinomial lattice in the escrowed X = S − A(0): ln X moves by ±dx or not at all, with probabilities that keep mean
//! and variance of X exact over steps of any length, so that every ex-date is a layer. Exercise at a layer pays φ(X + A
//! − K), A with the dividend of that instant for calls, without it for puts. The European value runs along on the same
//! nodes; the difference of the two is far better than either, and half the steps extrapolate away most of what is
//! left. Values in discounted terms are martingales here, so nothing but exercise changes them far in or out of the
//! money.
//!
//! [`Lattices`] gives every derivative of a premium. The two average the gain of exercise differently
//! (`trinomial::Mean`): [`Lattice`] values the simulated market, which must not change.
//!
//! Accuracy: `american_values_are_those_of_the_golden_files` (sim/value.rs), and `engine/tests/market.rs` by tier.

mod greeks;
mod held;
mod trinomial;

pub use greeks::{AtOtherVolatility, LatticeGreeks, Lattices};
pub use held::HeldCall;
pub use trinomial::{Lattice, LatticePremium};
