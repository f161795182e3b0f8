"""Tests of the home server's parts, without HTTP."""
