import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryDir } from './cli.js'

export const profileFile = (home: string) => join(home, '.config', 'voucherctl', 'config.json')

/** Writes a profile file as a command does. @returns the home folder */
export function homeWithConfig(content: unknown, home = temporaryDir()): string {
  mkdirSync(dirname(profileFile(home)), { recursive: true, mode: 0o700 })
  writeFileSync(profileFile(home), JSON.stringify(content), { mode: 0o600 })
  return home
}

export const homeWithProfiles = (profiles: object, home?: string) =>
  homeWithConfig({ current: 'default', profiles }, home)

export const storedProfiles = (home: string) => JSON.parse(readFileSync(profileFile(home), 'utf8')).profiles
