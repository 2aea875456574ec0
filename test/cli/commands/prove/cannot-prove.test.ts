import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { closedPort } from '../../../support/closed-port.js'
import { listen } from '../../../support/listen.js'
import { processesWith, until } from '../../../support/prove/processes.js'
import { expectRefusal, listTemplates, proveScript, redeemVoucher } from '../../../support/prove/scripts.js'

const actions: readonly (readonly [about: string, script: string, flags: string, sentence: RegExp, cure: RegExp])[] = [
  [
    'fails undisturbed',
    'echo "no till"; echo "no drawer" >&2; exit 3',
    '',
    /^error: The program fails undisturbed: exit code 3\. It printed: \(NOTHING_PROVED\)\n {2}no till\n {2}no drawer\n/,
    /It must end with exit code 0/,
  ],
  [
    'prints a secret when it fails',
    'echo "$VOUCHERCTL_TOKEN $VOUCHERCTL_CODE"; exit 1',
    '',
    /\n {2}\[the application token\] \[the code of the voucher\]\n/,
    /exit code 0/,
  ],
  ['makes no call', 'echo paid', '', /Nothing to disturb: it did not call the server/, /--env SHOP_URL='\{base_url\}'/],
  [
    'never ends',
    `${listTemplates}; exec sleep 1000`,
    '--patience 1s',
    /It ran longer than 1 s, without waiting for a call\./,
    /--patience/,
  ],
  [
    'leaves a process',
    `${listTemplates}; sleep 1000 & exit 0`,
    '',
    /ended and left running: sleep \(process \d+\)\./,
    /start it with --app/,
  ],
  [
    'needs a terminal',
    'read answer < /dev/tty',
    '',
    /fails undisturbed: exit code \d+/,
    /It has no terminal and no input\./,
  ],
  [
    'prints 1 GB',
    `${listTemplates}; yes | head -c 1000000000`,
    '',
    /printed more than 16 MiB, and was ended/,
    /into a file/,
  ],
  [
    'changes its behaviour',
    `if [ -e done ]; then ${listTemplates}; else touch done; ${redeemVoucher}; fi`,
    '',
    /Two undisturbed runs ended differently: the vouchers have other states/,
    /--reset puts/,
  ],
  [
    'has a state that cannot be read',
    listTemplates,
    '--state false',
    /--state ended with exit code 1\. It printed nothing\./,
    /Check the command of --state/,
  ],
  [
    'is disturbed by an unknown variant',
    redeemVoucher,
    '--only vouchers.redeem#1/drop_respnse',
    /--only names no variant: vouchers\.redeem#1\/drop_respnse/,
    /Did you mean vouchers\.redeem#1\/drop_response\? List them with --list\./,
  ],
  [
    'has a webhook of an unknown bot',
    redeemVoucher,
    '--webhook tea_bot=http://127.0.0.1:1/',
    /--webhook names no bot of the seed: tea_bot\./,
    /Its bots: coffee_bot\./,
  ],
]

test.each(actions)('prove refuses what %s', { tags: 'prove/1' }, async (_about, script, flags, sentence, cure) => {
  const given = flags === '' ? [] : flags.split(' ')
  await expectRefusal(await proveScript(script, given), sentence, cure)
})

test('prove refuses a command that does not exist', async () => {
  const ran = await cli('prove -- no-such-program order-1', { env: { PATH: process.env.PATH ?? '' } })
  expect(ran).toMatchObject({ exit: 2, stdout: '' })
  expect(ran.stderr).toMatch(/no-such-program could not be started \(ENOENT\)\..*\nhint: Check its name and path/)
})

test('prove without a command asks for one', async () => {
  expect(await cli('prove', {})).toMatchObject({ exit: 3, stdout: '' })
})

