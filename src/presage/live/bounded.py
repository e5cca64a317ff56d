"""The replay of a bounded query by the name that checks against peers import."""

from presage.live.replay import Replay as replay_of  # noqa: N813

__all__ = ["replay_of"]
