import type { SecureMode } from '../../secure/client/options.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import { type Failure, usage } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import {
  choice,
  duration,
  type Flags,
  type FlagTexts,
  integer,
  matching,
  ofKind,
  one,
  readFlags,
  text,
  toggle,
  withLetter,
} from './flags.js'

export const formats = ['table', 'json', 'jsonl', 'yaml', 'csv'] as const
export type Format = (typeof formats)[number]
export const knownFormat = (name: unknown): Format => formats.find((it) => it === name) ?? 'table'

/** Encryption modes from the least to the most strict. */
export const secureModes = ['off', 'auto', 'required'] as const satisfies readonly SecureMode[]

/** Flags that every command accepts. One-letter flags have the same meaning in all commands. */
export const globalFlags = {
  profile: ofKind('profiles', withLetter('p', text('NAME', 'Use this profile'))),
  'base-url': text('URL', 'Address of the server'),
  'token-file': text('PATH|-', 'Read the credential of this call from a file, or - for stdin'),
  json: toggle('Print one JSON document, the data of the response'),
  output: withLetter('o', choice(formats, 'Format of the result')),
  fields: one('A,B', 'Show only these members', (text) => {
    const fields = text.split(',').map((field) => field.trim())
    return fields.includes('')
      ? { ok: false, message: 'must be names separated by commas' }
      : { ok: true, value: fields }
  }),
  jq: text('EXPR', 'Filter the result, as jq -r does; implies --json'),
  quiet: withLetter('q', toggle('Only the result: no hints or progress, of tables only ids')),
  wide: toggle('Tables as wide as they need, with whole ids'),
  utc: toggle('Show times in UTC; default: local time with its zone'),
  debug: toggle('Show calls and retries on stderr, without secrets'),
  'dry-run': withLetter('n', toggle('Show what would be sent; send only GETs for ids')),
  yes: withLetter('y', toggle('Answer yes to every confirmation')),
  'no-input': toggle('Never ask; fail with exit code 3 instead'),
  timeout: duration('Time for a call with its retries, such as 30s', 1),
  retries: integer('N', 'Maximum retries of a transient failure', 0, 20),
  'idempotency-key': matching(
    'KEY',
    'Repeat an earlier issue, redeem or reverse with its key',
    (it) => /^[!-~]{1,255}$/.test(it),
    'must be 1 to 255 visible ASCII characters without spaces',
  ),
  secure: choice(secureModes, 'Encrypt the calls; default off'),
  origin: matching(
    'ORIGIN',
    'Origin that the encrypted sessions are bound to',
    isCanonicalOrigin,
    'must be a full origin such as https://shop.example',
  ),
  'no-color': toggle('No colour'),
  help: withLetter('h', toggle('Show help')),
  version: withLetter('v', toggle('Show the version')),
} satisfies Flags

/** Output format from the flags. `--jq` implies JSON unless another flag sets the format. */
export const formatIn = ({ json, output, jq }: Globals): Format | undefined =>
  json ? 'json' : (output ?? (jq === undefined ? undefined : 'json'))

/** True if only --jq implies JSON and a person reads stderr: errors are then texts. */
export const hasPlainErrors = (given: FlagTexts, host: Pick<Host, 'stderr' | 'env'>): boolean =>
  given.has('jq') &&
  !given.has('json') &&
  !given.has('output') &&
  !host.env.VOUCHERCTL_OUTPUT &&
  // Check last: reading the property opens the stream.
  host.stderr.isTTY === true

export type Globals = import('./flags.js').ValuesOf<typeof globalFlags>

/** Parses the global flags. An invalid value counts as absent. */
export function readGlobals(given: FlagTexts) {
  const { values, failure } = readFlags(globalFlags, given)
  const globals = values as Globals
  return { globals, failure: failure ?? contradiction(globals) }
}

function contradiction({ json, jq, output }: Globals): Failure | undefined {
  if (json && output !== undefined && output !== 'json') return usage('--json and --output name different formats.')
  if (jq === undefined || output === undefined || output.startsWith('json')) return undefined
  return usage(`--jq prints JSON and cannot be combined with --output ${output}.`)
}
