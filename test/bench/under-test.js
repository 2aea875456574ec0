import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import process from 'node:process'

/**
 * Tells the parent that the server accepts connections, then responds to its messages: `cpu` returns the CPU time used
 * so far, `profile` starts a profile and `{ profileTo }` writes it. Exits with the parent.
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
