"""A drift reconciler for Scaleway worker fleets declared as Pulumi stacks."""

__version__ = "0.1.0"
