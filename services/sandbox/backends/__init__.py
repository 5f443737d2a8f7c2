"""Ways to isolate a program, behind one interface.

base.py       the interface              probe.py     self-tests that try to escape
namespace.py  bubblewrap (default)       seccomp.py   its system call filter
rlimits.py    limits only, no isolation
process.py    one run, watched from outside: pipes, time, memory
inside.py     pid 1 of a run: writes the files, sets limits, starts the program, reaps the rest
pipes.py      a child process and its pipes
monitor.py    what a tree of processes uses   cgroup.py   limits of a tree, where allowed
verdict.py    from what was seen to a status
"""
