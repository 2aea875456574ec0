import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import { defaultSeed } from '../../src/testing/options.js'
import type { StartOptions, TestServer } from '../../src/testing/types.js'
import { inFolder } from '../support/server/server.js'

/** Wrong options with the kind and the beginning of the error. */
const wrong: readonly (readonly [options: object | string | null, kind: typeof TypeError, text: string])[] = [
  [null, TypeError, 'options must be an object, got null'],
  ['text', TypeError, "options must be an object, got 'text'"],
  [{ autoAprove: true }, TypeError, 'options.autoAprove is unknown: did you mean autoApprove?'],
  [{ port: 1 }, TypeError, 'options.port is unknown: its members are seed, '],
  [{ autoApprove: 'yes' }, TypeError, "options.autoApprove must be true or false, got 'yes'"],
  [{ listen: 0 }, TypeError, 'options.listen must be true or false, got 0'],
  [{ secure: 'always' }, TypeError, "options.secure must be true, false or 'required', got 'always'"],
  [{ databaseUrl: 5432 }, TypeError, 'options.databaseUrl must be a URL such as postgres://'],
  [
    { clock: 5 },
    TypeError,
    'options.clock must be true, false, a Date or an instant such as 2027-03-01T12:00:00Z, got 5',
  ],
  [
    { clock: 'noon' },
    RangeError,
    "options.clock must be a Date or an instant such as 2027-03-01T12:00:00Z, got 'noon'",
  ],
  [{ clock: '2027-02-30T00:00:00Z' }, RangeError, 'options.clock must be a Date or an instant'],
  [
    { clock: new Date(Number.NaN) },
    RangeError,
    'options.clock must be a Date or an instant such as 2027-03-01T12:00:00Z',
  ],
  [{ clock: '9999-01-01T00:00:00Z' }, RangeError, 'options.clock must be a time before the year 9990'],
  [
    { clock: true, databaseUrl: 'postgres://x' },
    TypeError,
    'options.clock must be absent or false with options.databaseUrl',
  ],
  [{ rateLimit: 5 }, TypeError, 'options.rateLimit must be true, false or an object, got 5'],
  [{ rateLimit: null }, TypeError, 'options.rateLimit must be true, false or an object, got null'],
  [{ rateLimit: { read: {} } }, TypeError, 'options.rateLimit.read is unknown: did you mean reads?'],
  [{ rateLimit: { reads: 5 } }, TypeError, 'options.rateLimit.reads must be an object, got 5'],
  [
    { rateLimit: { reads: { calls: 0, seconds: 1 } } },
    RangeError,
    'options.rateLimit.reads.calls must be an integer from 1',
  ],
  [
    { rateLimit: { reads: { calls: 1 } } },
    TypeError,
    'options.rateLimit.reads.seconds must be a number, got undefined',
  ],
  [{ seed: 5 }, TypeError, 'options.seed must be a seed or the path of a file, got 5'],
  [{ seed: {} }, TypeError, 'options.seed has mistakes: account is required'],
  [
    { seed: '/none.yaml' },
    RangeError,
    "options.seed must be the path of a file that can be read, got '/none.yaml' (ENOENT)",
  ],
  [
    { seed: { account: 'a', applications: [{ id: 'x', name: 'X' }] } },
    TypeError,
    'options.seed has mistakes: applications[0].id must be app_ and 1 to 40',
  ],
]

describe('startServer', () => {
  test.each(wrong)('startServer names the wrong option of %j', async (options, kind, text) => {
    const error = await startServer(options as StartOptions).catch((it: unknown) => it)
    expect(error).toBeInstanceOf(kind)
    expect((error as Error).message.slice(0, text.length)).toBe(text)
  })

  test('startServer reads a seed file and refuses it with the line of each mistake', async () => {
    await inFolder(async (folder) => {
      const path = join(folder, 'seed.yaml')
      writeFileSync(path, 'account: acme\napplications:\n  - id: app_1\n    name: One\n')
      const server = await startServer({ seed: path, listen: false })
      expect(await server.client.apps.get({ appId: 'app_1' })).toMatchObject({ ok: true })
      await server.close()
      writeFileSync(path, 'account: acme\napplications:\n  - id: one\n    nam: One\n')
      const error = await startServer({ seed: path }).catch((it: unknown) => it)
      expect(error).toBeInstanceOf(RangeError)
      expect((error as Error).message).toContain(`${path}:3:5 applications[0].id must be app_`)
      expect((error as Error).message).toContain(`${path}:4:5 applications[0].nam `)
    })
  })

  test('startServer accepts its own default records as a seed', async () => {
    const server = await startServer({ seed: defaultSeed, listen: false })
    expect(await server.client.templates.list()).toMatchObject({ data: { items: [{ id: 'tpl_coffee' }] } })
    await server.close()
  })
})

