# SPDX-License-Identifier: Apache-2.0
"""Several checks in one test: all of them run, and a failure names each that failed."""


def check_all(checks, *subject):
    """Call every check with the subject; raise one AssertionError that names what failed.

    checks: functions that raise an AssertionError, and whose names say what they check.
    """
    failures = {}
    for check in checks:
        try:
            check(*subject)
        except Exception as failure:
            name = check.__name__.replace('_', ' ')
            failures[name] = f'{type(failure).__name__}: {failure}'
    if failures:
        reasons = (f'{name}\n  {reason}' for name, reason in failures.items())
        raise AssertionError(f'{len(failures)} of {len(checks)} failed:\n' + '\n'.join(reasons))
