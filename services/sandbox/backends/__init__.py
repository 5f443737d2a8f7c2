"""Ways to isolate a program, behind one interface (`base.Backend`).

base.py        the interface            probe.py     self-tests that must fail to escape
process.py     one run, watched from outside (pipes, time, memory, verdict)
inside.py      pid 1 of a run: writes the files, sets limits, starts the program, reaps the rest
monitor.py     what a process tree uses cgroup.py    kernel limits for a tree, where allowed
namespace.py   bubblewrap (default)     seccomp.py   its system call filter
rlimits.py     limits only, no isolation
"""
