"""Migrations of home.sqlite3, the file that hands out attempts and credentials."""
