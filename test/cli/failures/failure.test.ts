import { describe, expect, test } from 'vitest'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { inherits, suggested, suggestionsOf } from '../../../src/cli/failures/failure.js'
import { entries } from '../../../src/cli/program.js'

const given = (flags: Readonly<Record<string, string>>) =>
  new Map(Object.entries(flags).map(([name, text]) => [name, [text]]))

describe('suggestionsOf', () => {
  test('a suggested command inherits the profile and the base URL of the command line', () => {
    const suggest = suggestionsOf({}, given({ profile: 'shop', 'base-url': 'http://127.0.0.1:1' }))
    expect(suggest('Next: `voucherctl apps create --name "My shop"`')).toBe(
      'Next: `voucherctl apps create --name "My shop" --profile shop --base-url http://127.0.0.1:1`',
    )
    expect(suggest('Run `voucherctl apps list -p other`.')).toBe(
      'Run `voucherctl apps list -p other --base-url http://127.0.0.1:1`.',
    )
  })

  test('a suggested command inherits --data and --inbox only if it accepts them', () => {
    const suggest = suggestionsOf({}, given({ data: "it's here", inbox: '-i' }))
    expect(suggest('`voucherctl server stop` or `voucherctl server list`')).toBe(
      "`voucherctl server stop --data 'it'\\''s here'` or `voucherctl server list`",
    )
    expect(suggest('`voucherctl webhook inbox list`, `voucherctl webhook listen`')).toBe(
      '`voucherctl webhook inbox list --inbox=-i`, `voucherctl webhook listen --inbox=-i`',
    )
  })

  test('a suggested command inherits no flag that it names itself, with a space or with =', () => {
    const suggest = suggestionsOf({}, given({ inbox: '-i', profile: '-p' }))
    for (const flags of ['--inbox=-i --profile=-p', '--inbox box -p till'])
      expect(suggest(`\`voucherctl webhook listen ${flags}\``)).toBe(`\`voucherctl webhook listen ${flags}\``)
    expect(suggest('`voucherctl webhook listen --inbox-of x`')).toBe(
      '`voucherctl webhook listen --inbox-of x --profile=-p --inbox=-i`',
    )
  })

  test('a suggested command begins with npx if npm started the program', () => {
    expect(suggestionsOf({ npm_command: 'exec' }, given({}))('`voucherctl login`')).toBe('`npx voucherctl login`')
  })

  test('suggested `help` commands carry no global flags', () => {
    const suggest = suggestionsOf({}, given({ profile: 'shop' }))
    expect(suggest('See `voucherctl vouchers --help`.')).toBe('See `voucherctl vouchers --help`.')
  })

  test('a value in a suggested command is quoted, because a server may send any text as an id', () => {
    expect(`Next: ${suggested`bots get ${'bot_1; rm -r .'} --save`}`).toBe(
      "Next: `voucherctl bots get 'bot_1; rm -r .' --save`",
    )
  })

  test.each(['data', 'inbox', 'bot'])(
    'the suggested commands that inherit --%s are exactly the commands that accept this flag',
    async (flag) => {
      for (const [names, leaf] of await leavesOfEntries(entries)) {
        const name = names.join(' ')
        // Other commands with --bot act on another bot than the template's.
        if (flag === 'bot' && names[0] !== 'templates') continue
        expect([name, inherits(flag, name)]).toEqual([name, Object.hasOwn(leaf.flags ?? {}, flag)])
      }
    },
  )
})
