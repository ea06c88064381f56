"""The report of a run, for the browser and the terminal."""
