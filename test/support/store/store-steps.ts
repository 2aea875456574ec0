import { all, type Op, type Statement, type Step } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'

/** Runs a write operation on a store and returns the steps that it yielded: SQLite itself ignores locks. */
export async function stepsOf(store: Store, op: () => Op<unknown>): Promise<readonly Step[]> {
  return store.write(function* () {
    const steps: Step[] = []
    const running = op()
    let step = running.next()
    while (!step.done) {
      steps.push(step.value)
      step = running.next(yield step.value)
    }
    return steps
  })
}

/** The statements of a step: one, or a batch. */
export const statementsOf = (step: Step): readonly Statement[] =>
  step.kind === 'several' ? step.statements : 'sql' in step ? [step] : []

/** How SQLite runs each statement of an operation: the lines of `explain query plan`. */
export async function planOf(store: Store, op: () => Op<unknown>): Promise<readonly string[]> {
  const plans: string[] = []
  for (const { sql, params } of (await stepsOf(store, op)).flatMap(statementsOf)) {
    const plan = await store.read(() => all<{ detail: string }>(`explain query plan ${sql}`, params))
    plans.push(...plan.map((it) => it.detail))
  }
  return plans
}

/** Parameters that a statement of the steps does not use: PostgreSQL refuses them. */
export const unusedParameters = (steps: readonly Step[]): readonly string[] =>
  steps
    .flatMap(statementsOf)
    .flatMap(({ sql, params }) => params.map((_, index) => `$${index + 1}`).filter((it) => !isIn(it, sql)))

const isIn = (place: string, sql: string) => new RegExp(`\\${place}(?!\\d)`).test(sql)

/** The locks of an operation in order, such as `row applications` or `subject seed`. */
export async function locksOf(store: Store, op: () => Op<unknown>): Promise<readonly string[]> {
  return (await stepsOf(store, op)).flatMap((step) => {
    if (step.kind === 'lock') return [`subject ${step.subject}`]
    return statementsOf(step).flatMap(({ lock, sql }) =>
      lock === undefined ? [] : [`${typeof lock === 'string' ? lock : 'skip'} ${/\bfrom (\w+)/.exec(sql)?.[1]}`],
    )
  })
}

/** The subjects that an operation notifies. */
export async function noticesOf(store: Store, op: () => Op<unknown>): Promise<readonly string[]> {
  return (await stepsOf(store, op)).flatMap((step) => (step.kind === 'notify' ? [step.subject] : []))
}
