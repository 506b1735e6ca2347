"""Other people's test suites, run against our stores; see the session `peers` of the noxfile."""
