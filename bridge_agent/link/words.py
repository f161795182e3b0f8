"""The sentences in which the link says how it is."""

UNPAIRED = "Not paired with a server yet; make a code in the server’s console and pair with it here."
UNPAIRED_HERE = (
    "This Bridge was unpaired here; the server still lists it until it is unpaired in its console too."
)
CONNECTING = "Waiting for the first heartbeat to go through; no job runs before that."
LOST = (
    "The token of this Bridge can’t be opened any more on this machine; make a new code in the server’s "
    "console and pair again."
)
COPIED = (
    "This data folder is a copy of another Bridge’s, so nothing runs here; pair this one itself, with a new "
    "code from the server’s console."
)
COPIED_SAYS_SERVER = (
    "The server says that this data folder is a copy of another Bridge’s, so nothing runs here; unpair, then "
    "pair this one itself with a new code."
)
REFUSED = (
    "The server refuses this Bridge: it was unpaired in the console, another Bridge was paired, or the admin "
    "who paired it is no longer an enabled admin. It asks again by itself; if none of these will change, "
    "unpair here and pair again with a new code."
)
ALREADY_PAIRED = "This Bridge is paired already; unpair it first, then pair it anew."
NO_CODE = "Type the code that the server’s console shows; it looks like ABCD-1234."
SPENT = (
    "The code in BRIDGE_PAIR_CODE was used or refused before; make a new one in the server’s console, and "
    "set it there or pair here."
)
NO_ADDRESS = "BRIDGE_PAIR_CODE is set, but BRIDGE_SERVER_URL is not; set both, or pair here."
