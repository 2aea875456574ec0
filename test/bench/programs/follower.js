// Child process that follows the activity of a server with bodies, like an open page. A message is { url, token }, or
// null to stop. Responds once it has read the lines of the past, and to null with the number of later lines.
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'

/** The lines of the past end where none arrives for so long. */
const QUIET_MS = 200

let abort
let lines = 0
process.on('message', async (target) => {
  if (target !== null) await start(target)
  else abort.abort()
  process.send({ lines })
  lines = 0
})
process.on('disconnect', () => process.exit())

async function start({ url, token }) {
  abort = new AbortController()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal })
  read(response.body).catch((error) => {
    if (error.name !== 'AbortError') throw error
  })
  for (let before = -1; before !== lines; ) {
    before = lines
    await wait(QUIET_MS)
  }
}

/** Reads lines as a page does, which parses each. */
async function read(body) {
  let held = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const parts = (held + chunk).split('\n')
    held = parts.pop()
    for (const line of parts) JSON.parse(line)
    lines += parts.length
  }
}
