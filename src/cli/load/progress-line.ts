import { numberText } from '../output/text.js'
import { operations } from './mix.js'
import type { LoadRun } from './run.js'
import type { Schedule } from './schedule.js'

type Progress = Pick<LoadRun, 'issuedAhead' | 'ahead' | 'statistics' | 'waiting'>

/** Formats the state of a run on one line. @param elapsedMs ms since the load began; undefined before */
export function progressLine(
  run: Progress,
  { durationMs }: Pick<Schedule, 'durationMs'>,
  elapsedMs: number | undefined,
): string {
  if (elapsedMs === undefined)
    return `issuing ${numberText(run.issuedAhead)} of ${numberText(run.ahead)} vouchers ahead`
  const all = operations.map((it) => run.statistics[it])
  const succeeded = all.reduce((sum, it) => sum + it.succeeded, 0)
  const failed = all.reduce((sum, it) => sum + it.failed, 0)
  const p99 = Math.max(...all.map((it) => it.percentileMs(99) ?? 0))
  return [
    `${Math.floor(elapsedMs / 1000)} of ${Math.ceil(durationMs / 1000)} s`,
    `${numberText(succeeded)} calls`,
    `${numberText(Math.round((succeeded * 1000) / elapsedMs))}/s`,
    `p99 ${p99.toFixed(1)} ms`,
    ...(failed === 0 ? [] : [`${numberText(failed)} failed`]),
    ...(run.waiting === 0 ? [] : [`${numberText(run.waiting)} waiting`]),
  ].join('  ')
}
