"""All text of tools becomes typed readings here, one file per tool; no regular expression stands anywhere else."""