const usages: readonly (readonly [about: string, flags: readonly string[], sentence: RegExp])[] = [
  [
    'an open quote in --app',
    ['--app', 'node "shop.js', '--ready', 'http://127.0.0.1:1/'],
    /--app holds no command, or a quote in it is open/,
  ],
  ['an open quote in --state', ['--state', "cat 'a"], /--state holds no command, or a quote/],
  ['an empty --reset', ['--reset', ' '], /--reset holds no command/],
  ['--app without --ready', ['--app', 'node shop.js'], /--app needs --ready URL/],
  ['--ready without --app', ['--ready', 'http://127.0.0.1:1/'], /--app/],
  ['--ready without a URL', ['--app', 'node', '--ready', 'health'], /must be a URL/],
  [
    'a webhook on another machine',
    ['--webhook', 'coffee_bot=https://shop.example/hook'],
    /BOT=http:\/\/127\.0\.0\.1:PORT\/PATH/,
  ],
  ['a variable without a name', ['--env', '1=x'], /must be NAME=TEXT/],
  ['no jobs', ['--jobs', '0'], /--jobs/],
  ['a budget without unit', ['--budget', 'soon'], /--budget/],
]

test.each(usages)('prove refuses %s before it starts anything', async (_about, flags, sentence) => {
  const { exit, stdout, stderr, home } = await proveScript('touch started', flags)
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(sentence)
  expect(existsSync(join(home, 'started'))).toBe(false)
})

test.each([
  ['does not parse', 'bots: [', /seed\.yaml/],
  ['has an unknown member', 'shops: []', /shops/],
])('prove refuses a seed that %s', async (_about, seed, sentence) => {
  const home = temporaryDir()
  writeFileSync(join(home, 'seed.yaml'), seed)
  const { exit, stdout, stderr } = await proveScript(listTemplates, ['--seed', 'seed.yaml'], { home })
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(sentence)
})

test('prove refuses an app that ends before it is ready, with what it printed', async () => {
  const ready = `http://127.0.0.1:${await closedPort()}/`
  const app = `sh -c 'echo "port in use" >&2; exit 4'`
  const ran = await proveScript(listTemplates, ['--app', app, '--ready', ready])
  await expectRefusal(
    ran,
    /The app ended with exit code 4 \(http:.*It printed: \(NOTHING_PROVED\)\n {2}port in use\n/,
    /Check --app, its port/,
  )
})

test('prove refuses an app whose address something else has', async () => {
  const port = await listen(createServer((_request, response) => response.end()))
  const ready = `http://127.0.0.1:${port}/health`
  const ran = await proveScript(listTemplates, ['--app', 'touch started', '--ready', ready])
  await expectRefusal(
    ran,
    /Something else responds at http:.*health, before the app was started/,
    /another port for the app/,
  )
  expect(existsSync(join(ran.home, 'started'))).toBe(false)
})

test('prove with a disturbance that has no effect proves nothing', { tags: 'prove/1' }, async () => {
  const ran = await proveScript(redeemVoucher, ['--only', 'vouchers.redeem#1/error+vouchers.redeem#9/error'])
  await expectRefusal(ran, /Nothing was disturbed\. No variant had an effect\./, /--list/)
})

/** Interrupts a script when it has created a file. */
async function interruptAt(file: string, script: string) {
  const home = temporaryDir()
  const stop = new AbortController()
  const running = proveScript(script, [], { home, signal: stop.signal })
  await until(() => existsSync(join(home, file)))
  stop.abort()
  const ran = await running
  await until(() => processesWith(`PROVE_HOME=${home}`).length === 0)
  return ran
}

test('an interrupted prove ends its programs and exits with 130', { tags: 'prove/1' }, async () => {
  // The fifth run never ends: two undisturbed ones, and the first variant with its repeat, come before it.
  const script = `echo >> runs; [ $(wc -l < runs) -lt 5 ] || { touch fifth; exec sleep 1000; }; ${redeemVoucher}`
  const { exit, stdout } = await interruptAt('fifth', script)
  expect(exit).toBe(130)
  expect(stdout).toMatch(/^Nothing found so far: the variant held, 13 did not run\.\n/)
  expect(stdout).toMatch(/\nvouchers\.redeem#1 +held/)
})

test.each([
  ['the first run', 'touch here; exec sleep 1000'],
  [
    'the first variant',
    `echo >> runs; [ $(wc -l < runs) -lt 3 ] || { touch here; exec sleep 1000; }; ${redeemVoucher}`,
  ],
])('prove interrupted in %s ends its program and exits with 130', async (_about, script) => {
  const { exit, stdout, stderr } = await interruptAt('here', script)
  expect([exit, stdout]).toEqual([130, ''])
  expect(stderr).toMatch(/^error: Interrupted before anything was judged\. \(ABORTED\)\n/)
})
