"""The trainer: accepts run configs, keeps one learner process per run alive, shows what it does.

Promises: a run that was accepted is on disk before the answer is sent; never two learners of one
run; a learner that dies is started again from its last commit; a run that cannot go on says why.
"""
