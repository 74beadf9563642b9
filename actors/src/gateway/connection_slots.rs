//! Connection slots: a bounded number, shared fairly, so that no client shuts out all others.
//!
//! One process has at most half of them. When a slot is needed and none is free, a connection that has not greeted for
//! a moment is dropped first, then one that has been idle for long; those of the process with most slots go before
//! others. A connection that waits for an answer keeps its slot, and so does one that is held open on purpose
//! ([`ConnectionSlot::hold_open`]), which has a limit of its own.
//!
//! # Hazards
//!
//! - Where the system reports no pid of a peer (macOS), only the total holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use baton_base::limits;

/// How long a connection that has not greeted keeps a slot that another needs.
const ARRIVING: Duration = Duration::from_millis(250);
/// How long an idle connection keeps a slot that another needs.
const IDLE: Duration = Duration::from_secs(5);

/// All slots.
#[derive(Clone, Default)]
pub(super) struct ConnectionSlots(Arc<Mutex<SlotTable>>);

#[derive(Default)]
struct SlotTable {
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

struct Entry {
    process: Option<u32>,
    activity: Activity,
    since: Instant,
    revoked: Arc<Notify>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// Has not greeted yet.
    Arriving,
    /// Has greeted and makes no call.
    Idle,
    /// Waits for an answer.
    Calling,
    /// Is held open to show that its process lives.
    Staying,
}

/// One slot, freed on drop.
pub(super) struct ConnectionSlot {
    number: u64,
    slots: ConnectionSlots,
    revoked: Arc<Notify>,
}

impl ConnectionSlots {
    /// Allocates a slot for a connection of this process. Returns `None` if there is none.
    pub(super) fn allocate(&self, process: Option<u32>) -> Option<ConnectionSlot> {
        self.allocate_at(process, Instant::now())
    }

