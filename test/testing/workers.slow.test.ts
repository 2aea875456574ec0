import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('start-in-worker.cjs', import.meta.url))

test('8 workers, threads and processes, start servers concurrently on separate ports', async () => {
  const threads = Array.from({ length: 4 }, () => new Worker(program))
  const processes = Array.from({ length: 4 }, () => fork(program, { execArgv: [] }))
  const workers = [...threads, ...processes]
  const reports = await Promise.all(workers.map(async (it) => (await once(it, 'message'))[0]))
  expect(reports.flatMap((it) => it.failures)).toEqual([])
  const urls = reports.flatMap((it) => it.urls as string[])
  expect(new Set(urls).size).toBe(8 * 3)
  // A worker ends only if its servers leave nothing behind that keeps it alive.
  const ended = workers.map(async (it) => (await once(it, 'exit'))[0])
  for (const it of threads) it.postMessage('close')
  for (const it of processes) it.send('close')
  expect(await Promise.all(ended)).toEqual(workers.map(() => 0))
})
