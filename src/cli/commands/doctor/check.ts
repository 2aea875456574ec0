import { codeOf } from '../../../files/error-code.js'

/** What was looked at, and what to do about it. */
export interface Check {
  readonly name: string
  /** `skip`: it could not be looked at, or there is nothing to look at. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly message: string
  /** What makes it right; null where nothing is wrong. */
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

/** A check that has not ended in time has failed, and one that the system keeps from looking. */
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
    // What the system answered; anything else is a bug.
    if (!(error instanceof Error && 'syscall' in error)) throw error
    return bad(name, `It could not be looked at (${codeOf(error)}).`, 'Check who owns the folder, and its permissions.')
  } finally {
    clearTimeout(timer)
  }
}
