// Child process that follows the activity of a server with bodies, like an open page. A message is { url, token }, or
// null to stop; the response is { lines, omitted } of the stream that was open.
import process from 'node:process'

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
  open = { abort, reading: read(response.body) }
}

async function read(body) {
  const counted = { lines: 0, omitted: 0 }
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
