import { codeOf } from '../../../files/error-code.js'
import type { Context } from '../../command/context.js'
import type { Failure, LocalCode } from '../../failure.js'
import { fail, isLocalCode } from '../../failure.js'

/** A line for each table that has rows. */
export function countsOf({ rows }: { readonly rows: Readonly<Record<string, number>> }): string {
  const counts = Object.entries(rows).map(([name, count]) => [name, count.toLocaleString('en-US')] as const)
  const width = Math.max(0, ...counts.map(([name]) => name.length))
  const digits = Math.max(0, ...counts.map(([, count]) => count.length))
  return counts.map(([name, count]) => `  ${name.padEnd(width)}  ${count.padStart(digits)}`).join('\n')
}

/** Shows how far the work is, on stderr. */
export async function watched<T>(
  context: Context,
  work: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const { showProgress } = await import('../vouchers/bulk/show-progress.js')
  const tally = { total: null as number | null, issued: 0, replayed: 0, skipped: 0, failed: 0 }
  const end = showProgress(context, tally, { pauseMs: 0 })
  try {
    return await work((done, total) => {
      tally.issued = done
      tally.total = total
    })
  } finally {
    end()
  }
}

/** What the server's side throws carries a code; anything else is a bug. */
export function moveFailure(error: unknown): Failure {
  const code = codeOf(error)
  if (!isLocalCode(code)) throw error
  return fail(code as LocalCode, (error as Error).message)
}
