import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execaNode } from 'execa'
import { expect } from 'vitest'

const library = fileURLToPath(new URL('../../dist/testing/index.cjs', import.meta.url))

/** Starts servers, uses each a little, and prints what the process holds afterwards. */
const programOf = (starts: number) => `
  import { readdirSync } from 'node:fs'
  const { startServer } = await import(${JSON.stringify(library)})
  const use = async (n) => {
    const server = await startServer({ listen: n % 2 === 0 })
    await server.client.templates.list()
    await server.operator.addUpdate({ botId: 'bot_shop', type: 'ping' })
    if (n % 20 === 0) await server.receive('ping')
    await server.close()
  }
  const held = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    gc()
    const { heapUsed, external } = process.memoryUsage()
    const handles = process.getActiveResourcesInfo().filter((it) => it !== 'Immediate')
    const listeners = process.eventNames().map((it) => [String(it), process.listenerCount(it)])
    return { bytes: heapUsed + external, holds: { handles, listeners, files: readdirSync('/proc/self/fd').length } }
  }
  const useMany = async (starts) => {
    for (let n = 0; n < starts; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => use(n + i)))
  }
  // V8 compiles and optimises during the first few hundred starts: 2 MB.
  await useMany(${starts / 2})
  const before = await held()
  await useMany(${starts})
  const after = await held()
  process.send({ before: before.holds, after: after.holds, grownPerStart: (after.bytes - before.bytes) / ${starts} })`

/**
 * Starts and closes servers in a separate process, 10 concurrently, and expects that they leave nothing behind.
 * @param bytesMax limit of the growth of memory per start
 */
export async function expectNothingLeft(starts: number, bytesMax: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-starts-'))
  try {
    const child = execaNode({
      nodeOptions: ['--expose-gc', '--input-type=module'],
      env: { TMPDIR: folder, HOME: folder },
      ipc: true,
      input: programOf(starts),
    })('-')
    const message = child.getOneMessage() as Promise<Record<'before' | 'after' | 'grownPerStart', unknown>>
    const [{ before, after, grownPerStart }, { all, stdout, stderr }] = await Promise.all([message, child])
    expect({ stdout, stderr, all }).toEqual({ stdout: '', stderr: '', all: undefined })
    expect(after).toEqual(before)
    expect(grownPerStart).toBeLessThan(bytesMax)
    expect(readdirSync(folder)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
