//! The outputs of rows, for anybody.

use super::Mlp;
use super::activations::Activations;
use crate::Error;
use crate::error::check_len;
use crate::kernels::transpose;
use crate::processor::Processor;
use crate::simd::{Simd, SimdPath, Work, dispatch};

/// Rows that pass through the layers together: enough to use each weight often, and few enough to stay in the caches.
const BLOCK: usize = 64;

impl Mlp {
    /// Computes the outputs of input rows, of which there may be any number.
    ///
    /// `inputs` is (rows, [`inputs`](Self::inputs)) and `outputs` (rows, [`outputs`](Self::outputs)). The bytes are those
    /// that an agent of these parameters computes: a row's outputs depend neither on the rows beside it nor on the
    /// [`SimdPath`], which is the fastest of this processor. Memory for up to 64 rows is taken when it is first needed, and
    /// kept.
    ///
    /// ```
    /// use torchforge_env::Pcg64; // or any other generator of rand_core
    /// use torchforge_nn::Mlp;
    ///
    /// let mut network = Mlp::new(&[2, 16, 3], &mut Pcg64::new(1))?; // or Mlp::read, from a file
    /// let mut outputs = [0.0; 2 * 3];
    /// network.evaluate(&[0.1, 0.2, 0.3, 0.4], &mut outputs)?; // two rows
    /// let mut second = [0.0; 3];
    /// network.evaluate(&[0.3, 0.4], &mut second)?; // one of them alone
    /// assert_eq!(outputs[3..], second);
    /// # Ok::<(), torchforge_nn::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where `inputs` are no whole rows, or `outputs` has not one row for each of them, and
    /// [`Error::NoMemory`].
    pub fn evaluate(&mut self, inputs: &[f32], outputs: &mut [f32]) -> Result<(), Error> {
        self.evaluate_on(SimdPath::detect(), inputs, outputs)
    }

    /// Takes the memory that any evaluation needs, so that none takes more.
    pub(crate) fn reserve_evaluation(&mut self) -> Result<(), Error> {
        self.check_memory(BLOCK)?;
        self.evaluated = Some(self.activations(BLOCK));
        Ok(())
    }

    pub(crate) fn evaluate_on(
        &mut self,
        path: SimdPath,
        inputs: &[f32],
        outputs: &mut [f32],
    ) -> Result<(), Error> {
        let rows = inputs.len().div_ceil(self.inputs());
        check_len("inputs", rows * self.inputs(), inputs.len())?;
        check_len("outputs", rows.saturating_mul(self.outputs()), outputs.len())?;
        let rows = BLOCK.min(rows);
        let mut activations = match self.evaluated.take() {
            Some(activations) if activations.most_rows() >= rows => activations,
            _ => {
                self.check_memory(rows)?;
                self.activations(rows)
            }
        };
        dispatch(path, Evaluate { network: self, activations: &mut activations, inputs, outputs });
        self.evaluated = Some(activations);
        Ok(())
    }
}

struct Evaluate<'a> {
    network: &'a mut Mlp,
    activations: &'a mut Activations,
    inputs: &'a [f32],
    outputs: &'a mut [f32],
}

impl Work for Evaluate<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let Self { network, activations, inputs, outputs } = self;
        let (input_len, output_len) = (network.inputs(), network.outputs());
        let blocks = inputs.chunks(BLOCK * input_len).zip(outputs.chunks_mut(BLOCK * output_len));
        for (inputs, outputs) in blocks {
            activations.set_rows(inputs.len() / input_len);
            network.forward(Processor::one_thread(simd), inputs, activations);
            let (rows, width) = (activations.rows(), activations.width());
            let across = &activations.output()[..output_len * width];
            transpose(simd, (across, rows, width), outputs, output_len);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Activation, AdamOptions, DenseDqn, DqnUpdate};

    /// A network of these sizes with numbers that need no generator.
    fn network(sizes: &[usize], activation: Activation) -> Mlp {
        let mut network = Mlp::zeroed(sizes, activation).unwrap();
        for (place, value) in network.parameters_mut().iter_mut().enumerate() {
            *value = (place as f32 * 0.37).sin();
        }
        network
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_row_has_the_bytes_that_an_agent_computes_on_every_path_whatever_lies_beside_it(
            sizes in prop::collection::vec(1..40_usize, 3..5),
            rows in prop::collection::vec(0..150_usize, 1..4),
            tanh in any::<bool>(),
        ) {
            let activation = if tanh { Activation::Tanh } else { Activation::Relu };
            let network = network(&sizes, activation);
            let mut agent =
                DenseDqn::from_networks(network.clone(), network.clone(), 1, 0.9, AdamOptions::default()).unwrap();
            for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
                // One network for all numbers of rows: what the calls before left behind must not show.
                let mut network = network.clone();
                for &rows in &rows {
                    let inputs: Vec<f32> =
                        (0..rows * network.inputs()).map(|place| (place as f32 * 0.73).cos()).collect();
                    let mut outputs = vec![f32::NAN; rows * network.outputs()];
                    network.evaluate_on(path, &inputs, &mut outputs).unwrap();
                    let found = outputs.chunks(network.outputs());
                    for (input, found) in inputs.chunks(network.inputs()).zip(found) {
                        prop_assert_eq!(bits(found), bits(agent.q_values(input).unwrap()), "{}", path);
                    }
                }
            }
        }
    }

    #[test]
    fn parameters_that_were_changed_count_at_once() {
        let mut network = network(&[2, 5, 1], Activation::Relu);
        let mut output = [f32::NAN];
        network.evaluate(&[1.0, 2.0], &mut output).unwrap();
        network.parameters_mut().fill(0.0);
        network.evaluate(&[1.0, 2.0], &mut output).unwrap();
        assert_eq!(output, [0.0]);
    }

    #[test]
    fn values_that_are_no_whole_rows_are_an_error() {
        let mut network = network(&[4, 5, 2], Activation::Relu);
        let mut evaluate = |inputs: usize, outputs: usize| {
            network.evaluate(&vec![0.0; inputs], &mut vec![0.0; outputs]).map_err(|error| error.to_string())
        };
        assert_eq!(evaluate(7, 4).unwrap_err(), "inputs has 7 values and must have 8");
        assert_eq!(evaluate(8, 3).unwrap_err(), "outputs has 3 values and must have 4");
        assert_eq!(evaluate(0, 2).unwrap_err(), "outputs has 2 values and must have 0");
        assert_eq!(evaluate(0, 0), Ok(()));
    }
}
