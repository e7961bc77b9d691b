"""Decision procedures as data. The room stands empty until its engine is written."""
