import { createRequire } from 'node:module'
import { expect, test, vi } from 'vitest'
import type { StartServer } from '../../src/testing/types.js'

// In a file of its own: fakes would stop a server of src/ that runs beside it.
test('fake timers of Vitest stop neither hold_ms nor a release', { tags: 'servers-inside-a-test/2' }, async () => {
  // The bundle, because only there the server has the timers of Node.
  const bundle: { startServer: StartServer } = createRequire(import.meta.url)('../../dist/testing/index.cjs')
  const faked = await bundle.startServer()
  try {
    for (const at of ['received', 'before', 'committed', 'answered'] as const) {
      vi.useFakeTimers()
      const held = await faked.hold('templates.list', { at, hold_ms: 5 })
      expect(await faked.client.templates.list()).toMatchObject({ ok: true })
      expect(await held.call).toMatchObject({ at })
      const released = await faked.hold('templates.list', { at })
      const listed = faked.client.templates.list()
      await released.call
      vi.useRealTimers()
      released.release()
      expect(await listed).toMatchObject({ ok: true })
    }
  } finally {
    vi.useRealTimers()
    await faked.close()
  }
})
