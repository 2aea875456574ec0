import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import process from 'node:process'

/**
 * Tells the parent process that the server accepts connections, then responds to IPC messages: `cpu` returns the CPU
 * time used so far, `profile` starts a CPU profile and `{ profileTo }` writes it to a file. Exits with the parent.
 */
export function underTest(ready, close) {
  const session = new Session()
  process.on('message', async (message) => {
    if (message === 'profile') {
      session.connect()
      await session.post('Profiler.enable')
      await session.post('Profiler.start')
    } else if (message.profileTo !== undefined) {
      const { profile } = await session.post('Profiler.stop')
      writeFileSync(message.profileTo, JSON.stringify(profile))
      session.disconnect()
    }
    process.send({ pid: process.pid, cpu: process.cpuUsage() })
  })
  process.on('disconnect', async () => {
    await close()
    process.exit()
  })
  process.send(ready)
}
