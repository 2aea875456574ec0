import { expect, test } from 'vitest'
import { cli } from '../../../support/cli/cli.js'

test('evidence shows a rule with the commands that run its proofs', { tags: 'evidence/1' }, async () => {
  const { exit, stdout } = await cli('evidence issue/1')
  expect([exit, stdout.split('\n')[0]]).toEqual([0, 'issue/1, specified, proven'])
  expect(stdout).toMatch(/\n\n`npm test` runs:\n- probe: issue\//)
  expect(stdout).not.toContain('issue/2')
})

test('evidence shows all rules below a heading, also as JSON', { tags: 'evidence/1' }, async () => {
  const { rules, campaigns } = JSON.parse((await cli('evidence lists --json')).stdout)
  expect(rules.length).toBeGreaterThan(3)
  expect(rules.filter(({ id }: { id: string }) => !id.startsWith('lists/'))).toEqual([])
  expect(campaigns.length).toBeGreaterThan(15)
})

test('evidence without a rule prints the document of help evidence', async () => {
  const { stdout } = await cli('evidence')
  expect(stdout).toBe((await cli('help evidence')).stdout)
  expect(stdout).toMatch(/^# Evidence\n/)
})

test.each([
  ['vouchers-of-gold', 'All rules: `voucherctl help rules`.'],
  ['list', 'Did you mean lists?'],
])('evidence %s is refused', { tags: 'evidence/1' }, async (name, hint) => {
  const { exit, stderr } = await cli(`evidence ${name}`)
  expect([exit, stderr]).toEqual([2, `error: There is no rule '${name}'. (USAGE)\nhint: ${hint}\n`])
})
