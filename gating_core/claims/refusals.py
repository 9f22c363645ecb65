"""Why can a study not go on? The two reasons that its owner can do something about."""


class Refused(ValueError):
    """A store that cannot be used; the message says why, and what can be done."""


class Unreachable(ConnectionError):
    """No scheduler answers at an address, or no workers start on this machine."""
