import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../../files/error-code.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Host } from '../host/host.js'

export interface JunitSuite {
  readonly name: string
  readonly file?: string
  readonly duration_ms: number
  readonly cases: readonly JunitCase[]
}

interface JunitCase {
  readonly name: string
  readonly line?: number
  /** `error`: the case could not be tested. */
  readonly status: 'passed' | 'failed' | 'skipped' | 'error'
  readonly duration_ms: number
  /** Failed assertions of a case, the first as its message; empty if the case passed. */
  readonly problems: readonly string[]
  readonly reason?: string | null
}

/** Writes a JUnit report if a file is named. Without suites, this checks before a run that the file is writable. */
export async function writeJunit(
  { cwd }: Pick<Host, 'cwd'>,
  path: string | undefined,
  suites: readonly JunitSuite[],
): Promise<Failure | undefined> {
  if (path === undefined) return undefined
  try {
    await writeFile(resolve(cwd, path), junitOf(suites))
    return undefined
  } catch (error) {
    return fail('FILE_UNWRITABLE', `${path} cannot be written (${codeOf(error)}).`, 'Check its folder and permissions.')
  }
}

export function junitOf(suites: readonly JunitSuite[]): string {
  const ms = suites.reduce((sum, it) => sum + it.duration_ms, 0)
  const counts = countsOf(
    suites.flatMap((it) => it.cases),
    ms,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="voucherctl"${counts}>\n${suites.map(suiteOf).join('')}</testsuites>\n`
}

function suiteOf(suite: JunitSuite): string {
  const { name, file, cases, duration_ms } = suite
  const lines = cases.map((it) => caseOf(it, suite)).join('')
  return `  <testsuite name="${escape(name)}"${attribute('file', file)}${countsOf(cases, duration_ms)}>\n${lines}  </testsuite>\n`
}

function countsOf(cases: readonly JunitCase[], ms: number): string {
  const count = (status: JunitCase['status']) => cases.filter((it) => it.status === status).length
  return ` tests="${cases.length}" failures="${count('failed')}" errors="${count('error')}" skipped="${count('skipped')}" time="${seconds(ms)}"`
}

function caseOf(
  { name, line, status, duration_ms, problems, reason }: JunitCase,
  { file, name: suite }: JunitSuite,
): string {
  const place = `${attribute('file', file)}${attribute('line', line)}`
  const start = `    <testcase name="${escape(name)}" classname="${escape(suite)}"${place} time="${seconds(duration_ms)}"`
  if (status === 'passed') return `${start}/>\n`
  if (status === 'skipped') return `${start}><skipped${attribute('message', reason ?? undefined)}/></testcase>\n`
  if (status === 'error') return `${start}><error${attribute('message', reason ?? undefined)}/></testcase>\n`
  const [first = ''] = problems
  const lines = file === undefined ? problems : [`${file}:${line}`, ...problems]
  return `${start}><failure message="${escape(first)}">${escape(lines.join('\n'))}</failure></testcase>\n`
}

const attribute = (name: string, value: string | number | undefined) =>
  value === undefined ? '' : ` ${name}="${escape(String(value))}"`

const seconds = (ms: number) => (ms / 1000).toFixed(3)

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
}

/** Escapes text for XML. XML 1.0 has no form for most control characters, so they are replaced. */
function escape(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"\n]/g, (it) => entities[it] as string)
}
