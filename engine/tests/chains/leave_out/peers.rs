//! Curves of one expiry to hold `svc_vol` against: each sees the quotes that are left, out of the money, and nothing
//! else.

/// A quote that a curve is fitted to, or that was held back.
#[derive(Clone, Copy, Debug)]
pub(super) struct VolQuote {
    pub(super) strike_milli: u32,
    /// ln(K/F).
    pub(super) k: f64,
    pub(super) bid: f64,
    pub(super) mid: f64,
    pub(super) ask: f64,
}

/// Half of the spread in ln σ; not below what the engine takes as known.
fn half(q: &VolQuote) -> f64 {
    (0.5 * (q.ask - q.bid) / q.mid).max(0.0015)
}

/// Straight lines through the mids.
pub(super) fn linear(quotes: &[VolQuote], k: f64) -> f64 {
    let at = quotes.partition_point(|q| q.k <= k).clamp(1, quotes.len() - 1);
    let (a, b) = (&quotes[at - 1], &quotes[at]);
    a.mid + (b.mid - a.mid) * (k - a.k) / (b.k - a.k)
}

/// A natural cubic spline in pieces.
pub(super) struct Cubic {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Second derivatives.
    bend: Vec<f64>,
}

impl Cubic {
    /// Through the mids.
    pub(super) fn through(quotes: &[VolQuote]) -> Self {
        let (x, y) = (quotes.iter().map(|q| q.k).collect(), quotes.iter().map(|q| q.mid).collect());
        Smoothing::of(x, y, vec![1.0; quotes.len()]).cubic(0.0)
    }

    /// ln σ over asinh of moneyness in standard deviations, weights the inverse squares of half spreads, smoothness by
    /// generalised cross-validation (Craven and Wahba 1979). `sd` is σ√t at the money.
    pub(super) fn cross_validated(quotes: &[VolQuote], sd: f64) -> Self {
        let x = quotes.iter().map(|q| (q.k / sd).asinh()).collect();
        let y = quotes.iter().map(|q| q.mid.ln()).collect();
        let spline = Smoothing::of(x, y, quotes.iter().map(|q| half(q).powi(2)).collect());
        // a grid finds the valley, golden sections its ground
        let score = |ln: f64| spline.score(ln.exp());
        let (mut best, mut least) = (0.0, f64::INFINITY);
        for step in -30..=30 {
            let (ln, scale) = (f64::from(step), spline.scale);
            let score = score(ln + scale);
            if score < least {
                (best, least) = (ln + scale, score);
            }
        }
        let (mut low, mut high) = (best - 1.0, best + 1.0);
        for _ in 0..12 {
            let (a, b) = (high - 0.618 * (high - low), low + 0.618 * (high - low));
            if score(a) < score(b) { high = b } else { low = a }
        }
        spline.cubic((0.5 * (low + high)).exp())
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        let i = self.x.partition_point(|&at| at <= x).clamp(1, self.x.len() - 1);
        let h = self.x[i] - self.x[i - 1];
        let (a, b) = ((self.x[i] - x) / h, (x - self.x[i - 1]) / h);
        let bend = (a.powi(3) - a) * self.bend[i - 1] + (b.powi(3) - b) * self.bend[i];
        a * self.y[i - 1] + b * self.y[i] + bend * h * h / 6.0
    }
}

/// The cubic smoothing spline of weighted points (Reinsch 1967): least Σ(y − g)²/v + λ∫g″².
struct Smoothing {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Variances of the points.
    v: Vec<f64>,
    /// Of row j of Qᵀ, the second divided differences: the three elements from column j on.
    q: Vec<[f64; 3]>,
    /// R, the Gram matrix of the bends: diagonal and next to it.
    r: Vec<[f64; 2]>,
    /// QᵀVQ: diagonal and the two next to it.
    qvq: Vec<[f64; 3]>,
    /// A penalty of this logarithm weighs about as much as the points.
    scale: f64,
}

