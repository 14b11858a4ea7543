//! The content of a Parquet file as the decoder sees it: where it ends, reading fails.
//!
//! The decoder skips what it does not know by reading it, and takes the end of the content for more of it: a damaged length would keep it
//! busy for hours.

use std::io::{self, Read};

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// The content of a file.
pub(super) struct Content<C>(pub C);

/// A part of it.
pub(super) struct Part<R>(R);

impl<C: ChunkReader> Length for Content<C> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<C: ChunkReader> ChunkReader for Content<C> {
    type T = Part<C::T>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(Part(self.0.get_read(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

impl<R: Read> Read for Part<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 if !into.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}
