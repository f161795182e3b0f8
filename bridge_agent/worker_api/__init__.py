"""What other machines call to take part in the Bridge's work: one service, and a thin wire over it for each
of two projects' workers. The service owns every rule of claims; a wire owns its own forms alone.
"""
