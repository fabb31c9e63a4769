"""The version, which is the program's."""

__version__ = "0.1.0"
