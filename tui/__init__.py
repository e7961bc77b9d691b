"""The screens: pictures of snapshots, keys, and nothing else."""
