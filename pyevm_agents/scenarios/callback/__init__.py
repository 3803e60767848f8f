"""The wallet by callback execution."""
