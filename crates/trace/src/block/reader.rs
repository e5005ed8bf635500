//! Traces as one stream of requests in time order: each input behind a window that mends bounded disorder, all inputs
//! merged. Memory is that of the windows, whatever the length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use iojoule_units::Nanos;

use super::format::Opened;
use super::notes::{Device, FileNote, Notes};
use super::parse::{Intake, Names, WINDOW};
use super::rate;
use super::{Options, Record, TraceError};

/// Requests of one or more traces in time order, the first at time 0; ends at the first error.
pub trait Reader: Iterator<Item = Result<Record, TraceError>> + Send {
    /// What was learnt until now; complete behind the last request.
    fn notes(&self) -> Notes;
}

struct Input {
    opened: Opened,
    intake: Intake,
    /// Requests in time order; those below `ready` may leave.
    buffer: Vec<Record>,
    next: usize,
    ready: usize,
    window: usize,
    more: bool,
    /// What ended the input; told when the requests before it have left.
    fault: Option<TraceError>,
    sorting: bool,
    shift: i64,
}

impl Input {
    fn new(opened: Opened, options: &Options, window: usize) -> Self {
        let intake = Intake::new(&opened.path, options, &opened.parse.sizes());
        Self {
            opened,
            intake,
            buffer: Vec::new(),
            next: 0,
            ready: 0,
            window,
            more: true,
            fault: None,
            sorting: options.sort,
            shift: 0,
        }
    }

    #[inline]
    fn peek(&mut self) -> Result<Option<i64>, TraceError> {
        if self.next == self.ready && !self.refill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.next].at.0))
    }

    #[cold]
    fn refill(&mut self) -> Result<bool, TraceError> {
        self.buffer.drain(..self.next);
        self.next = 0;
        if self.more {
            match self.opened.parse.fill(&mut self.intake, &mut self.buffer, 2 * self.window) {
                Ok(more) => self.more = more,
                Err(fault) => (self.more, self.fault) = (false, Some(fault)),
            }
        }
        if self.buffer.is_empty()
            && let Some(fault) = self.fault.take()
        {
            return Err(fault);
        }
        if !self.sorting && !self.buffer.is_sorted_by_key(|r| r.at) {
            self.buffer.sort_by_key(|r| r.at);
        }
        self.ready = if self.more { self.buffer.len() - self.window } else { self.buffer.len() };
        if self.more && !self.sorting {
            self.intake.floor = self.buffer[self.ready - 1].at.0;
        }
        Ok(self.ready > 0)
    }
}

/// Inputs merged by time.
pub(crate) struct Merged {
    inputs: Vec<Input>,
    /// Of every input with requests left, the time of its next one.
    heads: BinaryHeap<Reverse<(i64, usize)>>,
    names: Names,
    options: Options,
    seen: rate::Seen,
    origin: i64,
    /// Met behind the request that has just left.
    fault: Option<TraceError>,
    ended: bool,
}

impl Merged {
    /// At the first request.
    pub fn new(opened: Vec<Opened>, names: Names, options: &Options) -> Result<Self, TraceError> {
        // The window is shared out, so that a thousand inputs need no thousand windows.
        let window = (WINDOW / opened.len()).max(256);
        let mut merged = Self {
            inputs: opened.into_iter().map(|opened| Input::new(opened, options, window)).collect(),
            heads: BinaryHeap::new(),
            names,
            options: options.clone(),
            seen: rate::Seen::default(),
            origin: 0,
            fault: None,
            ended: false,
        };
        merged.start()?;
        Ok(merged)
    }

    fn start(&mut self) -> Result<(), TraceError> {
        for (at, input) in self.inputs.iter_mut().enumerate() {
            let Some(first) = input.peek()? else { continue };
            if self.options.align_starts && !input.sorting {
                input.shift = first;
            }
            self.heads.push(Reverse((first - input.shift, at)));
        }
        let Some(Reverse((origin, _))) = self.heads.peek() else {
            return Err(TraceError::Bad {
                path: self.inputs[0].opened.path.clone(),
                place: self.inputs[0].opened.parse.place(),
                reason: format!("no request in the whole {} trace", self.inputs[0].opened.format.name),
            });
        };
        self.origin = *origin;
        Ok(())
    }

    /// The next request at its time on the clock of the files.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Record>, TraceError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let Some(Reverse((_, at))) = self.heads.peek().copied() else { return Ok(None) };
        let input = &mut self.inputs[at];
        let mut record = input.buffer[input.next];
        input.next += 1;
        record.at = Nanos(record.at.0 - input.shift);
        let next = input.peek().unwrap_or_else(|fault| {
            self.fault = Some(fault);
            None
        });
        match next {
            // The heap is only worked on where another input may be earlier.
            Some(next) if self.heads.len() == 1 => {
                debug_assert!(next >= record.at.0 || input.sorting);
            }
            Some(next) => {
                self.heads.pop();
                self.heads.push(Reverse((next - input.shift, at)));
            }
            None => {
                self.heads.pop();
            }
        }
        Ok(Some(record))
    }

    /// Books a request that leaves, `at` counted from the first.
    #[inline]
    pub fn saw(&mut self, record: &Record) {
        self.seen.saw(record);
    }

    pub fn set_origin(&mut self, origin: i64) {
        self.origin = origin;
    }

    pub fn first_path(&self) -> &Path {
        &self.inputs[0].opened.path
    }
}

impl Iterator for Merged {
    type Item = Result<Record, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.step() {
            Ok(Some(mut record)) => {
                record.at = Nanos(record.at.0 - self.origin);
                self.saw(&record);
                Some(Ok(record))
            }
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

impl Reader for Merged {
    fn notes(&self) -> Notes {
        let mut sizes = std::collections::BTreeMap::new();
        for input in &self.inputs {
            sizes.extend(input.opened.parse.sizes());
        }
        sizes.extend(&self.options.device_bytes);
        let names = self.names.all();
        let device = |(&number, reach): (&u32, &rate::Reach)| Device {
            number,
            name: names.get(&number).cloned(),
            bytes: sizes.get(&number).copied().or(self.options.all_device_bytes),
            requests: reach.requests,
            reach_bytes: reach.end,
        };
        let file = |input: &Input| FileNote {
            path: input.opened.path.clone(),
            format: input.opened.format.name,
            compression: input.opened.compression,
            requests: input.intake.records,
        };
        let format = self.inputs[0].opened.format;
        let unit = self.options.time_unit.unwrap_or(format.unit);
        let mut warnings: Vec<String> = self.inputs.iter().flat_map(|i| i.opened.parse.remarks()).collect();
        warnings.extend(self.seen.warning(format, unit, self.options.time_unit.is_some()));
        if self.inputs.iter().any(|i| i.opened.format.name != format.name) && !self.options.align_starts {
            warnings.push(
                "inputs of different formats are merged on their own clocks; --align-starts lets all begin at 0".into(),
            );
        }
        Notes {
            files: self.inputs.iter().map(file).collect(),
            devices: self.seen.devices().iter().map(device).collect(),
            requests: self.seen.requests(),
            origin_ns: self.origin,
            late: self.inputs.iter().map(|i| i.intake.late).sum(),
            skipped: self.inputs.iter().map(|i| i.intake.skipped).sum(),
            first_skipped: self.inputs.iter().find_map(|i| i.intake.first_skipped.clone()),
            warnings,
        }
    }
}
