# SPDX-License-Identifier: Apache-2.0
"""One file for each way to call a peer; run inside the peer's own environment by `worker.py`.

Nothing of ik_core is imported here but in `ours.py`: a peer's environment has numpy and the peer.
"""
