import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expiredHooksExampleCom, hooksExampleCom } from '../server/delivery/certificates.js'
import { built } from '../support/cli/built-cli.js'
import { secrets, success, temporaryDir } from '../support/cli/cli.js'
import { listen } from '../support/listen.js'
import { selfSigned, signedByAuthority } from '../support/secure/self-signed.js'

/** The built command, called with a real TLS server, and with NODE_EXTRA_CA_CERTS set to a certificate or not. */

const page = success({ items: [], pagination: { total: 0, limit: 20, offset: 0, hasMore: false } }).body

interface Certificate {
  readonly cert: string
  readonly key: string
}

async function callWith(certificate: Certificate, trusted?: string, words = ['templates', 'list', '--json']) {
  const home = temporaryDir()
  const file = join(home, 'server.pem')
  if (trusted !== undefined) writeFileSync(file, trusted)
  let requests = 0
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (_, response) => {
    requests += 1
    response.setHeader('content-type', 'application/json').end(JSON.stringify(page))
  })
  const port = await listen(server)
  const env = {
    VOUCHERCTL_TOKEN: secrets.VOUCHERCTL_TOKEN,
    ...(trusted !== undefined && { NODE_EXTRA_CA_CERTS: file }),
  }
  const ran = await built.run([...words, '--base-url', `https://127.0.0.1:${port}`], home, env)
  return { ...ran, requests }
}

test.each([
  ['self-signed', selfSigned, undefined, 'the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)'],
  ['unknown authority', signedByAuthority, undefined, 'the certificate has an unknown authority (UNABLE_TO_VERIFY_'],
  ['host name', hooksExampleCom, hooksExampleCom.cert, 'the certificate is for another host name (ERR_TLS_CERT_ALT'],
  ['expired', expiredHooksExampleCom, expiredHooksExampleCom.cert, 'the certificate has expired (CERT_HAS_EXPIRED)'],
])('a call to a server with an untrusted certificate names the cause: %s', async (_, certificate, trusted, cause) => {
  const { exit, stderr, requests } = await callWith(certificate, trusted)
  const { error } = JSON.parse(stderr)
  expect([exit, requests]).toEqual([9, 0])
  expect(error).toMatchObject({ code: 'CERTIFICATE_UNTRUSTED', status: null, retryable: false })
  expect(error.message).toContain(cause)
  expect(error.hint).toContain('`export NODE_EXTRA_CA_CERTS="$PWD/server.pem"`')
  expect(error.hint).toMatch(/`voucherctl doctor --base-url https:\/\/127\.0\.0\.1:\d+`/)
})

test.each([
  ['the self-signed certificate', selfSigned, selfSigned.cert],
  ['the certificate of the authority', signedByAuthority, signedByAuthority.ca],
])('a call succeeds if NODE_EXTRA_CA_CERTS names %s', async (_, certificate, trusted) => {
  const { exit, stdout, requests } = await callWith(certificate, trusted)
  expect([exit, requests, JSON.parse(stdout).items]).toEqual([0, 1, []])
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

const withAuthority = { ...signedByAuthority, cert: signedByAuthority.cert + signedByAuthority.ca }

/** Commands that doctor prints for the certificate of a server that sends an empty list of templates. */
async function cureOf({ cert, key }: Certificate, home: string) {
  const server = createServer({ cert, key }, (_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(page))
  })
  const baseUrl = `https://127.0.0.1:${await listen(server)}`
  const { exit, stdout } = await built.run(['doctor', '--json', '--base-url', baseUrl], home)
  const { fix } = JSON.parse(stdout).checks.find((it: { name: string }) => it.name === 'TLS')
  const commands = [...fix.matchAll(/`([^`]+)`/g)].map(([, command]) => command)
  return { exit, fix, commands, baseUrl }
}

test.skipIf(!hasOpenssl).each([
  ['a self-signed certificate', selfSigned],
  ['a certificate that comes with its authority', withAuthority],
])('the commands that doctor prints for %s make a call succeed', async (_, certificate) => {
  const home = temporaryDir()
  const { exit, commands, baseUrl } = await cureOf(certificate, home)
  expect([exit, commands.length]).toEqual([1, 2])
  const call = `VOUCHERCTL_TOKEN=sop_x "$0" "$1" templates list --json --base-url ${baseUrl}`
  const ran = await built.inShell([...commands, call].join('\n'), home)
  expect([ran.exit, JSON.parse(ran.stdout).items]).toEqual([0, []])
})

test('doctor says to ask for the authority of a certificate that comes without it', async () => {
  const { exit, fix, commands } = await cureOf(signedByAuthority, temporaryDir())
  expect([exit, commands]).toEqual([1, ['export NODE_EXTRA_CA_CERTS="$PWD/server.pem"']])
  expect(fix).toContain('Ask the operator for the certificate of its authority')
})

test('a change that an untrusted certificate stops gets the advice to trust, not to repeat', async () => {
  const words = ['vouchers', 'issue', '--template', 'tpl_1', '--external-id', 'order-1', '--recipient', 'user-1']
  const { stderr, requests } = await callWith(selfSigned, undefined, words)
  expect([requests, stderr]).toEqual([0, expect.stringContaining('NODE_EXTRA_CA_CERTS')])
  expect(stderr).not.toContain('may have been done')
})

test('secure check names the cause of an untrusted certificate', async () => {
  const { exit, stdout } = await callWith(selfSigned, undefined, ['secure', 'check', '--json'])
  const [step] = JSON.parse(stdout).steps
  expect([exit, step.result]).toEqual([9, expect.stringContaining('the certificate is self-signed')])
})

test('conform ends with the code of an untrusted certificate', { tags: 'credentials-over-http/1' }, async () => {
  const { exit, stderr, requests } = await callWith(selfSigned, undefined, ['conform', '--json'])
  expect([exit, requests, JSON.parse(stderr).error.code]).toEqual([9, 0, 'CERTIFICATE_UNTRUSTED'])
  expect(JSON.parse(stderr).error.hint).toMatch(/`voucherctl doctor --base-url https:/)
})
