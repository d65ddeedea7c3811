//! Early-exercise premium of American options with cash dividends, from tables that do not depend on the spot.
mod chebyshev;
mod classify;
mod edges;
mod profile;
mod solver;
mod table;
mod taylor;