    fn allocate_at(&self, process: Option<u32>, now: Instant) -> Option<ConnectionSlot> {
        let mut table = self.table();
        let own = |entry: &Entry| process.is_some() && entry.process == process;
        if table.taken(own) >= limits::CONNECTIONS_PER_PROCESS {
            table.revoke_one(own, now)?;
        }
        if table.taken(|_| true) >= limits::CONNECTIONS {
            table.revoke_one(|_| true, now)?;
        }
        let number = table.next;
        table.next += 1;
        let revoked = Arc::new(Notify::new());
        table
            .entries
            .insert(number, Entry { process, activity: Activity::Arriving, since: now, revoked: revoked.clone() });
        drop(table);
        Some(ConnectionSlot { number, slots: self.clone(), revoked })
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotTable {
    /// Number of occupied slots that count and satisfy `meant`.
    fn taken(&self, meant: impl Fn(&Entry) -> bool) -> usize {
        self.entries.values().filter(|entry| entry.activity != Activity::Staying && meant(entry)).count()
    }

    /// Frees one of the slots that satisfy `meant`. Returns `None` if all of them are in use.
    fn revoke_one(&mut self, meant: impl Fn(&Entry) -> bool, now: Instant) -> Option<()> {
        let mut of_process: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for entry in self.entries.values() {
            *of_process.entry(entry.process).or_default() += 1;
        }
        let spare = |entry: &Entry| {
            let waited = now.saturating_duration_since(entry.since);
            match entry.activity {
                Activity::Arriving => waited >= ARRIVING,
                Activity::Idle => waited >= IDLE,
                Activity::Calling | Activity::Staying => false,
            }
        };
        let order = |(number, entry): &(&u64, &Entry)| {
            let entries = of_process.get(&entry.process).copied().unwrap_or_default();
            (entry.activity != Activity::Arriving, Reverse(entries), entry.since, **number)
        };
        let goes = self.entries.iter().filter(|(_, entry)| meant(entry) && spare(entry)).min_by_key(order);
        let number = *goes?.0;
        let entry = self.entries.remove(&number)?;
        entry.revoked.notify_one();
        Some(())
    }
}

impl ConnectionSlot {
    /// Records the connection's state.
    pub(super) fn set_activity(&self, activity: Activity) {
        let now = Instant::now();
        if let Some(entry) = self.slots.table().entries.get_mut(&self.number)
            && entry.activity != Activity::Staying
        {
            (entry.activity, entry.since) = (activity, now);
        }
    }

    /// Marks the connection as held open: it no longer counts and is not dropped for others. Returns `false` if there
    /// are too many of these.
    pub(super) fn hold_open(&self) -> bool {
        let mut table = self.slots.table();
        let staying = table.entries.values().filter(|entry| entry.activity == Activity::Staying).count();
        match table.entries.get_mut(&self.number) {
            Some(entry) if entry.activity == Activity::Staying => true,
            Some(entry) if staying < limits::PRESENCES => {
                entry.activity = Activity::Staying;
                true
            }
            _ => false,
        }
    }

    /// Resolves when the slot was given to another connection.
    pub(super) async fn revoked(&self) {
        self.revoked.notified().await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.table().entries.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(
        slots: &ConnectionSlots,
        process: u32,
        count: usize,
        activity: Activity,
        since: Instant,
    ) -> Vec<ConnectionSlot> {
        let mut crowd = Vec::new();
        for _ in 0..count {
            let slot = slots.allocate_at(Some(process), since).expect("a seat");
            slots.table().entries.get_mut(&slot.number).expect("seated").activity = activity;
            crowd.push(slot);
        }
        crowd
    }

    fn entries(slots: &ConnectionSlots, process: u32) -> usize {
        slots.table().taken(|entry| entry.process == Some(process))
    }

    const HALF: usize = limits::CONNECTIONS_PER_PROCESS;

    #[test]
    fn who_gives_way_and_who_does_not() {
        let check = |activity: Activity, waited: Duration, gives_way: bool| {
            let (slots, since) = (ConnectionSlots::default(), Instant::now());
            let crowd = crowd(&slots, 1, HALF, activity, since);
            let let_in = slots.allocate_at(Some(1), since + waited);
            assert_eq!(let_in.is_some(), gives_way, "{activity:?} after {waited:?}");
            assert_eq!(entries(&slots, 1), HALF, "{activity:?}");
            // However many slots one process has, another process gets one.
            assert!(slots.allocate_at(Some(2), since + waited).is_some(), "{activity:?}");
            drop(crowd);
        };
        check(Activity::Arriving, Duration::ZERO, false);
        check(Activity::Arriving, ARRIVING, true);
        check(Activity::Idle, ARRIVING, false);
        check(Activity::Idle, IDLE, true);
        check(Activity::Calling, IDLE * 100, false);
    }

    #[tokio::test]
    async fn the_silent_one_of_the_largest_crowd_that_came_first_goes_first() {
        let (slots, since) = (ConnectionSlots::default(), Instant::now());
        let step = Duration::from_millis(1);
        let _idle = crowd(&slots, 1, HALF, Activity::Idle, since);
        let few = crowd(&slots, 2, 2, Activity::Arriving, since);
        let many = crowd(&slots, 3, HALF - 2, Activity::Arriving, since + step);
        let newcomer = slots.allocate_at(Some(4), since + ARRIVING + step).expect("somebody gives way");
        many[0].revoked().await;
        assert_eq!((entries(&slots, 1), entries(&slots, 2), entries(&slots, 3)), (HALF, 2, HALF - 3));
        // Dropping a reassigned slot does not free it.
        drop(many);
        assert_eq!(entries(&slots, 4), 1);
        drop((few, newcomer));
        assert_eq!(slots.table().entries.len(), HALF);
    }

    #[test]
    fn those_who_stay_take_no_seats_and_are_bounded() {
        let (slots, since) = (ConnectionSlots::default(), Instant::now());
        let mut staying = Vec::new();
        for number in 0..limits::PRESENCES {
            let slot = slots.allocate_at(Some(u32::try_from(number).expect("few")), since).expect("a seat");
            assert!(slot.hold_open() && slot.hold_open(), "{number}");
            slot.set_activity(Activity::Idle);
            staying.push(slot);
        }
        let one_more = slots.allocate_at(Some(1), since).expect("a seat");
        assert!(!one_more.hold_open());
        assert_eq!(slots.table().taken(|_| true), 1);
        assert!(slots.table().revoke_one(|entry| entry.activity == Activity::Staying, since + IDLE * 100).is_none());
        staying.pop();
        assert!(one_more.hold_open());
    }

    #[test]
    fn without_a_known_process_all_seats_are_for_all() {
        let (slots, since) = (ConnectionSlots::default(), Instant::now());
        let all: Vec<_> = (0..limits::CONNECTIONS).map(|_| slots.allocate_at(None, since).expect("a seat")).collect();
        assert!(slots.allocate_at(None, since).is_none());
        drop(all);
        assert!(slots.allocate_at(None, since).is_some());
    }
}
