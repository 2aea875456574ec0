import type { ScenarioReport, StepReport } from './run.js'

/** Builds a JUnit report with one test suite per scenario file and one test case per step. */
export function junitOf(reports: readonly ScenarioReport[]): string {
  const suites = reports.map(suiteOf).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="voucherctl"${countsOf(reports.flatMap(casesOf), total(reports))}>\n${suites}</testsuites>\n`
}

const total = (reports: readonly ScenarioReport[]) => reports.reduce((sum, it) => sum + it.duration_ms, 0)
const casesOf = ({ steps, teardown }: ScenarioReport) => [...steps, ...teardown]

function suiteOf(report: ScenarioReport): string {
  const cases = casesOf(report)
  const lines = cases.map((it) => caseOf(it, report)).join('')
  return `  <testsuite name="${escape(report.name)}" file="${escape(report.file)}"${countsOf(cases, report.duration_ms)}>\n${lines}  </testsuite>\n`
}

function countsOf(cases: readonly StepReport[], ms: number): string {
  const count = (status: StepReport['status']) => cases.filter((it) => it.status === status).length
  return ` tests="${cases.length}" failures="${count('failed')}" errors="0" skipped="${count('skipped')}" time="${seconds(ms)}"`
}

function caseOf(
  { name, line, status, duration_ms, problems }: StepReport,
  { file, name: suite }: ScenarioReport,
): string {
  const start = `    <testcase name="${escape(name)}" classname="${escape(suite)}" file="${escape(file)}" line="${line}" time="${seconds(duration_ms)}"`
  if (status === 'passed') return `${start}/>\n`
  if (status === 'skipped') return `${start}><skipped/></testcase>\n`
  const [first = ''] = problems
  return `${start}><failure message="${escape(first)}">${escape(`${file}:${line}\n${problems.join('\n')}`)}</failure></testcase>\n`
}

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
