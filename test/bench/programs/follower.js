// Child process that follows the activity of a server with bodies, like an open page. A message is { url, token }, or
// null to stop. Responds once it has read the lines of the past, or with { lines, omitted } of the stream that was open.
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'

/** The lines of the past end where none arrives for so long. */
const QUIET_MS = 200

let open
process.on('message', async (target) => {
  const counted = open === undefined ? undefined : await stop()
  if (target !== null) await start(target)
  process.send(counted ?? {})
})
process.on('disconnect', () => process.exit())

async function start({ url, token }) {
  const abort = new AbortController()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal })
  const counted = { lines: 0, omitted: 0 }
  open = { abort, reading: read(response.body, counted) }
  for (let before = -1; before !== counted.lines; ) {
    before = counted.lines
    await wait(QUIET_MS)
  }
  counted.lines = 0
}

async function read(body, counted) {
  let held = ''
  try {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (held + chunk).split('\n')
      held = lines.pop()
      for (const line of lines) {
        const { kind, count } = JSON.parse(line)
        if (kind === 'omitted') counted.omitted += count
        else counted.lines += 1
      }
    }
  } catch (error) {
    if (error.name !== 'AbortError') throw error
  }
  return counted
}

async function stop() {
  const { abort, reading } = open
  open = undefined
  abort.abort()
  return reading
}
