import { EventEmitter } from 'node:events'
import type { ClientBase } from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { PrimaryGuard } from '../../../src/store/postgres/primary.js'

/** A connection to a server on a timeline; null for a standby. */
function connectionTo(timeline: number | null) {
  const destroy = vi.fn()
  const client = Object.assign(new EventEmitter(), { connection: { stream: { destroy } } })
  const ask = async (sql: string) => ({
    rows: [sql.includes('recover') ? { recovers: +(timeline === null) } : { timeline }],
  })
  return { client: client as unknown as ClientBase, ask, destroy, end: () => client.emit('end') }
}

const admit = (guard: PrimaryGuard, { client, ask }: ReturnType<typeof connectionTo>) => guard.admit(client, ask)

describe('PrimaryGuard', () => {
  it('guard refuses a standby as an outage', async () => {
    const refusal = admit(new PrimaryGuard(), connectionTo(null))
    await expect(refusal).rejects.toMatchObject({ problem: 'unavailable', isOutage: true })
  })

  it('guard refuses a former primary after it has admitted a newer one', async () => {
    const guard = new PrimaryGuard()
    await admit(guard, connectionTo(2))
    await expect(admit(guard, connectionTo(1))).rejects.toMatchObject({ problem: 'unavailable' })
    await expect(admit(guard, connectionTo(2))).resolves.toBeUndefined()
  })

  it('guard closes connections to a former primary when it admits a newer one', async () => {
    const guard = new PrimaryGuard()
    const [former, ended, newer] = [connectionTo(1), connectionTo(1), connectionTo(2)]
    for (const it of [former, ended]) await admit(guard, it)
    ended.end()
    await admit(guard, newer)
    expect([former.destroy, ended.destroy, newer.destroy].map((it) => it.mock.calls.length)).toEqual([1, 0, 0])
  })

  it('guard admits a server that has no function for its timeline', async () => {
    const ask = async (sql: string) => {
      if (sql.includes('timeline'))
        throw Object.assign(new Error('no such function'), { code: '42883', severity: 'ERROR' })
      return { rows: [{ recovers: 0 }] }
    }
    const { client } = connectionTo(1)
    await expect(new PrimaryGuard().admit(client, ask)).resolves.toBeUndefined()
  })
})
