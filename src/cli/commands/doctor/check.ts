import { codeOf } from '../../../files/error-code.js'

/** Result of one check of `doctor`. */
export interface Check {
  readonly name: string
  /** `skip`: the check does not apply, or an earlier failure prevents it. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly message: string
  /** How to fix the problem; null if the check passed. */
  readonly fix: string | null
}

export const ok = (name: string, message: string): Check => ({ name, status: 'ok', message, fix: null })
export const skip = (name: string, message: string, fix: string | null = null): Check => ({
  name,
  status: 'skip',
  message,
  fix,
})
export const warn = (name: string, message: string, fix: string): Check => ({ name, status: 'warn', message, fix })
export const bad = (name: string, message: string, fix: string): Check => ({ name, status: 'fail', message, fix })

export type NamedCheck = readonly [name: string, look: () => Promise<Check> | Check]

/** Runs a check with a time limit; a timeout or error becomes a failed check, so that the others are shown. */
export async function bounded([name, look]: NamedCheck, timeoutMs: number, onBug = (_: unknown) => {}): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Check>((resolve) => {
    const message = `No result within ${timeoutMs / 1000} s.`
    const fix = 'Run it again; if it stays so, look at disk and network.'
    timer = setTimeout(() => resolve(bad(name, message, fix)), timeoutMs)
  })
  try {
    return await Promise.race([look(), late])
  } catch (error) {
    if (error instanceof Error && 'syscall' in error)
      return bad(name, `The system refused to show it (${codeOf(error)}).`, 'Check the owner and mode of the folder.')
    onBug(error)
    return bad(name, 'This check failed unexpectedly.', 'Run `voucherctl doctor --debug` to see where, and report it.')
  } finally {
    clearTimeout(timer)
  }
}
