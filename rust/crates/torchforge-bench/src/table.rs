//! Markdown tables for people.

/// Bytes in MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// A Markdown table whose columns are as wide as their widest cell.
pub(crate) fn table(title: &str, rows: &[(&str, String)]) -> String {
    let left = rows.iter().map(|(name, _)| name.chars().count()).chain([title.len()]).max().unwrap_or(0);
    let right =
        rows.iter().map(|(_, value)| value.chars().count()).chain(["torchforge".len()]).max().unwrap_or(0);
    let mut lines = vec![
        format!("| {title:left$} | {:>right$} |", "torchforge"),
        format!("|:{:-<left$}-|-{:-<right$}:|", "", ""),
    ];
    lines.extend(rows.iter().map(|(name, value)| format!("| {name:left$} | {value:>right$} |")));
    lines.join("\n")
}

/// A whole number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let expected = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in expected {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_table_has_lines_of_one_width() {
        let text = table("DQN", &[("seed", "1 ± 2".into()), ("environment", "CartPole-v1".into())]);
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [29; 4], "{text}");
    }
}
