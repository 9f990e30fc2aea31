//! Rows become columns.

/// Writes the transpose of `values`, rows of `width` values, to `out`, rows of `out_width`; what is beyond a row's
/// values in `out` stays as it was.
#[inline(always)]
pub(crate) fn transpose(values: &[f32], width: usize, out: &mut [f32], out_width: usize) {
    const BLOCK: usize = 16;
    let rows = values.len() / width;
    assert!(rows <= out_width && out.len() >= width * out_width, "room for the transpose");
    for first_row in (0..rows).step_by(BLOCK) {
        let block_rows = BLOCK.min(rows - first_row);
        for (column, out) in out.chunks_exact_mut(out_width).enumerate().take(width) {
            let out = &mut out[first_row..][..block_rows];
            for (row, out) in out.iter_mut().enumerate() {
                *out = values[(first_row + row) * width + column];
            }
        }
    }
}
