//! Peaks of memory, each from a named source; none where the source does not exist.

use std::fs;

use serde::Serialize;

/// Bytes used at most so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// `VmHWM` of /proc/self/status: the process's own peak resident set.
    pub vmhwm_bytes: Option<u64>,
    /// The cgroup's peak, page cache and children included.
    pub cgroup_peak_bytes: Option<u64>,
}

impl Memory {
    /// What the system tells now.
    pub fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = ["/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes"]
            .iter()
            .find_map(|path| fs::read_to_string(path).ok());
        Self {
            vmhwm_bytes: vmhwm_bytes(&status),
            cgroup_peak_bytes: peak.and_then(|text| text.trim().parse().ok()).filter(|&bytes| bytes > 0),
        }
    }
}

fn vmhwm_bytes(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_bytes() {
        assert_eq!(vmhwm_bytes("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2048 * 1024));
    }

    #[test]
    fn a_missing_source_is_none() {
        assert_eq!(vmhwm_bytes("Name:\tx\n"), None);
    }
}
