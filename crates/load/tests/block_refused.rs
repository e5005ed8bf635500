//! What cannot be done is refused before the first request; what the device refuses is a record.
#![allow(clippy::unwrap_used)]

mod block_stage;

use std::sync::Arc;
use std::time::Duration;

use block_stage::{MS, Stage};
use iojoule_load::block::block;
use iojoule_load::{Control, LoadError, Wish};
use serde_json::{Value, json};

fn refused(work: Value, more: Value) -> String {
    let stage = Stage::new();
    let mut more = more;
    if more.get("requests").is_none() {
        more["requests"] = json!(1);
    }
    let error = stage.try_run(&stage.config(work, more), &Control::new()).unwrap_err();
    assert!(matches!(error, LoadError::Config { .. }), "{error}");
    assert!(!stage.0.path().join("run/tables/requests.parquet").exists());
    error.to_string()
}

fn direct(stage: &Stage, writable: bool) -> Value {
    let path = stage.0.path().join("file");
    json!({"kind": "files", "files": [{"path": path}], "direct": true, "writable": writable})
}

#[test]
fn a_write_to_a_target_open_for_reading() {
    let stage = Stage::new();
    stage.file("file", 1 << 20);
    let target = json!({"kind": "files", "files": [{"path": stage.0.path().join("file")}], "direct": false,
        "writable": false});
    assert!(refused(json!({"mix": {"write": 0.1}}), json!({"target": target})).contains("reading only"));
}

#[test]
fn places_and_sizes_that_cannot_be() {
    assert!(refused(json!({"sizes": []}), json!({})).contains("sizes"));
    assert!(refused(json!({"sizes": [{"bytes": 2 << 20}]}), json!({})).contains("2097152"));
    assert!(refused(json!({"region": {"offset": 2 << 20}}), json!({})).contains("region"));
    assert!(refused(json!({"region": {"bytes": 2 << 20}}), json!({})).contains("region"));
    assert!(refused(json!({"queue_depth": 0}), json!({})).contains("queue_depth"));
    assert!(refused(json!({"jobs": 0}), json!({})).contains("jobs"));
    assert!(refused(json!({"arrivals": {"kind": "poisson", "rate_per_s": 0.0}}), json!({})).contains("rate"));
    assert!(refused(json!({}), json!({"warmup_ns": -1})).contains("warmup_ns"));
}

#[test]
fn direct_access_asks_for_whole_blocks() {
    let stage = Stage::new();
    stage.file("file", 1 << 20);
    let config =
        stage.config(json!({"sizes": [{"bytes": 1000}]}), json!({"requests": 1, "target": direct(&stage, false)}));
    match stage.try_run(&config, &Control::new()) {
        Err(LoadError::Config { key: "sizes", reason }) => assert!(reason.contains("1000"), "{reason}"),
        // A file system without direct access, tmpfs before Linux 6.6.
        Err(LoadError::Host { what, .. }) => assert!(what.contains("direct"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_that_shrinks_gives_short_reads_and_no_end() {
    let stage = Stage::new();
    let config = stage.config(json!({"queue_depth": 4}), json!({"duration_ns": 60_000 * MS}));
    let file = std::fs::OpenOptions::new().write(true).open(stage.0.path().join("file")).unwrap();
    let (control, live) = (Control::new(), Arc::new(iojoule_record::Live::default()));
    let more = |requests: u64| {
        let until = live.snapshot().done + requests;
        while live.snapshot().done < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let config = serde_json::from_value(config).unwrap();
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            more(1000);
            file.set_len(6000).unwrap();
            more(1000);
            control.ask(Wish::Finish);
        });
        block(&config, live.clone(), &control).unwrap()
    });
    let rows = stage.rows();
    let short: Vec<_> = rows.iter().filter(|row| row.error == "short_io").collect();
    assert_eq!(summary.errors["short_io"], short.len() as u64);
    assert!(short.iter().all(|row| row.status == 0 && row.bytes == 6000_u64.saturating_sub(row.offset)));
    assert_eq!(summary.succeeded + short.len() as u64, rows.len() as u64);
}

#[test]
fn what_fails_all_the_time_is_not_hammered() {
    let stage = Stage::new();
    // Every write lies beyond the size a file may have in that process, and fails with EFBIG.
    let config =
        stage.config(json!({"mix": {"write": 1.0}, "region": {"offset": 524_288}}), json!({"duration_ns": 300 * MS}));
    let summary = in_child(&stage, &config, "limit");
    assert_eq!(summary["errnos"]["EFBIG"], summary["requests"]);
    let requests = summary["requests"].as_u64().unwrap();
    assert!((1000..1500).contains(&requests), "{requests}");
    assert!(summary["warnings"][0].as_str().unwrap().contains("failed"), "{summary}");
}

#[test]
fn a_denied_ring_is_replaced_by_threads_and_said_so() {
    let stage = Stage::new();
    let config = stage.config(json!({"queue_depth": 4}), json!({"requests": 100}));
    let summary = in_child(&stage, &config, "deny");
    assert_eq!((&summary["engine"], &summary["succeeded"]), (&json!("threads"), &json!(100)));
    assert!(summary["warnings"][0].as_str().unwrap().contains("io_uring is denied"), "{summary}");
}

/// Runs this very test program again, as `child` below, under a restriction that cannot be taken back.
fn in_child(stage: &Stage, config: &Value, restriction: &str) -> Value {
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env("IOJOULE_TEST_CONFIG", config.to_string())
        .env("IOJOULE_TEST_RESTRICTION", restriction)
        .env("IOJOULE_TEST_SUMMARY", stage.0.path().join("summary.json"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    serde_json::from_slice(&std::fs::read(stage.0.path().join("summary.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn child() {
    let config: Value = serde_json::from_str(&std::env::var("IOJOULE_TEST_CONFIG").unwrap()).unwrap();
    match std::env::var("IOJOULE_TEST_RESTRICTION").unwrap().as_str() {
        "deny" => deny_rings(),
        _ => limit_files(),
    }
    let config = serde_json::from_value(config).unwrap();
    let summary = block(&config, Arc::default(), &Control::new()).unwrap();
    std::fs::write(std::env::var("IOJOULE_TEST_SUMMARY").unwrap(), serde_json::to_vec(&summary).unwrap()).unwrap();
}

/// No file may be written at all beyond its first 256 KiB; writes there fail with EFBIG. The table stays below.
fn limit_files() {
    let limit = libc::rlimit { rlim_cur: 262_144, rlim_max: 262_144 };
    // SAFETY: plain settings of this process.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

/// From now on io_uring_setup fails with EPERM in this process.
fn deny_rings() {
    let insn = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        insn(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        insn(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        insn(libc::BPF_RET | libc::BPF_K, 0, 0, denied),
        insn(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter outlives the calls, which copy it; all threads of this process get it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let done = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &program as *const libc::sock_fprog,
        );
        assert_eq!(done, 0);
    }
}
