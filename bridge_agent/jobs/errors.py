"""What the jobs' facade answers when it can't do what a person asked."""

from bridge_agent.base.errors import BridgeError


class NoSuchJob(BridgeError):
    """This Bridge has no such job; look through the history for it."""

    code = "not_found"


class Finished(BridgeError):
    """This job has ended already, so there is nothing to stop; queue it anew on the server if you need it."""

    code = "finished"


class NotWaiting(BridgeError):
    """This job does not wait for anybody; only one that needs attention can be tried again."""

    code = "finished"
