import { expect, it } from 'vitest'
import { durabilityOf } from '../../../../src/cli/commands/doctor/database.js'

const safe = {
  database: 'postgres://u@db:5432/shop',
  isStandby: false,
  fsync: 'on',
  synchronousCommit: 'on',
  standbys: 'b',
}

it('doctor accepts a database that waits for its disk and a standby', () => {
  expect(durabilityOf(safe)).toMatchObject({ status: 'ok', fix: null })
})

it.each([
  [{ fsync: 'off' }, 'fsync is off'],
  [{ synchronousCommit: 'off' }, 'synchronous_commit is off'],
  [{ synchronousCommit: 'local' }, 'no standby'],
  [{ standbys: '' }, 'no standby'],
  [{ isStandby: true }, 'is a standby'],
])('doctor warns of a database with %j', (changed, says) => {
  const { status, message, fix } = durabilityOf({ ...safe, ...changed })
  expect([status, message]).toEqual(['warn', expect.stringContaining(says)])
  expect(fix).not.toBeNull()
})
