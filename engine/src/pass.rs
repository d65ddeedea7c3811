//! Which expiries, in what order, on which threads. The only file that names `rayon`. Never: a formula.
