//! Bracketed roots, quadrature, Chebyshev. Never: finance.
