import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Duplicates, type FirstDelivery } from '../../src/workbench/duplicates.js'

const one = Buffer.from('{"update_id":1}')
const other = Buffer.from('{"update_id":1 }')

function first(duplicates: Duplicates<string>, id = '1', body = one) {
  const admission = duplicates.admit(id, body)
  expect(admission.kind).toBe('first')
  return admission as FirstDelivery<string>
}

test('Duplicates reports a duplicate of a successful delivery as done', { tags: 'signatures/1' }, () => {
  const duplicates = new Duplicates<string>()
  first(duplicates).settle('done', true)
  expect(duplicates.admit('1', one)).toEqual({ kind: 'done' })
})

test('Duplicates gives duplicates of a delivery in flight the response of that delivery', async () => {
  const duplicates = new Duplicates<string>()
  const admitted = first(duplicates)
  const repeats = [duplicates.admit('1', one), duplicates.admit('1', one)]
  admitted.settle('broken', false)
  for (const it of repeats) expect(it.kind === 'in_flight' && (await it.response)).toBe('broken')
})

test('Duplicates admits a duplicate of a failed delivery without marking it idReused', () => {
  const duplicates = new Duplicates<string>()
  first(duplicates).settle('broken', false)
  expect(first(duplicates).idReused).toBe(false)
})

test('Duplicates admits a delivery with a used id and another body and marks it idReused', () => {
  const duplicates = new Duplicates<string>()
  const admitted = first(duplicates)
  expect(first(duplicates, '1', other).idReused).toBe(true)
  admitted.settle('done', true)
  expect(duplicates.admit('1', one).kind).toBe('done')
})

test('Duplicates remembers at least the last n ids of deliveries and at most 2n', () => {
  const duplicates = new Duplicates<string>(2)
  const ids = ['1', '2', '3', '4', '5']
  for (const id of ids) first(duplicates, id).settle('done', true)
  expect(ids.slice(2).map((id) => duplicates.admit(id, one).kind)).toEqual(['done', 'done', 'done'])
  expect(duplicates.admit('1', one).kind).toBe('first')
})

test('Duplicates admits a body only if it is neither done nor in flight, in any order of events', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.constantFrom('1', '2'), body: fc.constantFrom(one, other), act: fc.nat(2) })),
      (steps) => {
        const duplicates = new Duplicates<string>()
        const inFlight = new Map<string, FirstDelivery<string>>()
        const delivered = new Set<string>()
        const seen = new Map<string, Set<Buffer>>()
        for (const { id, body, act } of steps) {
          const key = `${id} ${body}`
          const admitted = inFlight.get(key)
          if (act > 0) {
            admitted?.settle('', act === 1)
            if (admitted !== undefined && act === 1) delivered.add(key)
            inFlight.delete(key)
            continue
          }
          const admission = duplicates.admit(id, body)
          expect(admission.kind).toBe(delivered.has(key) ? 'done' : admitted === undefined ? 'first' : 'in_flight')
          if (admission.kind !== 'first') continue
          const bodies = seen.get(id) ?? new Set()
          expect(admission.idReused).toBe([...bodies].some((it) => it !== body))
          seen.set(id, bodies.add(body))
          inFlight.set(key, admission)
        }
      },
    ),
    { seed: 1 },
  )
})
