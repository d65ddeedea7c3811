//! One smooth curve of volatility per (root, expiry), free of butterfly arbitrage inside the quoted strikes and of
//! calendar arbitrage between neighbours. Never: a price, a symbol, a clock.
//!
//! A curve is an arbitrage-free base ([`base`], three numbers) times the exponential of a penalised spline
//! ([`spline`]): σ(k) = σ_base(k)·e^g(u). With dense and tight quotes g follows them; with few it shrinks to the base;
//! without any, the base has the shape of the neighbours.
//!
//! A fit starts from nothing every time, so curves depend on the quotes of their pass alone; a [`Fitter`] keeps memory
//! only. Everything that runs over quotes, knots or strikes runs in lanes.

pub mod arbitrage;
pub mod base;
mod calendar;
pub mod confidence;
mod curve;
pub mod fit;
mod quotes;
pub mod settings;
pub mod spline;

pub use curve::{Curve, Fitted, LnVariance};
pub use fit::{Fitter, Smoother, fit};
pub use quotes::SurfaceInput;

/// The method in use.
pub type DefaultSmoother = Fitter;
