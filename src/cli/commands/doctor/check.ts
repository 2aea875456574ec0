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

/** Runs a check with a time limit; a timeout or system error becomes a failed check. */
export async function bounded(name: string, timeoutMs: number, check: () => Promise<Check> | Check): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Check>((resolve) => {
    const message = `No result within ${timeoutMs / 1000} s.`
    const fix = 'Run it again; if it stays so, look at disk and network.'
    timer = setTimeout(() => resolve(bad(name, message, fix)), timeoutMs)
  })
  try {
    return await Promise.race([check(), late])
  } catch (error) {
    // Any other error is a bug.
    if (!(error instanceof Error && 'syscall' in error)) throw error
    return bad(name, `It could not be looked at (${codeOf(error)}).`, 'Check who owns the folder, and its permissions.')
  } finally {
    clearTimeout(timer)
  }
}
