"""Runs untrusted programs and says what the kernel saw: status, output, time, memory.

Promise: a program sees no network, no other program, no file of the machine beyond the system's
libraries, and no secret; its limits hold for all its processes together, and nothing of it is left
afterwards. What it is compared with never enters the sandbox. Trouble of the service is never
reported as the program's failure. How strong the isolation is, every answer says.
"""
