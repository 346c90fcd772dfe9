//! Straight lines through measured points.

/// A line y = intercept + slope · x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Slope.
    pub slope: f64,
    /// Value at x = 0.
    pub intercept: f64,
    /// Share of the variance of y that the line explains, 1 at best.
    pub r_squared: f64,
}

/// The least-squares line through some points; NaN if fewer than two x are different.
pub fn line(points: &[(f64, f64)]) -> Line {
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = xy / xx;
    Line { slope, intercept: y - slope * x, r_squared: xy * xy / (xx * yy) }
}

/// Exponent n of y ~ xⁿ, fitted through the points whose x the condition takes and whose x and y are positive;
/// NaN if these are fewer than two.
pub fn order(points: &[(f64, f64)], take: impl Fn(f64) -> bool) -> f64 {
    let good = |p: &&(f64, f64)| take(p.0) && p.0 > 0.0 && p.1 > 0.0 && p.1.is_finite();
    let logarithms: Vec<_> = points.iter().filter(good).map(|p| (p.0.ln(), p.1.ln())).collect();
    line(&logarithms).slope
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let found = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]);
        assert_eq!((found.slope, found.intercept, found.r_squared), (2.0, 1.0, 1.0));
        let noisy = line(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]);
        assert_eq!((noisy.slope, noisy.r_squared), (0.0, 0.0));
        assert!(line(&[(1.0, 1.0)]).slope.is_nan());
    }

    #[test]
    fn an_order_is_found_where_it_holds() {
        // y = x³ above a floor
        let points: Vec<_> = [1e-3, 1e-2, 1e-1, 1.0].map(|x: f64| (x, x.powi(3).max(1e-6))).into();
        assert!((order(&points, |x| x >= 1e-2) - 3.0).abs() < 1e-12);
        assert!(order(&points, |x| x > 0.5).is_nan());
    }
}
