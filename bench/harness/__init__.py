"""What bench/race, bench/kernels and bench/limits share: the environment, the networks, the driver, the tables."""
