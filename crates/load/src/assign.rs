//! Which connection a due request travels on: its own, its client's, or any idle one; and what happens at the cap.

use std::collections::{HashMap, VecDeque};

use iojoule_record::{ErrorClass, RecordError};

use crate::config::{AtCap, ConnectionMode};
use crate::connections::{After, Connections};
use crate::wire::Order;

/// A client that has a connection.
struct Client {
    slot: usize,
    idle: bool,
    /// Requests that became due while the connection was busy.
    queue: VecDeque<Order>,
}

pub(crate) struct Assignment {
    mode: ConnectionMode,
    at_cap: AtCap,
    /// Connections this thread may have open.
    cap: usize,
    clients: HashMap<u32, Client>,
    /// Requests that are due and found the cap reached, oldest first.
    waiting: VecDeque<Order>,
    /// Steps whose outcome is not dealt with yet: a list, because a dead server makes each of them cause the next.
    outcomes: VecDeque<After>,
    /// Requests in the clients' queues.
    behind_clients: usize,
}

impl Assignment {
    pub fn new(mode: ConnectionMode, at_cap: AtCap, cap: usize) -> Self {
        Self {
            mode,
            at_cap,
            cap,
            clients: HashMap::new(),
            waiting: VecDeque::new(),
            outcomes: VecDeque::new(),
            behind_clients: 0,
        }
    }

    /// Requests without a connection.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.behind_clients
    }

    /// Sends `order`, which is due, or makes it wait.
    pub fn dispatch(&mut self, connections: &mut Connections, order: Order) -> Result<(), RecordError> {
        self.place(connections, order)?;
        self.settle(connections)
    }

    /// A step on a connection has ended so.
    pub fn after(&mut self, connections: &mut Connections, after: After) -> Result<(), RecordError> {
        self.outcomes.push_back(after);
        self.settle(connections)
    }

    /// Records all requests that wait as never sent.
    pub fn give_up(&mut self, connections: &mut Connections) -> Result<(), RecordError> {
        let behind_clients = self.clients.drain().flat_map(|(_, client)| client.queue);
        for order in self.waiting.drain(..).chain(behind_clients) {
            connections.give_up(&order, ErrorClass::ClientStop)?;
        }
        self.behind_clients = 0;
        Ok(())
    }

    fn place(&mut self, connections: &mut Connections, order: Order) -> Result<(), RecordError> {
        match self.mode {
            ConnectionMode::PerRequest => {}
            ConnectionMode::Pool => {
                if let Some(slot) = connections.warmest_idle() {
                    let after = connections.send(slot, order)?;
                    self.outcomes.push_back(after);
                    return Ok(());
                }
            }
            ConnectionMode::PerClient => match self.clients.get_mut(&order.row().client) {
                Some(client) if client.idle => {
                    client.idle = false;
                    let after = connections.send(client.slot, order)?;
                    self.outcomes.push_back(after);
                    return Ok(());
                }
                Some(client) => {
                    client.queue.push_back(order);
                    self.behind_clients += 1;
                    return Ok(());
                }
                None => {}
            },
        }
        if !self.make_room(connections) {
            return match self.at_cap {
                AtCap::Queue => {
                    connections.tally.queued_at_cap += 1;
                    self.waiting.push_back(order);
                    Ok(())
                }
                AtCap::Drop => connections.give_up(&order, ErrorClass::Dropped),
            };
        }
        self.open(connections, order, VecDeque::new())
    }

    fn open(&mut self, connections: &mut Connections, order: Order, queue: VecDeque<Order>) -> Result<(), RecordError> {
        let client = order.row().client;
        let (slot, after) = connections.open(order)?;
        if self.mode == ConnectionMode::PerClient {
            self.clients.insert(client, Client { slot, idle: false, queue });
        }
        self.outcomes.push_back(after);
        Ok(())
    }

    /// True where one more connection may be opened, if need be by closing the one that was idle longest.
    fn make_room(&mut self, connections: &mut Connections) -> bool {
        if connections.open < self.cap {
            return true;
        }
        match connections.close_longest_idle() {
            Some(client) => {
                self.clients.remove(&client);
                true
            }
            None => false,
        }
    }

    fn settle(&mut self, connections: &mut Connections) -> Result<(), RecordError> {
        while let Some(after) = self.outcomes.pop_front() {
            match after {
                After::Busy => continue,
                After::Idle(slot) => self.next_on(connections, slot)?,
                After::Gone { client, .. } => {
                    let queue = self.clients.remove(&client).map(|c| c.queue).unwrap_or_default();
                    self.reopen_for(connections, queue)?;
                }
            }
            while !self.waiting.is_empty() && self.make_room(connections) {
                if let Some(order) = self.waiting.pop_front() {
                    self.place(connections, order)?;
                }
            }
        }
        Ok(())
    }

    /// The connection in `slot` is free: give it its next request, or let it rest.
    fn next_on(&mut self, connections: &mut Connections, slot: usize) -> Result<(), RecordError> {
        let order = match self.mode {
            ConnectionMode::PerRequest => None,
            ConnectionMode::Pool => self.waiting.pop_front(),
            ConnectionMode::PerClient => self.clients.get_mut(&connections.client(slot)).and_then(|client| {
                let order = client.queue.pop_front();
                client.idle = order.is_none();
                self.behind_clients -= usize::from(order.is_some());
                order
            }),
        };
        match order {
            Some(order) => {
                let after = connections.send(slot, order)?;
                self.outcomes.push_back(after);
            }
            None => connections.rest(slot),
        }
        Ok(())
    }

    /// A client's connection has gone while others of its requests waited behind it.
    fn reopen_for(&mut self, connections: &mut Connections, mut queue: VecDeque<Order>) -> Result<(), RecordError> {
        match queue.pop_front() {
            Some(order) => {
                self.behind_clients -= 1;
                self.open(connections, order, queue)
            }
            None => Ok(()),
        }
    }
}
