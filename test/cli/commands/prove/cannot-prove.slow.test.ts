import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { closedPort } from '../../../support/closed-port.js'
import { expectRefusal, listTemplates, proveScript, redeemVoucher } from '../../../support/prove/scripts.js'

const receiver = fileURLToPath(new URL('../../../support/prove/receiver.js', import.meta.url))

const actions: readonly (readonly [about: string, script: string, flags: string, sentence: RegExp, cure: RegExp])[] = [
  ['fails without output', 'exit 1', '', /fails undisturbed: exit code 1\. It printed nothing\./, /exit code 0/],
  ['ends by a signal', 'kill -9 $$', '', /fails undisturbed: a signal\./, /exit code 0/],
  [
    'calls another server',
    'curl -s --max-time 1 http://127.0.0.1:9/ || true',
    '',
    /Nothing to disturb/,
    /VOUCHERCTL_BASE_URL|--env/,
  ],
  [
    'leaves a process that ignores hangups',
    `${listTemplates}; nohup sleep 1000 > /dev/null 2>&1 & exit 0`,
    '',
    /ended and left running: .*\(process \d+\)/,
    /start it with --app/,
  ],
  ['needs input', 'read answer', '', /fails undisturbed: exit code 1/, /It has no terminal and no input\./],
  [
    'has a reset that does not exist',
    listTemplates,
    '--reset no-such-reset',
    /--reset ended with the error ENOENT/,
    /Check the command of --reset/,
  ],
]

test.each(actions)('prove refuses a program that %s', async (_about, script, flags, sentence, cure) => {
  const given = flags === '' ? [] : flags.split(' ')
  await expectRefusal(await proveScript(script, given), sentence, cure)
})

const withReceiver = async (app: (port: number) => string) => {
  const url = `http://127.0.0.1:${await closedPort()}/`
  const flags = ['--app', app(Number(new URL(url).port)), '--ready', url, '--webhook', `coffee_bot=${url}`]
  return proveScript(redeemVoucher, flags)
}

test('prove refuses a receiver that refuses a genuine delivery', async () => {
  const ran = await withReceiver(
    (port) => `env VOUCHERCTL_WEBHOOK_SECRET=${'0'.repeat(32)} node ${receiver} ${port} raw`,
  )
  await expectRefusal(
    ran,
    /The receiver responded 401 to a genuine delivery/,
    /Its secret must be VOUCHERCTL_WEBHOOK_SECRET/,
  )
})

test('prove refuses a receiver that verifies JSON that it has written anew', async () => {
  const ran = await withReceiver((port) => `node ${receiver} ${port} parsed`)
  await expectRefusal(ran, /signature over a body that it has written anew/, /over the raw bytes/)
})

test('prove with a reset that fails in each variant proves nothing, and says why', async () => {
  const reset = `sh -c 'echo >> resets; test $(wc -l < resets) -lt 3'`
  const ran = await proveScript(redeemVoucher, ['--reset', reset, '--only', 'vouchers.redeem#1/error'])
  await expectRefusal(ran, /Not judged: vouchers\.redeem#1\/error\. --reset ended with exit code 1\./, /--list/)
})
