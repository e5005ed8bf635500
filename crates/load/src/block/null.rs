//! Nothing at the other end: every request succeeds at once. What is measured is the loop itself.

use std::time::Duration;

use crate::LoadError;
use crate::block::backend::{Backend, Done};
use crate::block::source::Io;

#[derive(Default)]
pub(crate) struct Null {
    back: Vec<Done>,
}

impl Backend for Null {
    const MOVES_DATA: bool = false;

    #[inline]
    fn push(&mut self, slot: u32, _buffer: u32, io: &Io) {
        self.back.push(Done { slot, result: io.bytes.min(i32::MAX as u32) as i32, times: None });
    }

    #[inline]
    fn submit(&mut self) -> Result<Option<i64>, LoadError> {
        Ok(None)
    }

    #[inline]
    fn news(&mut self) -> bool {
        !self.back.is_empty()
    }

    #[inline]
    fn wait(&mut self, wait_ns: i64) -> Result<(), LoadError> {
        if wait_ns > 0 && self.back.is_empty() {
            std::thread::sleep(Duration::from_nanos(wait_ns as u64));
        }
        Ok(())
    }

    #[inline]
    fn ready(&mut self) -> usize {
        self.back.len()
    }

    #[inline]
    fn pop(&mut self) -> Option<Done> {
        self.back.pop()
    }

    fn stop(&mut self, _outstanding: usize) -> bool {
        true
    }
}
