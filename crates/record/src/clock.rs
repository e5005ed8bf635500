//! The host clock. Every time in every table is `CLOCK_MONOTONIC` in nanoseconds, the clock behind Python's
//! `time.monotonic_ns()`; UTC is kept beside it as pairs, so that an NTP step cannot bend a duration.

use iojoule_units::HostNs;

/// Now, on the host's monotonic clock.
pub fn now() -> HostNs {
    HostNs(read(libc::CLOCK_MONOTONIC))
}

/// The same instant on both clocks: monotonic, and UTC in nanoseconds since 1970.
/// The monotonic value is the middle of two reads around the UTC one.
pub fn utc_pair() -> (HostNs, i64) {
    let before = read(libc::CLOCK_MONOTONIC);
    let utc = read(libc::CLOCK_REALTIME);
    let after = read(libc::CLOCK_MONOTONIC);
    (HostNs(before + (after - before) / 2), utc)
}

/// Processor time the calling thread has used, in seconds.
pub fn thread_cpu_s() -> f64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID) as f64 / 1e9
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec; all these clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_runs_backwards() {
        let times: Vec<_> = (0..1000).map(|_| now()).collect();
        assert!(times.is_sorted());
    }
}
