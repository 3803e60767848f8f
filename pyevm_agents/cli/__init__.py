"""The command line: the only package that prints, exits, and reads argv or the environment.

* app: the click group with the table of commands
* interrupt, errors: how a command ends on Ctrl-C or an error
* one module for each command, or for a few of a kind
"""
