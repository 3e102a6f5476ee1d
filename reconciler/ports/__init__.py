"""The protocols of the world: what the product needs of a cloud, an engine and a store. No implementation."""
