"""What every room stands on, with no word of the domain: clock, tasks, threads, files, errors."""