impl Smoothing {
    fn of(x: Vec<f64>, y: Vec<f64>, v: Vec<f64>) -> Self {
        let m = x.len() - 2;
        let h: Vec<f64> = x.windows(2).map(|w| w[1] - w[0]).collect();
        let q: Vec<[f64; 3]> = (0..m).map(|j| [1.0 / h[j], -1.0 / h[j] - 1.0 / h[j + 1], 1.0 / h[j + 1]]).collect();
        let r: Vec<[f64; 2]> = (0..m).map(|j| [(h[j] + h[j + 1]) / 3.0, h[j + 1] / 6.0]).collect();
        let product = |j: usize, d: usize| -> f64 {
            if j + d >= m { 0.0 } else { (d..3).map(|i| q[j][i] * v[j + i] * q[j + d][i - d]).sum() }
        };
        let qvq: Vec<[f64; 3]> = (0..m).map(|j| [0, 1, 2].map(|d| product(j, d))).collect();
        let scale = (r.iter().map(|r| r[0]).sum::<f64>() / qvq.iter().map(|q| q[0]).sum::<f64>()).ln();
        Self { x, y, v, q, r, qvq, scale }
    }

    /// LDLᵀ of R + λQᵀVQ by row: 1/d and the two multipliers.
    fn factors(&self, lambda: f64) -> Vec<[f64; 3]> {
        let m = self.q.len();
        let mut rows: Vec<[f64; 3]> = (0..m + 2)
            .map(|j| match (self.r.get(j), self.qvq.get(j)) {
                (Some(r), Some(q)) => [r[0] + lambda * q[0], r[1] + lambda * q[1], lambda * q[2]],
                _ => [1.0, 0.0, 0.0],
            })
            .collect();
        for j in 0..m {
            let [d, a, b] = rows[j];
            let (a, b) = (if j + 1 < m { a } else { 0.0 }, if j + 2 < m { b } else { 0.0 });
            let (l1, l2) = (a / d, b / d);
            rows[j + 1][0] -= l1 * a;
            rows[j + 1][1] -= l1 * b;
            rows[j + 2][0] -= l2 * b;
            rows[j] = [1.0 / d, l1, l2];
        }
        rows.truncate(m);
        rows
    }

    /// Values at the points and bends at the inner ones.
    fn solve(&self, lambda: f64, factors: &[[f64; 3]]) -> (Vec<f64>, Vec<f64>) {
        let m = self.q.len();
        let mut bend: Vec<f64> = (0..m).map(|j| (0..3).map(|i| self.q[j][i] * self.y[j + i]).sum()).collect();
        for j in 0..m {
            let one = bend[j];
            if j + 1 < m {
                bend[j + 1] -= factors[j][1] * one;
            }
            if j + 2 < m {
                bend[j + 2] -= factors[j][2] * one;
            }
        }
        for j in (0..m).rev() {
            let next = |i: usize| bend.get(i).copied().unwrap_or(0.0);
            bend[j] = bend[j] * factors[j][0] - factors[j][1] * next(j + 1) - factors[j][2] * next(j + 2);
        }
        let mut value = self.y.clone();
        for j in 0..m {
            for i in 0..3 {
                value[j + i] -= lambda * self.v[j + i] * self.q[j][i] * bend[j];
            }
        }
        (value, bend)
    }

    /// The generalised cross-validation score; the trace from the central bands of the inverse (Hutchinson and de Hoog
    /// 1985).
    fn score(&self, lambda: f64) -> f64 {
        let factors = self.factors(lambda);
        let (value, _) = self.solve(lambda, &factors);
        let misfit: f64 = (0..value.len()).map(|i| (self.y[i] - value[i]).powi(2) / self.v[i]).sum();
        // elements (j + 1, j + 1), (j + 1, j + 2), (j + 2, j + 2) of the inverse
        let (mut ahead, mut free) = ([0.0; 3], 0.0);
        for (factor, q) in factors.iter().zip(&self.qvq).rev() {
            let [inv, l1, l2] = *factor;
            let two = -l1 * ahead[1] - l2 * ahead[2];
            let one = -l1 * ahead[0] - l2 * ahead[1];
            let own = inv - l1 * one - l2 * two;
            free += lambda * (own * q[0] + 2.0 * (one * q[1] + two * q[2]));
            ahead = [own, one, ahead[0]];
        }
        let n = value.len() as f64;
        if free > 1e-9 * n { n * misfit / (free * free) } else { f64::INFINITY }
    }

    fn cubic(&self, lambda: f64) -> Cubic {
        let (y, inner) = self.solve(lambda, &self.factors(lambda));
        let bend = [0.0].into_iter().chain(inner).chain([0.0]).collect();
        Cubic { x: self.x.clone(), y, bend }
    }
}

