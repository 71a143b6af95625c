"""A run in the studio: an arm's replay behind its token, and the same replay as one page that needs nothing else.

`python -i` this file, or call run.show() without options, to see it in a browser.
"""

import base64
import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

import setsu
from setsu.studio.geometry import look_of
from setsu.studio.replay_page import replay_page

arm = setsu.sample_mechanisms.planar_arm(3)
run = setsu.simulate(arm, [0.4, 0.3, 0.2], np.zeros(3), duration=0.5, step=0.01)

studio = run.show(block=False, open_browser=False)
studio.replay.go_to(0.25)
shown = studio.pose.q


def status(address: str) -> int:
    """Return the HTTP status a program without a cookie gets."""
    try:
        with urllib.request.urlopen(address) as answer:
            return answer.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


bare = studio.address.partition("?")[0]
print("without the token:", status(bare))
assert status(bare) == 403
assert status(bare + "?token=guess") == 403
studio.close()

# What the sliders show is the recorded state at that time.
assert np.array_equal(shown, run.q[25])

page = replay_page(arm, run, look_of(arm))
Path("arm.html").write_text(page, encoding="utf-8")
print(f"arm.html: {len(page) / 1e3:.0f} kB")
data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
poses = np.frombuffer(base64.b64decode(data["poses"]), dtype="<f4").reshape(len(run), 3, 3, 4)
# The page holds the very motion, in single precision, and asks nobody for anything.
assert np.allclose(poses, setsu.body_poses(arm, run.q)[:, :, :3], atol=1e-6)
assert not re.search(r'(src|href)="?https?:', page)
