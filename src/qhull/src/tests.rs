use super::*;

const CORNER: [[f64; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Points on a sphere and inside of it.
fn ball(n: i32) -> Vec<[f64; 3]> {
    let point = |i: i32| {
        let (height, angle) = (f64::from(2 * i + 1) / f64::from(n) - 1.0, 2.4 * f64::from(i));
        let radius = (1.0 - height * height).sqrt();
        let size = if i % 3 == 0 { 0.5 } else { 1.0 };
        [radius * angle.cos(), radius * angle.sin(), height].map(|x| size * x)
    };
    (0..n).map(point).collect()
}

#[test]
fn a_hull_is_closed_and_looks_outward() {
    if !AVAILABLE {
        return;
    }
    let points = ball(300);
    let hull = convex_hull(&points, None).unwrap();
    assert_eq!(hull.vertices.len(), 200);
    assert_eq!(hull.faces.len(), 2 * hull.vertices.len() - 4);
    assert_eq!(hull.neighbors.iter().map(Vec::len).sum::<usize>(), 3 * hull.faces.len());
    for &[a, b, c] in &hull.faces {
        let [a, b, c] = [a, b, c].map(|v| points[v]);
        let minor = |i: usize, j: usize| a[i] * (b[j] * c[3 - i - j] - b[3 - i - j] * c[j]);
        let volume = minor(0, 1) + minor(1, 2) + minor(2, 0);
        assert!(volume > 0.0, "{volume}");
    }
}

#[test]
fn limits_count_the_first_simplex() {
    if AVAILABLE {
        for max in [4, 5, 20] {
            assert_eq!(convex_hull(&ball(300), Some(max)).unwrap().vertices.len(), max);
        }
        assert_eq!(convex_hull(&CORNER, Some(9)).unwrap().vertices.len(), 4);
    }
}

#[test]
fn flat_or_few_points_are_refused() {
    if AVAILABLE {
        let flat: Vec<[f64; 3]> = ball(30).into_iter().map(|[x, y, _]| [x, y, 0.5]).collect();
        assert!(matches!(convex_hull(&flat, None), Err(Error::Refused(_))));
        assert!(matches!(convex_hull(&CORNER[..3], None), Err(Error::Refused(_))));
        assert!(matches!(convex_hull(&[], None), Err(Error::Refused(_))));
    } else {
        assert_eq!(convex_hull(&CORNER, None), Err(Error::Unavailable));
    }
}

#[test]
fn threads_do_not_disturb_each_other() {
    if AVAILABLE {
        let points = ball(200);
        let alone = convex_hull(&points, None).unwrap();
        std::thread::scope(|scope| {
            let runs: Vec<_> =
                (0..4).map(|_| scope.spawn(|| convex_hull(&points, None).unwrap())).collect();
            for run in runs {
                assert_eq!(run.join().unwrap(), alone);
            }
        });
    }
}
