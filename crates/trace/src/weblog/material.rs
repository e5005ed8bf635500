//! Bounded counters that [`info`](mod@super::info) is built from.

use std::collections::BTreeMap;

use serde::Serialize;

use super::time::iso;

/// 22 years of hours; stamps of a damaged log may name any hour at all.
const HOURS: usize = 200_000;
/// Methods and versions counted by name; a scanner can invent any number of them.
const WORDS: usize = 64;

/// One hour of the log's time with at least one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HourRow {
    pub hour: String,
    pub requests: u64,
    pub bytes: u64,
}

/// Requests and bytes by hour.
#[derive(Default)]
pub(crate) struct Hours {
    hours: BTreeMap<i64, (u64, u64)>,
    open: (i64, u64, u64),
    pub not_shown: u64,
}

impl Hours {
    pub fn add(&mut self, hour: i64, bytes: u64) {
        if hour != self.open.0 {
            self.put_away();
            self.open = (hour, 0, 0);
        }
        self.open.1 += 1;
        self.open.2 = self.open.2.saturating_add(bytes);
    }

    fn put_away(&mut self) {
        let (hour, requests, bytes) = self.open;
        if requests == 0 {
            return;
        }
        if self.hours.len() < HOURS || self.hours.contains_key(&hour) {
            let row = self.hours.entry(hour).or_default();
            *row = (row.0 + requests, row.1.saturating_add(bytes));
        } else {
            self.not_shown += requests;
        }
        self.open.1 = 0;
    }

    pub fn rows(mut self) -> Vec<HourRow> {
        self.put_away();
        let row = |(hour, (requests, bytes)): (i64, (u64, u64))| HourRow { hour: iso(hour * 3600), requests, bytes };
        self.hours.into_iter().map(row).collect()
    }
}

/// Counts of short strings, the common ones first to be found.
#[derive(Default)]
pub(crate) struct Words {
    words: Vec<(Box<[u8]>, u64)>,
    others: u64,
}

impl Words {
    #[inline]
    pub fn add(&mut self, word: &[u8]) {
        if let Some((_, count)) = self.words.iter_mut().find(|(known, _)| **known == *word) {
            *count += 1;
        } else if self.words.len() < WORDS && word.len() <= 40 {
            self.words.push((word.into(), 1));
        } else {
            self.others += 1;
        }
    }

    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (word, n) in &self.words {
            *counts.entry(word.escape_ascii().to_string()).or_default() += n;
        }
        if self.others > 0 {
            counts.insert("(other)".into(), self.others);
        }
        counts
    }
}
