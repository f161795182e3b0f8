"""A Dask cluster that exists already, as one more executor; Dask is imported with BRIDGE_CLUSTER alone."""
