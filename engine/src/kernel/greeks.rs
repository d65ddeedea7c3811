//! From derivatives at fixed X = S − A(0) to every Greek of MODEL: the identities and the chain rule, once for all
//! pricing methods.

/// Value and derivatives of one option per lane in (X, sigma, r, b, K), each other input held fixed.
#[derive(Clone, Copy, Debug)]
pub struct Jet<L> {
    /// V.
    pub v: L,
    /// ∂V/∂X to ∂⁴V/∂X⁴.
    pub x: [L; 4],
    /// ∂V/∂σ to ∂³V/∂σ³.
    pub sigma: [L; 3],
    /// ∂²V/∂X∂σ.
    pub x_sigma: L,
    /// ∂³V/∂X²∂σ.
    pub xx_sigma: L,
    /// ∂V/∂r at fixed X.
    pub r: L,
    /// ∂²V/∂r∂σ at fixed X.
    pub r_sigma: L,
    /// ∂V/∂b at fixed X.
    pub b: L,
    /// ∂V/∂K and ∂²V/∂K².
    pub k: [L; 2],
    /// Black-76's d1 and d2.
    pub d: [L; 2],
}

/// Every Greek of MODEL in raw units: vega, rho, epsilon per 1.00, theta and the other time derivatives per year.
#[derive(Clone, Copy, Debug)]
pub struct Greeks<L> {
    /// Value, currency per share.
    pub value: L,
    /// ∂V/∂S.
    pub delta: L,
    /// ∂²V/∂S².
    pub gamma: L,
    /// ∂³V/∂S³.
    pub speed: L,
    /// ∂V/∂σ.
    pub vega: L,
    /// ∂²V/∂σ².
    pub volga: L,
    /// ∂³V/∂σ³.
    pub ultima: L,
    /// ∂²V/∂S∂σ.
    pub vanna: L,
    /// ∂³V/∂S²∂σ.
    pub zomma: L,
    /// ∂V/∂t, calendar time forward, per year.
    pub theta: L,
    /// ∂²V/∂S∂t.
    pub charm: L,
    /// ∂³V/∂S²∂t.
    pub color: L,
    /// ∂²V/∂σ∂t.
    pub veta: L,
    /// ∂V/∂r, spot fixed.
    pub rho: L,
    /// ∂²V/∂σ∂r.
    pub vera: L,
    /// ∂V/∂q, a continuous yield added to b.
    pub epsilon: L,
    /// delta·S/V; 0 where V = 0.
    pub lambda: L,
    /// ∂V/∂K.
    pub dual_delta: L,
    /// ∂²V/∂K².
    pub dual_gamma: L,
    /// Black-76 d1.
    pub d1: L,
    /// Black-76 d2.
    pub d2: L,
}

/// Value and volatility derivatives only: what an implied volatility needs.
#[derive(Clone, Copy, Debug)]
pub struct VolJet<L> {
    /// Value, currency per share.
    pub value: L,
    /// ∂V/∂σ.
    pub vega: L,
    /// ∂²V/∂σ².
    pub volga: L,
    /// ∂³V/∂σ³.
    pub ultima: L,
}
