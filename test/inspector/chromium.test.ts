import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDir } from '../support/cli/cli.js'
import { findChromium } from '../support/page/chromium.js'

function program(path: string, mode = 0o700): string {
  writeFileSync(path, '', { mode })
  return path
}

it('findChromium takes the first program in PATH, and no folder or file without permission', () => {
  const folders = [temporaryDir(), temporaryDir(), temporaryDir()] as const
  mkdirSync(join(folders[0], 'chromium'))
  program(join(folders[1], 'chromium'), 0o600)
  const path = program(join(folders[2], 'google-chrome'))
  expect(findChromium({ PATH: folders.join(delimiter) })).toBe(path)
})

it('findChromium prefers the Chromium without a user interface', () => {
  const folder = temporaryDir()
  program(join(folder, 'chromium'))
  const path = program(join(folder, 'chromium-headless-shell'))
  expect(findChromium({ PATH: folder })).toBe(path)
})

it('findChromium looks only for the program that VOUCHERCTL_CHROMIUM names, if it is set', () => {
  const folder = temporaryDir()
  program(join(folder, 'chromium'))
  const named = program(join(folder, 'my-chrome'))
  expect(findChromium({ PATH: folder, VOUCHERCTL_CHROMIUM: named })).toBe(named)
  expect(findChromium({ PATH: folder, VOUCHERCTL_CHROMIUM: join(folder, 'missing') })).toBeUndefined()
})
