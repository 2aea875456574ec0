import { expect, onTestFinished, test } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { leaksIn } from '../../support/canary.js'
import { wireSession } from '../../support/secure/wire.js'
import { liveServer } from '../../support/server/server.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

test('log has no token, code, key, salt or ciphertext of any call', { tags: 'stored-secrets/1' }, async () => {
  const live = await liveServer()
  onTestFinished(() => live.close())
  const own = await newTenant(live)
  const bot = await own.linkedBot()
  await bot.call(contract.webhook.info, {})
  const voucher = await own.issue()
  await own.redeem(voucher)
  await own.runtime(contract.vouchers.redeem, { credential: codeOf(voucher, 'qr_token') })
  await live.send({ method: 'GET', path: `/api/v1/${own.token}?code=${codeOf(voucher).value}` })

  const texts: string[] = []
  const send: typeof live.send = async (request) => {
    const response = await live.send(request)
    texts.push(response.text)
    return response
  }
  const session = await wireSession(send, { now: () => live.server.clock.now().getTime() })
  const sent = session.seal({ method: 'GET', path: contract.templates.list.path })
  const altered = sent.body.replace(/.{6}"\}$/, 'AAAAAA"}')
  for (const body of [sent.body, sent.body, altered]) await send({ ...sent, body })
  const [, opened = '', dispatched = ''] = texts
  const secrets = {
    ...{ token: own.token, 'bot token': bot.token, jwt: own.jwt, 'operator key': live.operatorKey },
    ...{ code: codeOf(voucher).value, 'QR token': codeOf(voucher, 'qr_token').value },
    'session key': Buffer.from(session.keyC2s).toString('hex'),
    salt: JSON.parse(opened).salt,
    'ciphertext of a request': JSON.parse(sent.body).ciphertext.slice(0, -6),
    'ciphertext of a response': JSON.parse(dispatched).ciphertext,
  }
  expect(live.logs.filter((line) => line.includes('secure.dispatch'))).not.toEqual([])
  expect(leaksIn(live.logs.join(''), secrets)).toEqual([])
})
