"""Agents that swap tokens on Uniswap V2."""
