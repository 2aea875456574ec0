import { describe, expect, it } from 'vitest'
import { exchange, fail, failOuter, type SecureFailureCode } from '../../src/secure/failure.js'
import { secureCodes } from '../../src/secure/suite.js'
import { json, refusal } from './fake-server.js'

const clientCodes: SecureFailureCode[] = [
  'SECURE_BOOTSTRAP_INVALID',
  'SECURE_SESSION_INVALID',
  'SECURE_PIN_MISMATCH',
  'SECURE_ANSWER_INVALID',
  'SECURE_ANSWER_REFUSED',
  'SECURE_NO_ANSWER',
  'SECURE_TIMEOUT',
  'SECURE_ABORTED',
]

it.each([...secureCodes, ...clientCodes])('failure %s of the encrypted transport has a sentence as message', (code) => {
  expect(fail(code, 'local').message).toMatch(/^[A-Z].{15,}\.$/)
})

describe('failure of an outer response', () => {
  it.each([
    [204, true],
    [299, true],
    [300, false],
    [499, false],
    [500, true],
    [502, true],
    [503, false],
    [599, true],
  ])('dispatch with the unknown status %i may have been processed: %s', (status, maybeProcessed) => {
    const response = { status, headers: {}, body: '' }
    const refused = { code: 'SECURE_ANSWER_REFUSED', outerResponse: response }
    expect(failOuter(response, 'dispatch')).toMatchObject({ ...refused, phase: 'dispatch', maybeProcessed })
    expect(failOuter(response, 'session')).toMatchObject({ ...refused, phase: 'session', maybeProcessed: false })
  })

  it('dispatch that the transport declined was not processed, but a replayed one was', () => {
    const outcome = (code: string) => failOuter(refusal(500, code), 'dispatch')
    expect(outcome('DECRYPTION_FAILED')).toMatchObject({ code: 'DECRYPTION_FAILED', maybeProcessed: false })
    expect(outcome('REQUEST_REPLAYED')).toMatchObject({ code: 'REQUEST_REPLAYED', maybeProcessed: true })
  })

  it('failure of a redirect ignores a transport code in its body', () => {
    expect(failOuter(refusal(399, 'DECRYPTION_FAILED'), 'dispatch').code).toBe('SECURE_ANSWER_REFUSED')
    expect(failOuter(refusal(400, 'DECRYPTION_FAILED'), 'dispatch').code).toBe('DECRYPTION_FAILED')
  })
})

describe('exchange without a response', () => {
  const request = { method: 'GET', path: '/', headers: {} }
  const outcome = (cause: unknown, phase: 'bootstrap' | 'dispatch' | 'plain') =>
    exchange(() => Promise.reject(cause), request, phase)

  it.each([new Error('lost'), { maybeProcessed: true }, null, undefined, 'lost'])(
    'request that fails with %j may have been processed if it carried the call',
    async (cause) => {
      const failure = { ok: false, code: 'SECURE_NO_ANSWER', cause }
      for (const phase of ['dispatch', 'plain'] as const) {
        expect(await outcome(cause, phase)).toMatchObject({ ...failure, phase, maybeProcessed: true })
      }
      expect(await outcome(cause, 'bootstrap')).toMatchObject({ ...failure, maybeProcessed: false })
    },
  )

  it('request that the transport certainly did not send was not processed', async () => {
    expect(await outcome({ maybeProcessed: false }, 'dispatch')).toMatchObject({ maybeProcessed: false })
  })

  it('exchange returns any response', async () => {
    const response = json(500, {})
    expect(await exchange(async () => response, request, 'dispatch')).toEqual({ ok: true, response })
  })
})
