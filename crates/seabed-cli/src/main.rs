//! The command `seabed`: arguments, tables and exit codes; everything that computes is in the library.
//!
//! Data go to standard output, notes and errors to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage or
//! bad input, 70 a defect, 130 interrupted.

/// A line on standard error. Nobody may be there to read it, or the disk be full: that must not end the work.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod checks;
mod clock;
mod demo;
mod design;
mod effects;
mod evaluate;
mod failure;
mod fit;
mod lab;
mod outputs;
mod progress;
mod read;
mod report;
mod rounds;
mod run;
mod serve;
mod settings;
mod simulate;
mod strategy;
mod sweep;
mod wording;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

/// Which experiment to run next to find out what causes what.
#[derive(Parser)]
#[command(name = "seabed", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Threads to compute with; the results are the same [default: all cores].
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Simulate(simulate::Arguments),
    Fit(Box<fit::Arguments>),
    Design(Box<design::Arguments>),
    Effects(effects::Arguments),
    Predict(effects::Predict),
    Evaluate(evaluate::Arguments),
    Run(run::Arguments),
    Sweep(sweep::Arguments),
    Report(report::Arguments),
    Lab(lab::Arguments),
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    explain_panics();
    std::panic::catch_unwind(command).unwrap_or(ExitCode::from(DEFECT))
}

/// The exit code of a panic: a defect of the program, whatever the input.
const DEFECT: u8 = 70;

/// The last line of defence: a panic is one sentence that says what to do.
fn explain_panics() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let in_full = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The decoder panics on a damaged file, which is reported as an error instead.
        if std::thread::current().name() == Some(seabed::data::DECODER_THREAD) {
            return;
        }
        // Several threads may meet the same defect.
        if TOLD.swap(true, Ordering::Relaxed) {
            return;
        }
        let payload = panic.payload();
        let what = payload.downcast_ref::<String>().map(String::as_str);
        let what = what.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let place = panic.location().map_or(String::new(), |place| format!(" at {place}"));
        tell!(
            "error: a defect of seabed {}: {what}{place}; nothing that was saved is lost: please send this line, the \
             command and, if you may, its input to the developers",
            env!("CARGO_PKG_VERSION")
        );
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| wanted != "0") {
            in_full(panic);
        }
    }));
}

/// Tests of what a defect leaves behind ask for one, which only builds for tests do.
fn panic_if_asked(place: &str) {
    if cfg!(debug_assertions) && std::env::var_os("SEABED_PANIC").is_some_and(|asked| asked == place) {
        panic!("asked for");
    }
}

fn command() -> ExitCode {
    let arguments = Arguments::parse();
    panic_if_asked("command");
    if let Some(threads) = arguments.threads {
        // It fails only if threads were started before.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
    }
    let outcome = match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Design(arguments) => design::run(&arguments),
        Command::Effects(arguments) => effects::run(&arguments),
        Command::Predict(arguments) => effects::predict(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
