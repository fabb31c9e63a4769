"""The C++ source and the description of a plug-in."""
