"""The machine that measures: what it is (for the manifest) and what about it spoils a measurement (for its owner).

1. ``facts``    everything the manifest of a run says of the host
2. ``devices``  block devices and the file system of a path
3. ``checks``   what `iojoule host` shows: found, judged, with advice. Nothing here changes anything.
4. ``kernel``   how the kernel's small text files are read; a reader takes the root, so a test hands it a folder
"""
