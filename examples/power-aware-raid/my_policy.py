"""Power policies of one's own: `policy = {kind = "python", file = "my_policy.py", class = "Impatient"}`."""


class FixedThreshold:
    """What the built-in policy `fixed` does, to the byte."""

    def __init__(self, threshold_s=None):
        self.threshold_s = threshold_s

    def idle(self, drive, now_s, view):
        threshold_s = view.break_even_s if self.threshold_s is None else self.threshold_s
        return ("wake", drive, now_s + threshold_s)

    def timer(self, drive, now_s, view):
        return ("spin_down", drive)


class Together:
    """Drives of a stripe rest one by one and come back together: a file striped over all of them waits once."""

    def idle(self, drive, now_s, view):
        return ("wake", drive, now_s + view.break_even_s)

    def timer(self, drive, now_s, view):
        return ("spin_down", drive)

    def arrived(self, drive, now_s, view):
        return [("spin_up", other) for other in range(view.drives) if other != drive]
