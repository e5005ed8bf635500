//! What a reader holds does not grow with the trace: the peak of all allocations is the same for a trace eight times as
//! long. A binary of its own, because it counts what the whole process allocates.

#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use iojoule_trace::block::{Options, open};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it came; counting has no part in what is returned.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(HELD.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `at` came from `alloc` with the same layout, by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes held at most while a trace of `requests` is read.
fn peak(folder: &Path, requests: u64) -> usize {
    let path = folder.join(format!("{requests}.spc"));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    for i in 0..requests {
        writeln!(file, "{},{},4096,r,{}.{:06}", i % 3, i * 8, i / 1000, i % 1000 * 1000).unwrap();
    }
    file.flush().unwrap();
    drop(file);
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let read = open(&[path], &Options::default()).unwrap().map(Result::unwrap).count();
    assert_eq!(read as u64, requests);
    PEAK.load(Relaxed) - before
}

#[test]
fn the_peak_of_memory_is_that_of_the_window_whatever_the_length() {
    let folder = tempfile::tempdir().unwrap();
    let (short, long) = (peak(folder.path(), 50_000), peak(folder.path(), 400_000));
    assert!(long < short + 64 * 1024, "{short} bytes, then {long}");
    assert!(long < 16 << 20, "{long}");
}
