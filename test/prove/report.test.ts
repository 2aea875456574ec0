import { expect, test } from 'vitest'
import { reportOf } from '../../src/prove/report.js'
import { delivered, facts, outcome } from '../support/prove/outcomes.js'

test.each([
  ['a stale copy', 'stale', 1],
  ['the copy after a restart, which is as right as the delivery', 'kill', 0],
])('the number of remarks on a 2xx to %s', (_about, kind, count) => {
  const undisturbed = outcome('undisturbed')
  const copied = outcome(`deliveries#1/${kind}`, { deliveries: [delivered(), delivered({ isCopy: true })] })
  const { remarks } = reportOf({
    trials: [undisturbed, undisturbed],
    outcomes: [copied],
    facts: facts(undisturbed),
    failed: [],
    notRun: [],
    lacks: [],
  })
  expect(remarks).toHaveLength(count)
})
