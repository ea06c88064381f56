"""The run's report: what was run and what came of it, for the browser and the terminal."""
