"""What shows that the tests are worth something: branch coverage by floor, and mutation testing. Not installed."""
