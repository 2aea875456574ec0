import { describe, expect, it } from 'vitest'
import { isForeign } from '../../../src/cli/host/permissions.js'

describe.skipIf(process.platform === 'win32')('isForeign()', () => {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0]

  it('isForeign() is false for a file of the current user that only the user can write', () => {
    expect(isForeign({ uid, gid, mode: 0o100_644 })).toBe(false)
  })

  it('isForeign() is true for a file of another user, even for root', () => {
    expect(isForeign({ uid: uid === 0 ? 12_345 : 0, gid, mode: 0o100_600 })).toBe(true)
  })

  it('isForeign() is true for a file that everybody can write', () => {
    expect(isForeign({ uid, gid, mode: 0o100_602 })).toBe(true)
  })

  it.runIf(uid === 0).each([
    [12_345, 12_345, 12_345, 0o775, false],
    [12_345, 12_345, 12_345, 0o777, true],
    [12_345, 12_345, 100, 0o775, true],
    [12_345, 100, 12_345, 0o775, true],
    [12_345, 100, 100, 0o775, true],
    [0, 0, 0, 0o775, true],
  ])(
    'isForeign() of a process of user %i and group %i for a file of group %i and mode %i is %s',
    (user, group, owningGroup, mode, expected) => {
      process.setegid?.(group)
      process.seteuid?.(user)
      try {
        expect(isForeign({ uid: user, gid: owningGroup, mode })).toBe(expected)
      } finally {
        process.seteuid?.(0)
        process.setegid?.(0)
      }
    },
  )
})
