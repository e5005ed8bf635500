//! Commands in service.

use super::job::Class;
use super::queue::Owner;

#[derive(Clone, Copy, Debug)]
pub(super) struct InService {
    pub owner: Owner,
    /// Of the job when the command was given; another one now means that nobody waits for it any more.
    pub epoch: u32,
    pub drive: u16,
    pub class: Class,
    pub live: bool,
}

#[derive(Debug, Default)]
pub(super) struct Commands {
    slots: Vec<InService>,
    free: Vec<u32>,
}

impl Commands {
    pub fn add(&mut self, command: InService) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = command;
            return index;
        }
        self.slots.push(command);
        (self.slots.len() - 1) as u32
    }

    pub fn take(&mut self, index: u32) -> InService {
        self.free.push(index);
        self.slots[index as usize].live = false;
        self.slots[index as usize]
    }

    pub fn live(&self) -> impl Iterator<Item = &InService> {
        self.slots.iter().filter(|command| command.live)
    }
}
