import process from 'node:process'

/**
 * Tells the parent process that the server accepts connections, then responds to each IPC message with the CPU time
 * used so far, in us. Exits with the parent.
 */
export function underTest(ready, close) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send(user + system)
  })
  process.on('disconnect', async () => {
    await close()
    process.exit()
  })
  process.send(ready)
}
