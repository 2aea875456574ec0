import { appendFileSync, lstatSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Leftover, ProbeResult } from '../../conform/result.js'
import { readText } from '../../files/read-file.js'
import { asMembers, type Members, parseJson } from '../../values/json.js'
import { type Failure, fail } from '../failures/failure.js'
import { checkWritable, tryToWrite, unreadable } from '../host/files.js'
import type { Host } from '../host/host.js'

/** Results of earlier runs in a file, and where the results of this run are appended. */
export interface ResultsFile {
  readonly ok: true
  readonly results: readonly ProbeResult[]
  readonly left: readonly Leftover[]
  append(record: ProbeResult | { readonly left: readonly Leftover[] }): void
}

/** Version of the file format: results of version 2 have no kind. */
const VERSION = 3

interface Header {
  readonly version: typeof VERSION
  readonly base_url: string
}

/** Opens a results file (NDJSON, one line per probe): a new file, or one that `resume` continues. */
export async function openResults(
  host: Host,
  path: string,
  baseUrl: string,
  resume: boolean,
): Promise<ResultsFile | Failure> {
  const file = resolve(host.cwd, path)
  if (resume) return readResults(file, path, baseUrl, (record) => appendFileSync(file, `${JSON.stringify(record)}\n`))
  const header: Header = { version: VERSION, base_url: baseUrl }
  // A symbolic link counts as a file, even if its target is missing.
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) {
    return fail('FILE_UNWRITABLE', `${path} exists.`, 'Continue its run with --resume, or name another file.')
  }
  const unwritable = await checkWritable(host, path)
  if (unwritable !== undefined) return unwritable
  let isNew = true
  return {
    ok: true,
    results: [],
    left: [],
    append(record) {
      const text = `${JSON.stringify(record)}\n`
      if (isNew) writeFileSync(file, `${JSON.stringify(header)}\n${text}`, { flag: 'wx', mode: 0o600 })
      else appendFileSync(file, text)
      isNew = false
    },
  }
}

function readResults(
  file: string,
  path: string,
  baseUrl: string,
  append: ResultsFile['append'],
): ResultsFile | Failure {
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    return unreadable(path, error)
  }
  const [first, ...records] = text.split('\n').map((line) => asMembers(parseJson(line)))
  if (first?.version !== VERSION || first.base_url !== baseUrl) {
    return fail('FILE_UNREADABLE', `${path} does not hold results for ${baseUrl}.`, 'Name the file of that run.')
  }
  // A killed run may have left part of a line. This fails before the first call if the file cannot be written.
  const unwritable = tryToWrite(path, 'Correct its permissions.', () =>
    appendFileSync(file, text.endsWith('\n') ? '' : '\n'),
  )
  if (unwritable !== undefined) return unwritable
  const known = records.filter((it) => it !== undefined)
  const results = known.filter((it): it is Members & ProbeResult => typeof it.probe === 'string')
  const left = known.flatMap((it) => (Array.isArray(it.left) ? (it.left as Leftover[]) : []))
  return { ok: true, results: results.filter(isFinal), left, append }
}

/** True for a result that a resumed run need not repeat. Missing resources and timeouts are tried again. */
const isFinal = ({ result }: ProbeResult) => result === 'holds' || result === 'differs'
