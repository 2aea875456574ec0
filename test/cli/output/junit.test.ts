import { describe, expect, it } from 'vitest'
import { junitOf } from '../../../src/cli/output/junit.js'

const step = { name: 'a step', line: 3, status: 'passed', duration_ms: 12, problems: [] } as const

describe('JUnit reports', () => {
  it('a JUnit report has a suite per file and a case per step with its failure', () => {
    const failed = { ...step, status: 'failed', problems: ['one <&"', 'two'] } as const
    const skipped = { ...step, status: 'skipped', duration_ms: 0 } as const
    const report = {
      file: 'a.yaml',
      name: 'A',
      duration_ms: 1500,
      cases: [step, failed, skipped, step],
    }
    expect(junitOf([report])).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="voucherctl" tests="4" failures="1" errors="0" skipped="1" time="1.500">
  <testsuite name="A" file="a.yaml" tests="4" failures="1" errors="0" skipped="1" time="1.500">
    <testcase name="a step" classname="A" file="a.yaml" line="3" time="0.012"/>
    <testcase name="a step" classname="A" file="a.yaml" line="3" time="0.012"><failure message="one &lt;&amp;&quot;">a.yaml:3&#10;one &lt;&amp;&quot;&#10;two</failure></testcase>
    <testcase name="a step" classname="A" file="a.yaml" line="3" time="0.000"><skipped/></testcase>
    <testcase name="a step" classname="A" file="a.yaml" line="3" time="0.012"/>
  </testsuite>
</testsuites>
`)
  })

  it('a JUnit report has an error for a case that could not be tested', () => {
    const untested = { ...step, status: 'error', reason: 'Status 503.' } as const
    const text = junitOf([{ name: 'calls', duration_ms: 0, cases: [step, untested] }])
    expect(text).toContain('tests="2" failures="0" errors="1" skipped="0"')
    expect(text).toContain('time="0.012"><error message="Status 503."/></testcase>')
  })

  it('a JUnit report replaces characters that XML cannot represent', () => {
    const text = junitOf([{ file: 'a', name: 'x\u0000\u001b[31m\ud800\ufffey', duration_ms: 0, cases: [step] }])
    expect(text).toContain('name="x\ufffd\ufffd[31m\ufffd\ufffdy"')
  })
})
