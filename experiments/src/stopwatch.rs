//! Times of several functions in one run.

use std::time::Instant;

use crate::bench::Spread;

/// A function to time.
pub struct Task<'a> {
    name: &'a str,
    call: Box<dyn FnMut() + 'a>,
}

impl<'a> Task<'a> {
    /// A function and its name.
    pub fn new(name: &'a str, call: impl FnMut() + 'a) -> Self {
        Self { name, call: Box::new(call) }
    }

    /// Time of a call \[µs\], over `n` calls.
    fn batch(&mut self, n: usize) -> f64 {
        let begin = Instant::now();
        for _ in 0..n {
            (self.call)();
        }
        begin.elapsed().as_secs_f64() * 1e6 / n as f64
    }
}

/// Times of calls \[µs\] in the order of the tasks: medians and quartiles over batches of `batch_s` seconds.
///
/// The tasks take turns, so that a change of clock frequency or a busy neighbour meets all of them. Short batches,
/// below a millisecond, are rarely interrupted: their median is that of a quiet machine.
pub fn times(tasks: &mut [Task<'_>], batches: usize, batch_s: f64) -> Vec<Spread> {
    let mut calls = vec![1_usize; tasks.len()];
    for (task, n) in tasks.iter_mut().zip(&mut calls) {
        // the shortest of three: one that was interrupted says nothing
        let mut seconds =
            |n| (0..3).map(|_| task.batch(n)).fold(f64::MAX, f64::min) * n as f64 * 1e-6;
        while seconds(*n) < batch_s && *n < 1 << 20 {
            *n *= 2;
        }
    }
    let mut measured = vec![Vec::with_capacity(batches); tasks.len()];
    for _ in 0..batches {
        for ((task, n), measured) in tasks.iter_mut().zip(&calls).zip(&mut measured) {
            measured.push(task.batch(*n));
        }
    }
    measured.iter().map(|times| Spread::of(times)).collect()
}

impl std::fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // longer work takes longer, whatever the machine does
    #[test]
    fn tasks_are_timed_in_their_order() {
        let work = |n: u64| {
            move || {
                std::hint::black_box((0..n).fold(0_u64, |x, k| std::hint::black_box(x ^ k)));
            }
        };
        let mut tasks = [Task::new("short", work(100)), Task::new("long", work(10_000))];
        let found = times(&mut tasks, 5, 1e-4);
        assert!(found[1].median > 5.0 * found[0].median, "{found:?}");
    }
}
