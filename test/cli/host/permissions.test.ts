import { describe, expect, it } from 'vitest'
import { foreignness } from '../../../src/cli/host/permissions.js'

describe.skipIf(process.platform === 'win32')('foreignness', () => {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0]

  it('foreignness accepts a file of the current user that only the user can write', () => {
    expect(foreignness('/p', { uid, gid, mode: 0o100_644 })).toBeUndefined()
  })

  it('foreignness() names the owner of a file that belongs to another user, even to root', () => {
    const other = uid === 0 ? 12_345 : 0
    expect(foreignness('/p', { uid: other, gid, mode: 0o100_600 })).toBe(`/p belongs to another user (uid ${other}).`)
  })

  it('foreignness() names the command that removes write permission for everybody', () => {
    expect(foreignness('/my p', { uid, gid, mode: 0o100_602 })).toMatch(/can write to .* chmod go-w '\/my p'$/)
  })
})
