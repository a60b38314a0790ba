package password

// Spare reports whether the machine has processor time that nobody wants: what
// gives way (GiveWay) has only that, and would not end where there is none. It
// finds out by having a hash made, in a process like that of [Hasher.Apart].
func Spare() bool {
	path, err := programPath()
	if err != nil {
		return false
	}
	a := newApart(patience, path, WorkerCommand, "--"+WorkerIdle)
	_, made := a.runTask(task{Password: "nobody's"})
	if a.last != nil {
		a.last.stopWorker() // and not waited for: it may not get the time to end
	}
	return made
}
