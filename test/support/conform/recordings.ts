import { createHttpTransport } from '../../../src/client/http.js'
import type { Transport } from '../../../src/client/transport.js'
import { Recorder } from '../../../src/conform/record.js'
import { type Recording, type RecordingFault, readRecording } from '../../../src/conform/recording.js'
import { type ReplayedExchange, type ReplayOptions, replayRecording } from '../../../src/conform/replay.js'
import { Wire, type WireRequest } from '../../../src/conform/wire.js'
import type { Reference } from './conform.js'

/** A recorder and the lines that it wrote. */
export function newRecorder({ baseUrl, offer }: Reference, changes: { run?: string; recordedAt?: Date } = {}) {
  const lines: string[] = []
  const recorder = new Recorder({
    baseUrl,
    run: 'a1b2c3d4',
    recordedAt: new Date(),
    now: () => performance.now(),
    ...offer,
    write: (line) => lines.push(`${JSON.stringify(line)}\n`),
    ...changes,
  })
  return { recorder, text: () => lines.join('') }
}

/** Sends requests of one probe and records them. `send` resolves to the parsed body. */
export function recordedSession(reference: Reference, recordedAt = new Date()) {
  const { recorder, text } = newRecorder(reference, { recordedAt })
  const { baseUrl, offer } = reference
  const wire = new Wire({
    baseUrl,
    plain: createHttpTransport(baseUrl),
    rate: 1_000,
    maxWaitMs: 1_000,
    signal: new AbortController().signal,
    pause: async () => {},
    now: () => performance.now(),
    observe: (exchange) => recorder.record(exchange),
  })
  wire.probe = 'session/one'
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    { as = 'token', ...headers }: Readonly<Record<string, string>> = {},
  ) => {
    const credential = offer.credentials[as as 'token'] ?? as
    const request: WireRequest = {
      method,
      path: `/api/v1/${path}`,
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
    // biome-ignore lint/suspicious/noExplicitAny: tests read what the contract promises
    return (await wire.send(request)).json as any
  }
  return { wire, send, text }
}

export function parsed(text: string): Recording {
  const recording = readRecording(text)
  if ('line' in recording) throw new Error(`Line ${recording.line} ${recording.cause}`)
  return recording
}

export const faultOf = (text: string): RecordingFault => {
  const fault = readRecording(text)
  if (!('line' in fault)) throw new Error('The recording has no fault')
  return fault
}

interface ReplayChanges extends Partial<ReplayOptions> {
  readonly deviate?: (reference: Transport) => Transport
}

/** Replays a recording against a reference. */
export async function replayed(
  { baseUrl, offer }: Pick<Reference, 'baseUrl' | 'offer'>,
  text: string,
  { deviate = (it) => it, ...changes }: ReplayChanges = {},
): Promise<ReplayedExchange[]> {
  const results: ReplayedExchange[] = []
  await replayRecording({
    recording: parsed(text),
    baseUrl,
    plain: deviate(createHttpTransport(baseUrl)),
    ...offer,
    rate: 1_000,
    maxWaitMs: 5_000,
    signal: new AbortController().signal,
    onResult: (it) => results.push(it),
    pause: async () => {},
    now: () => performance.now(),
    startedAt: Date.now(),
    ...changes,
  })
  return results
}
