import { Type } from '../../contract/schema.js'
import { closest } from '../../values/closest.js'
import { fail } from '../failures/failure.js'
import { readAgentFile, withoutQuotes } from './agent-access.js'
import { open, optional } from './fields.js'
import { succeed, tool } from './tool.js'

const BUDGET_S = 30
const BUDGET_S_MAX = 1_500
const MS_MAX = 1_800_000

export const proveProgram = tool({
  name: 'prove',
  title: 'Try a program against lost responses',
  description:
    'Use it after a change of a program that redeems or issues vouchers. Runs a command that the user permitted, on a temporary server, once for each disturbance of each call. Returns where it redeems twice, loses a voucher or gives goods away, with the variant for `only`.',
  effect: 'either',
  msMax: MS_MAX,
  input: {
    command: optional('command line, as the user permitted it; may be left out if there is one'),
    seed: optional('path of a seed below the working folder: .yaml, .yml or .json'),
    only: optional('a variant, such as vouchers.redeem#1/drop_response'),
    budget_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: BUDGET_S_MAX, description: `default ${BUDGET_S}` }),
    ),
  },
  output: Type.Object({ findings: Type.Array(open), not_proved: Type.Array(Type.String()), runs: open }),
  async run({ context: { host }, programs }, { command, seed, only, budget_seconds: seconds = BUDGET_S }) {
    const line = command ?? (programs.length === 1 ? programs[0] : undefined)
    if (line === undefined || !programs.includes(line)) {
      const near = line && closest(line, programs)
      const hint = 'The user permits a command with `voucherctl mcp serve --prove COMMAND`.'
      return fail('WRITE_NOT_ALLOWED', 'This command is not permitted.', near ? `${hint} Did you mean ${near}?` : hint)
    }
    const { runProve } = await import('../prove/run.js')
    const { wordsOf } = await import('../../prove/words.js')
    const limits = { budgetMs: seconds * 1000, only, signal: host.signal }
    const proved = await runProve(host, wordsOf(line) ?? [line], { seed }, limits, readAgentFile)
    if (!proved.ok) return seed === undefined ? proved : withoutQuotes(proved)
    const { findings, not_proved, runs } = proved.report
    const text = findings.length === 0 ? 'Nothing was found.' : `Findings: ${findings.length}.`
    return succeed(text, {
      findings: findings.map((it) => ({ ...it })),
      not_proved: [...not_proved],
      runs: { ...runs },
    })
  },
})
