"""The models run for a command: in processes of this machine or on a cluster."""
