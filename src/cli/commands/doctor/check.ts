import { codeOf } from '../../../files/error-code.js'

export interface Finding {
  /** `skip`: the check does not apply, or an earlier failure prevents it. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip'
  readonly message: string
  /** How to fix the problem; null if the check passed. */
  readonly fix: string | null
}

export interface Check extends Finding {
  readonly name: string
}

export const ok = (message: string): Finding => ({ status: 'ok', message, fix: null })
export const skip = (message: string, fix: string | null = null): Finding => ({ status: 'skip', message, fix })
export const warn = (message: string, fix: string): Finding => ({ status: 'warn', message, fix })
export const bad = (message: string, fix: string): Finding => ({ status: 'fail', message, fix })

export type NamedCheck = readonly [name: string, look: () => Promise<Finding> | Finding]

/** Runs a check with a time limit; a timeout or error becomes a failed check, so that the others are shown. */
export async function bounded([name, look]: NamedCheck, timeoutMs: number, onBug = (_: unknown) => {}): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding>((resolve) => {
    const fix = 'Run it again; if it stays so, look at disk and network.'
    timer = setTimeout(() => resolve(bad(`No result within ${timeoutMs / 1000} s.`, fix)), timeoutMs)
  })
  const found = await Promise.race([(async () => look())(), late]).catch((error: unknown) => {
    if (error instanceof Error && 'syscall' in error)
      return bad(`The system refused to show it (${codeOf(error)}).`, 'Check the owner and mode of the folder.')
    onBug(error)
    return bad('This check failed unexpectedly.', 'Run `voucherctl doctor --debug` to see where, and report it.')
  })
  clearTimeout(timer)
  return { name, ...found }
}
