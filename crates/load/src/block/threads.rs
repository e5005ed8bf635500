//! Where the ring is denied or not wanted: one thread for each outstanding request, `pread` and `pwrite`. The worker
//! itself takes the times, so that what a hand-over between threads costs is not the device's.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use iojoule_record::{Op, clock};

use crate::LoadError;
use crate::block::backend::{Backend, Done};
use crate::block::buffers::Buffers;
use crate::block::source::Io;
use crate::block::target::Target;
use crate::epoll::thread_cpu_ns;

const BLKDISCARD: libc::Ioctl = 0x1277;
/// Outstanding requests are waited for this long at an end by force.
const LAST: Duration = Duration::from_secs(1);

pub(crate) struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    pushed: Vec<Task>,
    back: VecDeque<Done>,
}

struct Shared {
    files: Vec<(File, bool)>,
    buffers: Arc<Buffers>,
    data_only: bool,
    todo: Mutex<Todo>,
    work: Condvar,
    done: Mutex<Vec<Done>>,
    news: Condvar,
    cpu_ns: AtomicI64,
}

/// Slot, buffer, and what to do.
type Task = (u32, u32, Io);

#[derive(Default)]
struct Todo {
    requests: VecDeque<Task>,
    over: bool,
}

/// A panic of a worker is told when it is joined; what the lock guards is whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    pub fn new(target: &Target, slots: u32, buffers: Arc<Buffers>, data_only: bool) -> Result<Self, LoadError> {
        let mut files = Vec::with_capacity(target.files.len());
        for place in &target.files {
            if let Some(file) = &place.file {
                files.push((file.try_clone().map_err(|e| LoadError::file(&place.path, e))?, place.is_device));
            }
        }
        let shared = Arc::new(Shared {
            files,
            buffers,
            data_only,
            todo: Mutex::default(),
            work: Condvar::new(),
            done: Mutex::default(),
            news: Condvar::new(),
            cpu_ns: AtomicI64::new(0),
        });
        let mut threads = Self { shared, workers: Vec::new(), pushed: Vec::new(), back: VecDeque::new() };
        for worker in 0..slots {
            let shared = threads.shared.clone();
            let spawned = Builder::new().name(format!("iojoule-io-{worker}")).stack_size(64 << 10).spawn(move || {
                shared.serve();
                shared.cpu_ns.fetch_add(thread_cpu_ns(), Relaxed);
            });
            match spawned {
                Ok(handle) => threads.workers.push(handle),
                Err(source) => return Err(LoadError::System { doing: "starting a thread for each request", source }),
            }
        }
        Ok(threads)
    }

    fn collect(&mut self) {
        self.back.extend(lock(&self.shared.done).drain(..));
    }

    /// Sends the workers home; how many requests none of them had begun.
    fn dismiss(&self) -> usize {
        let mut todo = lock(&self.shared.todo);
        todo.over = true;
        self.shared.work.notify_all();
        todo.requests.drain(..).len()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.dismiss();
    }
}

impl Backend for Threads {
    const MOVES_DATA: bool = true;

    fn push(&mut self, slot: u32, buffer: u32, io: &Io) {
        self.pushed.push((slot, buffer, *io));
    }

    fn submit(&mut self) -> Result<Option<i64>, LoadError> {
        if self.pushed.is_empty() {
            return Ok(None);
        }
        let before = clock::now().0;
        let count = self.pushed.len();
        lock(&self.shared.todo).requests.extend(self.pushed.drain(..));
        (0..count).for_each(|_| self.shared.work.notify_one());
        Ok(Some(clock::now().0 - before))
    }

    fn news(&mut self) -> bool {
        !self.back.is_empty() || !lock(&self.shared.done).is_empty()
    }

    fn wait(&mut self, wait_ns: i64) -> Result<(), LoadError> {
        let mut done = lock(&self.shared.done);
        if wait_ns > 0 && done.is_empty() && self.back.is_empty() {
            let patience = Duration::from_nanos(wait_ns as u64);
            done = self.shared.news.wait_timeout(done, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.back.extend(done.drain(..));
        Ok(())
    }

    fn ready(&mut self) -> usize {
        self.back.len()
    }

    fn pop(&mut self) -> Option<Done> {
        self.back.pop_front()
    }

    fn stop(&mut self, outstanding: usize) -> bool {
        let until = clock::now().0 + LAST.as_nanos() as i64;
        let unstarted = self.dismiss();
        self.collect();
        while self.back.len() + unstarted < outstanding && clock::now().0 < until {
            std::thread::sleep(Duration::from_millis(1));
            self.collect();
        }
        let all = self.back.len() + unstarted >= outstanding;
        if all {
            // What a worker's panic said is on the terminal already.
            self.workers.drain(..).for_each(|worker| drop(worker.join()));
        }
        all
    }

    fn cpu_ns(&self) -> i64 {
        self.shared.cpu_ns.load(Relaxed)
    }
}

impl Shared {
    fn serve(&self) {
        loop {
            let (slot, buffer, io) = {
                let mut todo = lock(&self.todo);
                loop {
                    if todo.over {
                        return;
                    }
                    match todo.requests.pop_front() {
                        Some(request) => break request,
                        None => todo = self.work.wait(todo).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
            let issued = clock::now().0;
            let result = self.perform(buffer, &io);
            let times = Some((issued, clock::now().0));
            lock(&self.done).push(Done { slot, result, times });
            self.news.notify_one();
        }
    }

    /// Bytes done, or the errno negated.
    fn perform(&self, buffer: u32, io: &Io) -> i32 {
        let (file, is_device) = &self.files[io.file as usize];
        let (fd, at, bytes) = (file.as_raw_fd(), self.buffers.at(buffer), io.bytes as usize);
        let (start, length) = (io.offset as libc::off_t, i64::from(io.bytes) as libc::off_t);
        // SAFETY: the buffer is this request's alone until it is told done, and holds `bytes`; the range of a
        // discard is two numbers that outlive the call.
        let done = unsafe {
            match io.op {
                Op::Write => libc::pwrite(fd, at.cast(), bytes, start),
                Op::Flush if self.data_only => libc::fdatasync(fd) as isize,
                Op::Flush => libc::fsync(fd) as isize,
                Op::Trim if *is_device => {
                    let range = [io.offset, u64::from(io.bytes)];
                    libc::ioctl(fd, BLKDISCARD, range.as_ptr()) as isize
                }
                Op::Trim => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    libc::fallocate(fd, mode, start, length) as isize
                }
                _ => libc::pread(fd, at.cast(), bytes, start),
            }
        };
        if done < 0 { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { done as i32 }
    }
}
