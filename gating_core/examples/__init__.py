"""Scripts to read and run: each measures something with the core, cell by cell."""
