//! Least squares for a few bounded parameters: the simplex of Nelder and Mead (1965), which needs
//! no derivatives, begun anew from where it stopped.

/// How often the simplex starts over from the best point.
const ROUNDS: usize = 6;
/// Steps of each.
const STEPS: usize = 400;

/// One parameter's start and bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub start: f64,
    pub low: f64,
    pub high: f64,
}

/// The parameters within their bounds at which the cost is least.
pub fn fit(bounds: &[Bound], cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let clamp = |x: &[f64]| -> Vec<f64> {
        x.iter().zip(bounds).map(|(x, bound)| x.clamp(bound.low, bound.high)).collect()
    };
    let price = |x: &[f64]| cost(&clamp(x));
    let mut best: Vec<f64> = bounds.iter().map(|bound| bound.start).collect();
    for round in 0..ROUNDS {
        // Alternating sides, so that a bound is not mistaken for a floor.
        let share = if round % 2 == 0 { 0.1 } else { -0.07 };
        let mut simplex: Vec<(f64, Vec<f64>)> = std::iter::once((price(&best), best.clone()))
            .chain((0..bounds.len()).map(|at| {
                let mut x = best.clone();
                let span = bounds[at].high - bounds[at].low;
                x[at] += share * span;
                let x = clamp(&x);
                (price(&x), x)
            }))
            .collect();
        for _ in 0..STEPS {
            step(&mut simplex, &price);
        }
        simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
        best = clamp(&simplex[0].1);
    }
    best
}

fn step(simplex: &mut [(f64, Vec<f64>)], price: &impl Fn(&[f64]) -> f64) {
    simplex.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = simplex.len() - 1;
    let size = simplex[0].1.len();
    let middle: Vec<f64> = (0..size)
        .map(|i| simplex[..last].iter().map(|(_, x)| x[i]).sum::<f64>() / last.max(1) as f64)
        .collect();
    let towards = |by: f64| -> (f64, Vec<f64>) {
        let x: Vec<f64> =
            middle.iter().zip(&simplex[last].1).map(|(m, w)| m + by * (w - m)).collect();
        (price(&x), x)
    };
    let reflected = towards(-1.0);
    let next = if reflected.0 < simplex[0].0 {
        let expanded = towards(-2.0);
        if expanded.0 < reflected.0 { expanded } else { reflected }
    } else if last > 0 && reflected.0 < simplex[last - 1].0 {
        reflected
    } else {
        let contracted = towards(if reflected.0 < simplex[last].0 { -0.5 } else { 0.5 });
        if contracted.0 < simplex[last].0 {
            contracted
        } else {
            let best = simplex[0].1.clone();
            for (cost, x) in &mut simplex[1..] {
                x.iter_mut().zip(&best).for_each(|(x, b)| *x = b + 0.5 * (*x - b));
                *cost = price(x);
            }
            return;
        }
    };
    simplex[last] = next;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_minima_are_found() {
        let bounds = [Bound { start: 0.0, low: -5.0, high: 5.0 }; 2];
        let banana = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let at = fit(&bounds, banana);
        assert!((at[0] - 1.0).abs() < 1e-4 && (at[1] - 1.0).abs() < 1e-4, "{at:?}");
        let edge = fit(&[Bound { start: 1.0, low: 0.5, high: 2.0 }], |x| x[0]);
        assert_eq!(edge, [0.5]);
    }
}
