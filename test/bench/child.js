import { fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'

/** Environment of measured processes, without NODE_EXTRA_CA_CERTS: Node 20 would read that file at each start. */
export const environment = { ...process.env, NODE_ENV: 'production' }
delete environment.NODE_EXTRA_CA_CERTS
delete environment.NODE_OPTIONS

/** Starts a Node process that responds to each IPC message with one IPC message. */
export function startChild(file, args = [], { stderr = 'inherit', execPath = process.execPath } = {}) {
  const child = fork(file, args, { execPath, env: environment, stdio: ['ignore', 'inherit', stderr, 'ipc'] })
  // Listen from the start: a child may end before anyone waits for its message.
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} ended with ${code}`)
  })
  gone.catch(() => {})
  const nextMessage = async () => {
    const ended = new AbortController()
    try {
      const [message] = await Promise.race([once(child, 'message', { signal: ended.signal }), gone])
      return message
    } finally {
      ended.abort()
    }
  }
  return {
    nextMessage,
    ask: (message) => {
      const response = nextMessage()
      child.send(message)
      return response
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
