#!/usr/bin/python3
"""Opens a popflow file in xarray and prints what is in it and how its loss fell."""

import sys

import xarray


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: show.py FILE")
    with xarray.open_dataset(sys.argv[1]) as data:
        print(data)
        if "loss" in data:
            loss = data["loss"].isel(time=slice(None, None, max(1, data.sizes["time"] // 5)))
            print("\nloss along the way:")
            print(loss.to_pandas().to_string())


if __name__ == "__main__":
    main()
