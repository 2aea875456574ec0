import { fork } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'

/** Environment of measured processes. Node 20 reads NODE_EXTRA_CA_CERTS at each start, which distorts startup times. */
export const environment = { ...process.env, NODE_ENV: 'production' }
delete environment.NODE_EXTRA_CA_CERTS
delete environment.NODE_OPTIONS

/** A Node process that responds to each message with one message. */
export function startChild(file, args = [], { stderr = 'inherit' } = {}) {
  const child = fork(file, args, { env: environment, stdio: ['ignore', 'inherit', stderr, 'ipc'] })
  const nextMessage = async () => {
    const ended = new AbortController()
    const gone = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`${file} ended with ${code}`)
    })
    try {
      const [message] = await Promise.race([once(child, 'message', { signal: ended.signal }), gone])
      return message
    } finally {
      gone.catch(() => {})
      ended.abort()
    }
  }
  return {
    nextMessage,
    ask: (message) => {
      const answer = nextMessage()
      child.send(message)
      return answer
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
