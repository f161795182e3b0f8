"""What the Bridge runs: its rows, lanes and handlers, the claim loop, and the reports that go back."""
