import { describe, expect, test } from 'vitest'
import { checkSecret } from '../../../../src/inspector/page/model/signature-check.js'
import { signWebhook, webhookHeaders } from '../../../../src/webhook/signature.js'

const body = new TextEncoder().encode('{"update_id":7,"text":"Grüße"}\n')

const signedWith = (...secrets: (string | Uint8Array)[]) => ({
  prefix: '1790000000.',
  body,
  signatures: signWebhook({ rawBody: body, secrets, timestamp: 1_790_000_000, updateId: 7 })[
    webhookHeaders.signature
  ].split(','),
})

describe('checkSecret', () => {
  test('checkSecret() names the signature that the secret makes', async () => {
    const delivery = signedWith('new-secret', 'old-secret')
    expect(await checkSecret('new-secret', delivery)).toEqual({ index: 0, difference: '' })
    expect(await checkSecret('old-secret', delivery)).toEqual({ index: 1, difference: '' })
  })

  test('checkSecret() returns null for another secret, and for another case', async () => {
    const delivery = signedWith('right-secret')
    expect(await checkSecret('wrong-secret', delivery)).toBeNull()
    expect(await checkSecret('RIGHT-SECRET', delivery)).toBeNull()
  })

  test('checkSecret() returns null for an empty secret and for spaces', async () => {
    const delivery = signedWith('right-secret')
    expect(await checkSecret('', delivery)).toBeNull()
    expect(await checkSecret('   ', delivery)).toBeNull()
  })

  test('checkSecret() returns null if a byte of the body differs', async () => {
    expect(await checkSecret('right-secret', { ...signedWith('right-secret'), body: body.slice(1) })).toBeNull()
  })

  const bytes = new TextEncoder().encode('0123456789abcdef')
  test.each([
    ['spaces around it', ' right-secret ', 'right-secret'],
    ['quotes around it', '"right-secret"', 'right-secret'],
    ['a prefix that was not set', 'whsec_right-secret', 'right-secret'],
    ['no prefix although it was set with one', 'right-secret', 'whsec_right-secret'],
    ['base64 of the bytes of the key', Buffer.from(bytes).toString('base64'), bytes],
    [
      'base64url without padding after the prefix',
      `whsec_${Buffer.from([251, 255]).toString('base64url')}`,
      Buffer.from([251, 255]),
    ],
    ['text of which base64 was set', 'right-secret', Buffer.from('right-secret').toString('base64')],
    ['hex of the bytes of the key', Buffer.from(bytes).toString('hex'), bytes],
  ])('checkSecret() finds the mistake of a secret with %s', async (_, written, secret) => {
    const found = await checkSecret(written, signedWith(secret))
    expect(found?.index).toBe(0)
    expect(found?.difference).not.toBe('')
  })
})
