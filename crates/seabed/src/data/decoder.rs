//! Where the decoders of other people's formats run: they refuse most damaged files, but panic on a few.

use std::io;
use std::thread;

/// The thread that decodes a Parquet file or a workbook. A panic in it means a damaged file, which is reported as an
/// error; a program may keep its panic hook silent about it.
pub const DECODER_THREAD: &str = "decoder";

/// What `attempt` gives; none if it panicked. Nothing outlives the attempt, so nothing is left half done.
pub(super) fn decoded<T: Send>(attempt: impl FnOnce() -> T + Send) -> io::Result<Option<T>> {
    thread::scope(|scope| {
        // On a thread of its own, whose name a program's panic hook can recognise.
        let thread = thread::Builder::new().name(DECODER_THREAD.into()).spawn_scoped(scope, attempt)?;
        Ok(thread.join().ok())
    })
}
