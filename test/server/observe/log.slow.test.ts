import { expect, it } from 'vitest'
import { StderrLog } from '../../../src/server/observe/log.js'
import { startServerChild } from '../../support/server/child.js'
import { RawConnection } from '../../support/server/raw.js'
import { inFolder } from '../../support/server/server.js'

const PER_WRITE = 50
/** Each request logs about 250 bytes, so this many fill the log buffer (1 MiB) and the pipe (64 KiB). */
const REQUESTS = 6_000

async function fill(port: number, count = REQUESTS): Promise<void> {
  const connection = await RawConnection.to(port)
  const requests = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(PER_WRITE)
  for (let sent = 0; sent < count; sent += PER_WRITE) {
    connection.write(requests)
    const statuses = new Set<number>()
    for (let count = 0; count < PER_WRITE; count++) statuses.add((await connection.response()).status)
    expect([...statuses]).toEqual([404])
  }
  connection.destroy()
}

it('server responds and exits while nothing reads its log', () =>
  inFolder(async (dataDir) => {
    const child = await startServerChild(dataDir, 'info', false)
    await fill(child.port)
    expect((await child.send({ method: 'GET', path: '/healthz' })).status).toBe(200)
    expect(await child.stop(120_000)).toBe(0)
  }))

it('reader that starts late gets whole log lines and the number of dropped lines', () =>
  inFolder(async (dataDir) => {
    const child = await startServerChild(dataDir, 'info', false)
    await fill(child.port)
    let text = ''
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
    })
    const ended = new Promise((resolve) => child.stderr.once('end', resolve))
    while (!text.includes('dropped')) await new Promise((resolve) => child.stderr.once('data', resolve))
    expect(await child.stop(120_000)).toBe(0)
    await ended
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; dropped?: number })
    const requests = lines.filter(({ msg }) => msg === 'request').length
    const dropped = lines.reduce((sum, line) => sum + (line.dropped ?? 0), 0)
    expect(dropped).toBeGreaterThan(0)
    expect(requests + dropped).toBe(REQUESTS)
    expect(lines.at(-1)?.msg).toBe('stopped')
  }))

it('server responds and exits after the reader of its log has closed', () =>
  inFolder(async (dataDir) => {
    const child = await startServerChild(dataDir, 'info', false)
    child.stderr.destroy()
    // A closed pipe refuses the first line, so nothing has to fill.
    await fill(child.port, 10 * PER_WRITE)
    expect((await child.send({ method: 'GET', path: '/healthz' })).status).toBe(200)
    expect(await child.stop(120_000)).toBe(0)
  }))

it('stderr log ignores lines written after its end', async () => {
  const log = new StderrLog()
  await log.end()
  expect(() => log.write('late\n')).not.toThrow()
})
