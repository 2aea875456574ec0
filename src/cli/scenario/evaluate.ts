import { type JqThread, jqNotStarted, reasonIn } from '../output/jq.js'
import type { Jq } from './assertion.js'
import type { Scenario } from './document.js'
import { filledWith } from './variables.js'

/** Creates the function that evaluates jq expressions in a thread. */
export function evaluator(thread: JqThread, signal: AbortSignal): Jq {
  return async (expression, data) => {
    const ran = await thread.run(expression, JSON.stringify(data) ?? 'null', signal)
    if (typeof ran === 'string') return { ok: false, message: ran === 'not started' ? jqNotStarted().message : ran }
    if (ran.exitCode !== 0) return { ok: false, message: reasonIn(ran.stderr) }
    const lines = ran.stdout.split('\n').filter((it) => it !== '')
    return { ok: true, values: lines.map((it) => JSON.parse(it) as unknown) }
  }
}

interface BrokenExpression {
  readonly line: number
  readonly message: string
}

/** Finds expressions with syntax errors, before any variable has a value. */
export async function brokenExpressions(
  { steps, teardown }: Scenario,
  thread: JqThread,
  signal: AbortSignal,
): Promise<BrokenExpression[]> {
  const broken: BrokenExpression[] = []
  for (const { line, expect, capture } of [...steps, ...teardown]) {
    const expressions = [
      ...expect.that.map((it) => ['that', it] as const),
      ...Object.entries(capture).map(([name, it]) => [`capture ${name}`, it] as const),
    ]
    for (const [name, expression] of expressions) {
      const ran = await thread.run(filledWith(expression, 'null'), '', signal)
      if (typeof ran === 'string' || ran.exitCode === 0) continue
      broken.push({ line, message: `${name} ${expression}: ${reasonIn(ran.stderr)}` })
    }
  }
  return broken
}
