"""What both halves' web servers share: errors, bodies, security, listening, events, rendering."""
