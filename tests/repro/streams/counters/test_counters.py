"""Progressions meet where enumeration says; every run's verdict; the shared counters shown in real numbers."""

from __future__ import annotations

import numpy as np
import pytest

from deepinfer.rng import words_many
from repro.cli import main
from repro.streams import jax_keys, stream
from repro.streams.counters import RUNS, Progression, Run, Use, reuses
from repro.streams.curand_host import CurandHost
from repro.streams.other_philox import TorchStateless
from repro.streams.samplers.flashinfer import noise_of_row
from repro.streams.token_noise import VllmV2PhiloxNoise
from repro.streams.triton import Triton


def test_progressions_meet_where_enumeration_says(generator: np.random.Generator) -> None:
    met = 0
    for _ in range(3000):
        one, other = (
            Progression(int(generator.integers(-30, 30)), int(generator.integers(0, 12)), int(generator.integers(1, 9)))
            for _ in range(2)
        )
        terms = [{p.start + i * p.step for i in range(p.count)} for p in (one, other)]
        common = min(terms[0] & terms[1], default=None)
        assert one.meets(other) == common
        assert other.meets(one) == common
        met += common is not None
    assert 500 < met < 2500


def test_long_progressions_need_no_enumeration() -> None:
    assert Progression(0, 2**62, 3).meets(Progression(1, 2**62, 3)) is None
    assert Progression(0, 2**62, 3).meets(Progression(1, 2**62, 2)) == 3
    assert Progression(0, 2**62, 10000019).meets(Progression(7, 2**62, 1000003)) is not None


def test_a_planted_reuse_is_found_and_another_key_is_none() -> None:
    one = Use("a", "draft", 5, Progression(0, 8), Progression(0, 100))
    other = Use("a", "accept", 5, Progression(7, 1), Progression(99, 1))
    (found,) = reuses([one, other])
    assert (found.word, found.subsequence) == (7, 99)
    assert reuses([one, Use("a", "accept", 6, other.words, other.subsequences)]) == []
    assert reuses([one, Use("a", "accept", 5, Progression(8), other.subsequences)]) == []


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.engine}: {run.scenario}")
def test_every_run_shares_what_it_says_and_nothing_else(run: Run) -> None:
    assert bool(reuses(run.uses())) == bool(run.reuse)


def test_ours_is_proven_for_every_position() -> None:
    uses = list(RUNS[0].uses())
    assert sum(use.subsequences.count for use in uses) == 12 * 2**62
    assert reuses(uses) == []
    shifted = Use("request 0", "a fourth purpose", 5, Progression(0, 2), Progression(3, 1))
    assert len(reuses([*uses, shifted])) == 1


def test_vllms_accept_test_reads_the_word_that_keys_the_noise() -> None:
    position, seed = 12345, 77
    word = Triton(seed, position, 64).words(1)[0]
    noise = VllmV2PhiloxNoise(seed, position).words(4)
    assert np.array_equal(noise, words_many([int(word)], [0], [0], 16)[0][::4])


def test_doubles_of_curands_host_api_repeat_as_later_words() -> None:
    doubles = CurandHost("philox4x32", 5, 0).uniform_doubles(4)
    later = CurandHost("philox4x32", 5, 262144).words(4).astype(np.uint64)
    wide = later[0] ^ (later[1] << np.uint64(21))
    assert wide * 2.0**-53 + 2.0**-54 == doubles[2]


def test_a_subkey_of_jax_shows_in_the_words_of_its_key() -> None:
    key = (0, 5)
    (first, second), *_ = jax_keys.split("threefry2x32", key, 4, True)
    assert jax_keys.bits("threefry2x32", key, 16, 32, True)[0] == first ^ second


def test_torchs_stateless_split_shows_in_its_uniforms() -> None:
    made = TorchStateless(5, 0)
    subkey = made.words(2)
    assert made.uniforms(1)[0] == np.float32((int(subkey[0]) & 0xFFFFFF) * 2.0**-24)


def test_flashinfers_late_rows_repeat_the_first_ones_noise() -> None:
    columns = 151936
    row = -(-(2**32) // columns)
    shift = row * columns % 2**32
    assert shift % 4 == 0
    first, late = noise_of_row("0.7.4", 5, 0, 0, columns), noise_of_row("0.7.4", 5, 0, row, columns)
    assert np.array_equal(first[shift:], late[: columns - shift])


def test_a_window_of_one_word_is_read_twice() -> None:
    step = [stream("curand_device", "10.4.5", generator="philox4x32", seed=5, subsequence=0, offset=o) for o in (0, 1)]
    assert step[0].words(3)[1] == step[1].words(1)[0]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["streams", "--counters", "vllm_v2"]) == 0
    assert "3 uses, 0 shared" in capsys.readouterr().out
    assert main(["streams", "--counters"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 2 * len(RUNS)
    assert main(["streams", "--counters", "sampler"]) == 2
    assert "unknown engine of a counter audit" in capsys.readouterr().err