/// Raw SVI (Gatheral 2004): w(k) = a + d·(k − m)/s + c·√((k − m)²/s² + 1).
pub(super) struct Svi {
    linear: [f64; 3],
    m: f64,
    s: f64,
}

impl Svi {
    /// By weighted least squares in total variance: the three linear parameters in closed form, centre and width by the
    /// simplex of Nelder and Mead (the split of De Marco and Martini 2009).
    pub(super) fn fit(quotes: &[VolQuote], t: f64, sd: f64) -> Self {
        let mut best = (f64::INFINITY, [0.0; 2]);
        for start in [[0.0, 0.0], [0.5, 0.7], [-0.5, 0.7], [0.0, -1.2]] {
            let found = nelder_mead(start, |p| Self::inner(quotes, t, p[0] * sd, p[1].exp() * sd).0);
            if found.0 < best.0 {
                best = found;
            }
        }
        let (m, s) = (best.1[0] * sd, best.1[1].exp() * sd);
        Self { linear: Self::inner(quotes, t, m, s).1, m, s }
    }

    fn inner(quotes: &[VolQuote], t: f64, m: f64, s: f64) -> (f64, [f64; 3]) {
        let basis = |k: f64| {
            let y = (k - m) / s;
            [1.0, y, (y * y + 1.0).sqrt()]
        };
        let mut rows = [[0.0; 4]; 3];
        for q in quotes {
            let (b, w) = (basis(q.k), q.mid * q.mid * t);
            let weight = (2.0 * half(q) * w).powi(-2);
            for i in 0..3 {
                for j in 0..3 {
                    rows[i][j] += weight * b[i] * b[j];
                }
                rows[i][3] += weight * b[i] * w;
            }
        }
        for i in 0..3 {
            rows[i][i] *= 1.0 + 1e-10;
            let pivot = rows[i];
            for row in rows.iter_mut().skip(i + 1) {
                let by = row[i] / pivot[i];
                row.iter_mut().zip(pivot).for_each(|(a, b)| *a -= by * b);
            }
        }
        let c = rows[2][3] / rows[2][2];
        let d = (rows[1][3] - rows[1][2] * c) / rows[1][1];
        let a = (rows[0][3] - rows[0][1] * d - rows[0][2] * c) / rows[0][0];
        let miss = |q: &VolQuote| {
            let (b, w) = (basis(q.k), q.mid * q.mid * t);
            ((a * b[0] + d * b[1] + c * b[2] - w) / (2.0 * half(q) * w)).powi(2)
        };
        let cost: f64 = quotes.iter().map(miss).sum();
        (if cost.is_finite() && s < 1e3 { cost } else { f64::INFINITY }, [a, d, c])
    }

    pub(super) fn vol(&self, k: f64, t: f64) -> f64 {
        let y = (k - self.m) / self.s;
        let [a, d, c] = self.linear;
        ((a + d * y + c * (y * y + 1.0).sqrt()).max(0.0) / t).sqrt()
    }
}

/// The least value found and its place.
fn nelder_mead(start: [f64; 2], cost: impl Fn([f64; 2]) -> f64) -> (f64, [f64; 2]) {
    let point = |p: [f64; 2]| (cost(p), p);
    let mut simplex = [point(start), point([start[0] + 0.5, start[1]]), point([start[0], start[1] + 0.5])];
    for _ in 0..80 {
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [best, next, worst] = simplex;
        let centre = [0, 1].map(|i| 0.5 * (best.1[i] + next.1[i]));
        let along = |by: f64| point([0, 1].map(|i| centre[i] + by * (worst.1[i] - centre[i])));
        let mirrored = along(-1.0);
        simplex[2] = if mirrored.0 < best.0 {
            let further = along(-2.0);
            if further.0 < mirrored.0 { further } else { mirrored }
        } else if mirrored.0 < next.0 {
            mirrored
        } else {
            let nearer = along(0.5);
            if nearer.0 < worst.0 {
                nearer
            } else {
                simplex[1] = point([0, 1].map(|i| 0.5 * (best.1[i] + next.1[i])));
                point([0, 1].map(|i| 0.5 * (best.1[i] + worst.1[i])))
            }
        };
    }
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    simplex[0]
}
