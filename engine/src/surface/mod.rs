//! One smooth curve of volatility per (root, expiry), free of butterfly arbitrage inside the quoted strikes and of
//! calendar arbitrage between neighbours. Never: a price, a symbol, a clock.
