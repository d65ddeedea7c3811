//! Volatility from a price.
