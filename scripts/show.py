#!/usr/bin/python3
"""Opens a popflow file in xarray and prints its contents, its events and its observables."""

import sys

import xarray


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: show.py FILE")
    path = sys.argv[1]
    with xarray.open_dataset(path) as run:
        print(run)
        names = [name for name in ("excess_loss", "signal_V", "signal_A") if name in run]
        if names:
            some = run[names].isel(time=slice(None, None, max(1, run.sizes["time"] // 10)))
            print("\nalong the way:")
            print(some.to_dataframe().to_string())
    with xarray.open_dataset(path, group="events") as events:
        if "kind" in events:
            meanings = events.kind.attrs["flag_meanings"].split()
            print("\nevents:")
            for kind, time in zip(events.kind.values, events.time.values):
                if kind >= 0:
                    print(f"  {meanings[kind]:16} t = {time:.6g}")


if __name__ == "__main__":
    main()
