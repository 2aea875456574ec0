import { useEffect } from 'preact/hooks'
import type { Reference, ReferenceEndpoint } from '../../contract/platform/reference.js'
import { type Result, read } from './api.js'
import { signal } from './signal.js'
import { proofs } from './trust.js'

type Endpoints = ReadonlyMap<string, ReferenceEndpoint>

const known = signal<Endpoints | null>(null)
let reading: { readonly proof: number; readonly result: Promise<Result<Endpoints>> } | undefined

/** The endpoints of the server by id. A restarted server may have others, so they are read once after each proof. */
export function readEndpoints(): Promise<Result<Endpoints>> {
  if (reading?.proof !== proofs.value) reading = { proof: proofs.value, result: request() }
  return reading.result
}

async function request(): Promise<Result<Endpoints>> {
  const result = await read<Reference>('/reference')
  if (!result.ok) {
    reading = undefined
    return result
  }
  const endpoints = result.data.groups.flatMap((it) => it.endpoints)
  known.value = new Map(endpoints.map((it) => [it.id, it]))
  return { ok: true, data: known.value }
}

/** The endpoints of the server by id; null until they have been read. */
export function useEndpoints(): Endpoints | null {
  useEffect(() => void readEndpoints(), [proofs.value])
  return known.value
}
