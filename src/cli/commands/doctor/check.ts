import { codeOf } from '../../../files/error-code.js'

/** Result of a check. */
export interface Check {
  readonly name: string
  /** `skip`: the check was impossible or does not apply. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly message: string
  /** How to fix it; null if the check passed. */
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

/** Runs a check; it fails on a timeout or a system error. */
export async function bounded(name: string, timeoutMs: number, look: () => Promise<Check> | Check): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Check>((resolve) => {
    const message = `No result within ${timeoutMs / 1000} s.`
    const fix = 'Run it again; if it stays so, look at disk and network.'
    timer = setTimeout(() => resolve(bad(name, message, fix)), timeoutMs)
  })
  try {
    return await Promise.race([look(), late])
  } catch (error) {
    // Any error but a system error is a bug.
    if (!(error instanceof Error && 'syscall' in error)) throw error
    return bad(name, `It could not be looked at (${codeOf(error)}).`, 'Check who owns the folder, and its permissions.')
  } finally {
    clearTimeout(timer)
  }
}
