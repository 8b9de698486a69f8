"""The warnings and errors that are the package's own."""


class PrivacyLeakWarning(UserWarning):
    """Something that depends on the records is treated as if it were public; the message names what."""


class DomainError(ValueError):
    """Records, labels or a file do not fit the public domain, or the domain itself makes no sense."""


class DataError(RuntimeError):
    """A data set's file is missing, damaged, or not the one that is expected."""
