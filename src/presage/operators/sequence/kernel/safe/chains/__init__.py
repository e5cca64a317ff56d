"""First goals of a safe plan that read a single chain each: tables by chain and step, without joint values."""
