//! How the command looks: colours, progress bars, numbers.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Color, Style};
use clap::builder::Styles;
use indicatif::{ProgressBar, ProgressStyle};

const fn color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(Color::Ansi(color)))
}

/// Titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// What is secondary.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Names of things.
pub(crate) const CYAN: Style = color(AnsiColor::Cyan);
/// Good.
pub(crate) const GREEN: Style = color(AnsiColor::Green);
/// To be noticed.
pub(crate) const YELLOW: Style = color(AnsiColor::Yellow);
/// Bad.
pub(crate) const RED: Style = color(AnsiColor::Red);

/// Colours of `--help`.
pub(crate) const HELP: Styles = Styles::styled()
    .header(BOLD.fg_color(Some(Color::Ansi(AnsiColor::Yellow))))
    .usage(BOLD.fg_color(Some(Color::Ansi(AnsiColor::Yellow))))
    .literal(color(AnsiColor::Green))
    .placeholder(CYAN);

/// Shown below every `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 success · 1 the run or the check failed · 2 wrong usage · 3 the model cannot be loaded
            4 another file or program failed";

/// A progress bar on stderr; invisible where stderr is no terminal. `unit` says what is counted.
pub(crate) fn progress(total: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = format!(
        "{{bar:32.cyan/dim}} {{human_pos}}/{{human_len}} {unit}  {{elapsed}} · eta {{eta}}  {{msg:.dim}}"
    );
    // a template that does not parse would only look different
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Something that turns on stderr while nothing else can be said; invisible where stderr is no terminal.
pub(crate) fn spinner(message: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(message.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(200));
    spinner
}

/// Says it where times mean nothing.
pub(crate) fn warn_unoptimized(out: &mut dyn Write) -> io::Result<()> {
    if cfg!(debug_assertions) {
        let what = "built without optimization, times mean nothing: use `cargo run --release`";
        writeln!(out, "{YELLOW}! {what}{YELLOW:#}")?;
    }
    Ok(())
}

/// Words in lines of at most `width` characters, indented.
pub(crate) fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines = vec![margin.clone()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        let length = line.chars().count() + 1 + word.chars().count();
        if *line == margin {
            line.push_str(word);
        } else if length <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(margin.clone() + word);
        }
    }
    lines.join("\n")
}

/// A duration with a fitting unit.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A number in at most six digits: plain where that is readable, scientific elsewhere.
pub(crate) fn number(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e6).contains(&magnitude) {
        let decimals = match magnitude {
            m if m < 1e-2 => 7,
            m if m < 10.0 => 5,
            _ => 3,
        };
        let text = format!("{x:.decimals$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{x:.2e}")
    }
}

/// Numbers in brackets, as MJCF writes vectors.
pub(crate) fn vector(values: &[f64]) -> String {
    let numbers: Vec<String> = values.iter().map(|x| number(*x)).collect();
    numbers.join(" ")
}
