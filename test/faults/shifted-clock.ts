import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const READ_MS_MAX = 10_000

/** Script loaded before the server: shifts the wall clock by the number in a file, read again at each SIGUSR2. */
const PRELOAD = `
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
const path = process.env.SHIFT_FILE
const TrueDate = Date
let shift = 0
const read = () => { shift = Number(readFileSync(path, 'utf8')) }
globalThis.Date = class Date extends TrueDate {
  constructor(...args) { args.length === 0 ? super(TrueDate.now() + shift) : super(...args) }
  static now() { return TrueDate.now() + shift }
}
read()
process.on('SIGUSR2', () => {
  read()
  writeFileSync(path + '.read', String(shift))
})
`

/** Shifts the wall clock of one running server; its monotonic clock and timers are unaffected. */
export class ShiftedClock {
  readonly env: Readonly<Record<string, string>>
  readonly #path: string

  constructor(folder: string) {
    const preload = join(folder, 'shift.mjs')
    this.#path = join(folder, 'shift')
    writeFileSync(preload, PRELOAD)
    writeFileSync(this.#path, '0')
    this.env = { NODE_OPTIONS: `--import ${pathToFileURL(preload)}`, SHIFT_FILE: this.#path }
  }

  /** Sets the clock shift for a server that starts later. */
  preset(ms: number): void {
    writeFileSync(this.#path, String(ms))
  }

  /** Changes the clock shift of a running server; resolves when the server has read it. */
  async set(pid: number, ms: number): Promise<void> {
    const seen = `${this.#path}.read`
    rmSync(seen, { force: true })
    this.preset(ms)
    process.kill(pid, 'SIGUSR2')
    const late = performance.now() + READ_MS_MAX
    while (!existsSync(seen) || readFileSync(seen, 'utf8') !== String(ms)) {
      if (performance.now() > late) throw new Error('the server did not read its clock')
      await wait(5)
    }
  }
}
