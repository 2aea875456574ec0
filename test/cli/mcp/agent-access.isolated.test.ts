import * as original from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { Host } from '../../../src/cli/host/host.js'
import { readAgentFile } from '../../../src/cli/mcp/agent-access.js'
import { temporaryDir } from '../../support/cli/cli.js'

/** What another process does after a call of the file system. */
const interference = vi.hoisted(() => ({ after: '', act: () => {} }))

vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof import('node:fs/promises')>()
  const interfered =
    <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const result = await call(...args)
      if (interference.after === name) {
        interference.after = ''
        interference.act()
      }
      return result
    }
  return {
    ...real,
    lstat: interfered('lstat', real.lstat as (path: string) => Promise<original.Stats>),
    open: interfered('open', real.open),
    realpath: interfered('realpath', real.realpath as (path: string) => Promise<string>),
  }
})

afterEach(() => {
  interference.after = ''
})

test.each(['realpath', 'lstat', 'open'])('a file or folder replaced by a link after %s is not read', async (after) => {
  for (const replaced of ['sub/a.yaml', 'sub']) {
    const outside = temporaryDir()
    const cwd = join(outside, 'work')
    for (const folder of [outside, cwd]) {
      original.mkdirSync(join(folder, 'sub'), { recursive: true })
      original.writeFileSync(join(folder, 'sub', 'a.yaml'), folder === cwd ? 'inside' : 'secret')
    }
    interference.after = after
    interference.act = () => {
      original.renameSync(join(cwd, replaced), join(cwd, 'moved'))
      original.symlinkSync(join(outside, replaced), join(cwd, replaced))
    }
    expect(await readAgentFile({ cwd } as Host, 'sub/a.yaml')).toMatchObject({ ok: false, code: 'FILE_UNREADABLE' })
    expect(interference.after).toBe('')
  }
})

test('a file that grows beyond 1 MiB after it was opened is not read', async () => {
  const cwd = temporaryDir()
  const path = join(cwd, 'a.yaml')
  original.writeFileSync(path, 'a')
  interference.after = 'open'
  interference.act = () => original.appendFileSync(path, 'a'.repeat(1024 * 1024))
  expect(await readAgentFile({ cwd } as Host, 'a.yaml')).toMatchObject({ code: 'FILE_UNREADABLE' })
})
