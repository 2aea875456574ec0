// Child process of P15: measures one service of emulate, in ms. Prints the result.
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { median } from '../median.js'

const STARTS = 10
const timed = async (work) => {
  const startedAt = performance.now()
  const value = await work()
  return [performance.now() - startedAt, value]
}

const [, , script] = process.argv
const options = { service: 'github', port: 0 }
const [first, [createEmulator, emulator]] = await timed(async () => {
  const library = await import(pathToFileURL(script).href)
  return [library.createEmulator, await library.createEmulator(options)]
})
const further = []
const reset = []
for (let n = 0; n < STARTS; n++) {
  const [ms, another] = await timed(() => createEmulator(options))
  further.push(ms)
  await another.close()
}
for (let n = 0; n < STARTS; n++) {
  const response = await fetch(`${emulator.url}/user/repos`, {
    method: 'POST',
    headers: { authorization: 'Bearer test_token_admin', 'content-type': 'application/json' },
    body: JSON.stringify({ name: `repository-${n}` }),
  })
  if (response.status !== 201) throw new Error(`emulate responded with ${response.status}`)
  await response.arrayBuffer()
  reset.push((await timed(() => emulator.reset()))[0])
}
await emulator.close()
process.stdout.write(JSON.stringify({ first, further: median(further), reset: median(reset) }))
