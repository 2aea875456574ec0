import { choice } from '../flags.js'
import type { Outcome } from '../leaf.js'
import { leaf } from '../leaf.js'
import type { Step, Walked } from './secure-walk.js'

const LABEL_WIDTH = 26

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
  view: {
    headline: ({ ok, base_url, steps }: Walked) =>
      ok
        ? `${base_url}: all ${steps.length} steps passed.`
        : `${base_url}: ${steps.filter((it) => !it.ok).length} of ${steps.length} steps failed.`,
    body: ({ steps }) => steps.map(lineOf).join('\n'),
  },
  run: async (context, { flags }): Promise<Outcome<Walked>> => {
    const { reach } = await import('./secure-server.js')
    const reached = await reach(context)
    if (!reached.ok) return reached
    if (context.dryRun) return context.plan(`walk through the encrypted transport of ${reached.server.baseUrl}`)
    const { walk } = await import('./secure-walk.js')
    return walk(context, reached.server, flags.as)
  },
})

function lineOf({ step, ok, ms, request_bytes, answer_bytes, result }: Step): string {
  const bytes = answer_bytes === null ? '' : `${request_bytes ?? 0} bytes out, ${answer_bytes} back: `
  return `${ok ? '✓' : '✗'} ${step.padEnd(LABEL_WIDTH)} ${ms.toFixed(1).padStart(7)} ms  ${bytes}${result}`
}
