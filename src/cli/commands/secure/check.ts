import { leaf } from '../../command/leaf.js'
import { choice } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { plain } from '../../output/plain.js'
import { wrap } from '../../output/wrap.js'
import type { Step, Walked } from './walk.js'

const LABEL_WIDTH = 26
const INDENT = ' '.repeat(4)

export const check = leaf({
  name: 'check',
  summary: 'Walk through the protocol of a server, step by step',
  notes: [
    'Bootstrap, key, clock, session, key derivation, a dispatch, then what a server must refuse (a replay, a changed tag, another origin), and the decryption of the answer: each with its time, its bytes, and what was verified. Keys, salt and credentials are left out.',
    'The call inside reads one item with the credential that is there (application token, account JWT, bot token; --as names one). Without one it is sent all the same, and its refusal is what comes back encrypted.',
    'Exit 10 when a step fails, 9 when no answer came or the server is in trouble (5xx), 7 when it is asked too often. Three of the requests are refused on purpose.',
  ],
  flags: { as: choice(['token', 'jwt', 'bot'], 'Credential of the call inside') },
  examples: [
    { command: 'voucherctl secure check' },
    { command: 'voucherctl secure check --base-url https://vouchers.example --json' },
  ],
  run: async (context, { flags }): Promise<Outcome<never>> => {
    const { reach } = await import('./server.js')
    const reached = await reach(context)
    if (!reached.ok) return reached
    if (context.dryRun) return context.plan(`walk through the encrypted transport of ${reached.server.baseUrl}`)
    const { walk } = await import('./walk.js')
    const walked = await walk(context, reached.server, flags.as)
    if (!walked.ok) return walked
    const { data, exit } = walked
    const { width } = context.output
    await context.output.print(data, { headline, body: ({ steps }) => steps.map((it) => lineOf(it, width)).join('\n') })
    return { ok: true, printed: true, ...(exit === undefined ? {} : { exit }) }
  },
})

const headline = ({ ok, base_url, steps }: Walked) =>
  ok
    ? `${base_url}: all ${steps.length} steps passed.`
    : `${base_url}: ${steps.filter((it) => !it.ok).length} of ${steps.length} steps failed.`

/** On one line, or on a terminal below the name of the step. */
function lineOf({ step, ok, ms, request_bytes, answer_bytes, result }: Step, width: number | undefined): string {
  const bytes = answer_bytes === null ? '' : `${request_bytes ?? 0} bytes out, ${answer_bytes} back: `
  const head = `${ok ? '✓' : '✗'} ${step.padEnd(LABEL_WIDTH)} ${ms.toFixed(1).padStart(7)} ms`
  const text = plain(`${bytes}${result}`)
  if (width === undefined) return `${head}  ${text}`
  return [head, ...wrap(text, width - INDENT.length).map((it) => INDENT + it)].join('\n')
}
