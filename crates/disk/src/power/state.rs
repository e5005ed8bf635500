//! The states whose power differs.

/// What a drive is doing, as far as its power goes. Command processing and transfers over the bus count as `Idle`: the
/// medium rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PowerState {
    /// The arm moves or settles, or the drive changes heads.
    Seek,
    /// On the track, waiting for the sector.
    RotateWait,
    Read,
    Write,
    /// Turning, ready, nothing to do.
    Idle,
    /// Turning, heads unloaded or electronics partly off.
    LowPowerIdle,
    /// Not turning; the interface answers.
    Standby,
    /// Not turning; only a reset wakes the interface.
    Sleep,
    SpinUp,
    SpinDown,
    /// Without power: the drive has failed or is out of its slot.
    Off,
}

impl PowerState {
    pub const COUNT: usize = 11;

    /// All states, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Seek,
        Self::RotateWait,
        Self::Read,
        Self::Write,
        Self::Idle,
        Self::LowPowerIdle,
        Self::Standby,
        Self::Sleep,
        Self::SpinUp,
        Self::SpinDown,
        Self::Off,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seek => "seek",
            Self::RotateWait => "rotate_wait",
            Self::Read => "read",
            Self::Write => "write",
            Self::Idle => "idle",
            Self::LowPowerIdle => "low_power_idle",
            Self::Standby => "standby",
            Self::Sleep => "sleep",
            Self::SpinUp => "spin_up",
            Self::SpinDown => "spin_down",
            Self::Off => "off",
        }
    }

    /// Seek, rotate-wait, read or write: the medium is at work.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Seek | Self::RotateWait | Self::Read | Self::Write)
    }

    /// The platters turn at speed.
    pub const fn is_spinning(self) -> bool {
        self.is_active() || matches!(self, Self::Idle | Self::LowPowerIdle)
    }
}
