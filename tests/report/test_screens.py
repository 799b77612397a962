"""Last screens and what differs between two of them."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from pyrite.errors import InputError
from pyrite.report.screens import data_uri, difference, last_screen


def image_of(uri: str) -> Image.Image:
    prefix, _, data = uri.partition(",")
    assert prefix == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def test_the_pixels_that_differ_are_counted_and_cut_out(lab: Any) -> None:
    found = difference(lab.screen(), lab.screen((100, 100)))
    assert found is not None
    assert (found.pixels, found.total, found.more_regions) == (100, 320 * 240, 0)
    (region,) = found.regions
    left, top, right, bottom = region.box
    assert left <= 100 - 8
    assert right >= 110 + 8
    assert top <= 100 - 7
    assert bottom >= 110 + 7
    after = np.asarray(image_of(region.after))
    assert after.shape == (bottom - top, right - left, 3)
    assert (after == np.asarray(lab.screen((100, 100)).crop(region.box))).all()
    assert (np.asarray(image_of(region.before)) == np.asarray(lab.screen().crop(region.box))).all()


def test_the_largest_places_are_shown_and_the_rest_counted(lab: Any) -> None:
    after = lab.screen()
    for i, corner in enumerate([(20, 40), (120, 100), (280, 200)]):
        after.paste((0, 0, 0), (*corner, corner[0] + 4 + i, corner[1] + 4 + i))
    found = difference(lab.screen(), after)
    assert found is not None
    assert [region.pixels for region in found.regions] == [25, 36]
    assert found.more_regions == 1


def test_equal_screens_do_not_differ_and_other_sizes_cannot_be_compared(lab: Any) -> None:
    found = difference(lab.screen(), lab.screen())
    assert found is not None
    assert (found.pixels, found.regions) == (0, ())
    assert difference(lab.screen(), lab.screen(size=(10, 10))) is None


@settings(deadline=None)
@given(
    arrays.arrays(
        np.uint8, st.tuples(st.integers(1, 70), st.integers(1, 70)), elements=st.sampled_from([0, 0, 0, 9])
    )
)
def test_every_pixel_is_in_one_region(values: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    after = Image.fromarray(np.repeat(values[:, :, None], 3, axis=2))
    found = difference(Image.new("RGB", after.size), after)
    assert found is not None
    assert found.pixels == int((values > 0).sum())
    shown = sum(region.pixels for region in found.regions)
    assert shown == found.pixels if not found.more_regions else shown < found.pixels
    for region in found.regions:
        left, top, right, bottom = region.box
        assert 0 <= left < right <= after.width
        assert 0 <= top < bottom <= after.height


def test_a_wide_screen_is_scaled_and_a_noisy_one_stays_small() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (900, 2048, 3), dtype=np.uint8)
    uri = data_uri(Image.fromarray(noise))
    assert image_of(uri).size == (1024, 450)
    assert len(uri) < 900_000


def test_the_last_screen_is_the_last_that_an_action_names(lab: Any) -> None:
    bench = lab.bench([lab.made("e1", screen=lab.screen((5, 50)))])
    assert (np.asarray(last_screen(bench, "e1")) == np.asarray(lab.screen((5, 50)))).all()


def test_no_screen_a_broken_one_and_one_outside_are_input_errors(lab: Any) -> None:
    bench = lab.bench(
        [lab.made("e1"), lab.made("e2", screen=lab.screen()), lab.made("e3", screen=lab.screen())]
    )
    with pytest.raises(InputError, match="no screen"):
        last_screen(bench, "e1")
    (bench.paths.episode("e2").screens / "001.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(InputError, match="not an image"):
        last_screen(bench, "e2")
    inside = bench.paths.episode("e3").screens / "001.png"
    outside = bench.root / "secret.png"
    inside.rename(outside)
    inside.symlink_to(outside)
    with pytest.raises(InputError, match="leaves the episode"):
        last_screen(bench, "e3")