describe('server', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ listen: false })
  })
  afterAll(() => server.close())

  const untyped = (value: unknown) => value as never
  const endpoint = 'vouchers.redeem'
  const calls: readonly (readonly [call: () => unknown, kind: typeof TypeError, text: string])[] = [
    [
      () => server.clock.advance('soon'),
      RangeError,
      "by must be a duration such as 31d, 12h, 5m, 30s or 500ms, or a number of ms, got 'soon'",
    ],
    [() => server.clock.advance(-1), RangeError, 'by must be a duration'],
    [() => server.clock.advance(Number.NaN), RangeError, 'by must be a duration'],
    [() => server.clock.advance(untyped(null)), TypeError, 'by must be a duration'],
    [() => server.clock.advance('999999999d'), RangeError, 'by must be a time before the year 9990'],
    [() => server.clock.set('2020-01-01T00:00:00Z'), RangeError, 'to must be an instant from 20'],
    [() => server.clock.set(untyped(5)), TypeError, 'to must be a Date or an instant'],
    [() => server.faults.add(untyped(undefined)), TypeError, 'fault must be an object, got undefined'],
    [
      () => server.faults.add(untyped({ endpoint, kind: 'drop' })),
      RangeError,
      'fault.kind must be one of drop_response, ',
    ],
    [
      () => server.faults.add(untyped({ endpoint: 'vouchers.redem', kind: 'error' })),
      RangeError,
      'fault.endpoint must be the id of an endpoint such as vouchers.redeem',
    ],
    [
      () => server.faults.add(untyped({ endpoint: 'platform.reviews', kind: 'error' })),
      RangeError,
      'fault.endpoint must',
    ],
    [() => server.faults.add(untyped({ endpoint: 5, kind: 'error' })), TypeError, 'fault.endpoint must be'],
    [
      () => server.faults.add({ endpoint, kind: 'error', times: 0 }),
      RangeError,
      'fault.times must be an integer from 1',
    ],
    [() => server.faults.add({ endpoint, kind: 'delay' }), TypeError, 'fault.delay_ms must be a number of ms'],
    [
      () => server.faults.add({ endpoint, kind: 'delay', delay_ms: 60_001 }),
      RangeError,
      'fault.delay_ms must be an integer from 0 to 60000, got 60001',
    ],
    [() => server.receive(untyped('voucher_used')), RangeError, 'type must be one of message, '],
    [() => server.receive('ping', { within: 1.5 }), RangeError, 'options.within must be an integer from 0'],
    [() => server.receive('ping', { within: untyped('1s') }), TypeError, "options.within must be a number, got '1s'"],
    [
      () => server.receive('ping', untyped({ timeout: 1 })),
      TypeError,
      'options.timeout is unknown: its members are within, bot',
    ],
    [() => server.receive('ping', { bot: untyped(5) }), TypeError, 'options.bot must be the id of a bot, got 5'],
  ]

  test.each(calls)('server names the wrong argument of %s', async (call, kind, text) => {
    const error = await (async () => call())().catch((it: unknown) => it)
    expect(error).toBeInstanceOf(kind)
    expect((error as Error).message.slice(0, text.length)).toBe(text)
  })

  test('receive names the bot option if the seed has no linked bot', async () => {
    const without = await startServer({ seed: { account: 'acme' }, listen: false })
    await expect(without.receive('ping')).rejects.toThrow('options.bot must be the id of a bot, because the seed')
    await without.close()
  })

  test('clock starts at the time of the option, advances, and is set to an instant', async () => {
    const timed = await startServer({ clock: '2027-03-01T12:00:00Z', listen: false })
    const hourOf = () => timed.clock.now().toISOString().slice(0, 13)
    expect(hourOf()).toBe('2027-03-01T12')
    timed.clock.advance('1.5h')
    expect(hourOf()).toBe('2027-03-01T13')
    timed.clock.advance(86_400_000)
    expect(hourOf()).toBe('2027-03-02T13')
    timed.clock.set(new Date('2027-04-01T00:00:00Z'))
    expect(hourOf()).toBe('2027-04-01T00')
    await timed.close()
  })

  test('clock of a server without a test clock cannot be moved', async () => {
    const untimed = await startServer({ clock: false, listen: false })
    expect(untimed.clock.now()).toBeInstanceOf(Date)
    expect(() => untimed.clock.advance('1s')).toThrow(expect.objectContaining({ code: 'TEST_CLOCK_OFF' }))
    await untimed.close()
  })
})
