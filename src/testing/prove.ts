import type { Exit, Start } from '../prove/process.js'
import type { ProveReport } from '../prove/result.js'
import { readInteger, requireMembers, TestingError, wrongType } from './arguments.js'
import { readSeedOption } from './options.js'
import type { ProveOptions } from './types.js'

const BUDGET_MS_MAX = 2 ** 31 - 1

/** Runs functions of a test as `voucherctl prove` runs programs; they cannot be killed. */
export async function proveFunctions(options: ProveOptions): Promise<ProveReport> {
  requireMembers('options', options, ['action', 'state', 'reset', 'seed', 'webhook', 'again', 'budget', 'only'])
  const { action, state, reset, seed, webhook, only } = options
  if (typeof action !== 'function') throw wrongType('options.action', 'a function', action)
  const again = readInteger('options.again', options.again, 0, 100)
  const budgetMs = readInteger('options.budget', options.budget, 1, BUDGET_MS_MAX)
  const { prove } = await import('../prove/prove.js')
  const proved = await prove({
    action: startOf(action),
    isFunction: true,
    state: state && startOf(state, (value) => JSON.stringify(value) ?? ''),
    reset: reset && startOf(reset),
    seed: seed === undefined ? undefined : await readSeedOption(seed, Date.now()),
    webhook: webhook && { bot: webhook.bot, url: new URL(webhook.url) },
    variables: {},
    again,
    budgetMs,
    only,
    signal: new AbortController().signal,
  })
  if (proved.ok) return proved.report
  throw new TestingError('NOTHING_PROVED', `${proved.message} ${proved.hint}`)
}

/** A function that resolves is done; one that throws, or resolves to false, is not. */
function startOf(
  work: (env: Readonly<Record<string, string>>) => unknown,
  textOf: (value: unknown) => string = () => '',
): Start {
  const run = async (env: Readonly<Record<string, string>>): Promise<Exit> => {
    try {
      const value = await work(env)
      return { code: value === false ? 1 : 0, stdout: textOf(value), stderr: '' }
    } catch (error) {
      return { code: 1, stdout: '', stderr: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    }
  }
  return (env) => ({ ended: run(env) })
}
