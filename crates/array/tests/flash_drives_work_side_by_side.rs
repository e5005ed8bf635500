//! A flash drive takes several commands at once: it is ready before they are done.
#![allow(clippy::unwrap_used)]

mod stage;

use iojoule_array::{Array, Completion, Request};
use iojoule_disk::{DriveSpec, Model, Op};
use iojoule_units::{Lba, ModelNs};
use stage::{config_of, play, poisson};

const FLASH: &str = r#"
name = "flash"
[flash]
sectors = 80000
channels = 8
page_sectors = 8
block_pages = 64
read_page_us = 100.0
program_page_us = 300.0
erase_block_us = 2000.0
transfer_page_us = 10.0
overhead_us = 5.0
interface_sector_us = 1.0
slots = 4
"#;

fn flash(config: &str) -> Array {
    Array::new(&config_of(config), &Model::new(&DriveSpec::from_toml(FLASH).unwrap()).unwrap()).unwrap()
}

#[test]
fn commands_on_different_channels_overlap_as_far_as_there_are_slots() {
    let at_once = |reads: u64| -> Vec<Completion> {
        let mut array = flash("drives = 1\nlayout = { kind = 'single' }");
        let read = |id| Request { id, op: Op::Read, lba: Lba(id * 8), sectors: 8, asynchronous: false };
        play(&mut array, &(0..reads).map(|id| (ModelNs(0), read(id))).collect::<Vec<_>>())
    };
    let last = |done: &[Completion]| done.iter().map(|c| c.done.0).max().unwrap();
    let (one, four, eight) = (last(&at_once(1)), last(&at_once(4)), last(&at_once(8)));
    assert!(four < 2 * one, "four reads in {four} ns, one in {one} ns");
    assert!(eight > four, "a fifth waits for a slot: {eight} ns against {four} ns");
}

#[test]
fn an_array_of_them_answers_every_request_whatever_the_scheduler() {
    for scheduler in ["fcfs", "satf", "look", "rsatf"] {
        let mut array = flash(&format!("drives = 4\nlayout = {{ kind = 'raid10' }}\nscheduler = '{scheduler}'"));
        let arrivals = poisson(3, 2000, 20_000.0, 0.3, 16, array.capacity());
        let done = play(&mut array, &arrivals);
        assert_eq!(done.len(), 2000, "{scheduler}");
        assert!(done.iter().all(|c| c.served && c.arrived <= c.started && c.started <= c.done), "{scheduler}");
    }
}
