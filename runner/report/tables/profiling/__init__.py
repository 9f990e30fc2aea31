"""The profiling report: where the time of trainings goes, from the records of instrumented runs."""
