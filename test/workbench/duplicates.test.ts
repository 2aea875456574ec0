import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FirstDelivery } from '../../src/workbench/duplicates.js'
import { Duplicates } from '../../src/workbench/duplicates.js'

const one = Buffer.from('{"update_id":1}')
const other = Buffer.from('{"update_id":1 }')

function first(duplicates: Duplicates<string>, id = '1', body = one) {
  const admission = duplicates.admit(id, body)
  expect(admission.kind).toBe('first')
  return admission as FirstDelivery<string>
}

test('a duplicate of a delivery that succeeded is not forwarded', () => {
  const duplicates = new Duplicates<string>()
  first(duplicates).settle('done', true)
  expect(duplicates.admit('1', one)).toEqual({ kind: 'done' })
})

test('duplicates of a delivery in flight get its response, also a failed one', async () => {
  const duplicates = new Duplicates<string>()
  const admitted = first(duplicates)
  const repeats = [duplicates.admit('1', one), duplicates.admit('1', one)]
  admitted.settle('broken', false)
  for (const it of repeats) expect(it.kind === 'in_flight' && (await it.response)).toBe('broken')
})

test('a duplicate of a failed delivery is forwarded and not marked as idReused', () => {
  const duplicates = new Duplicates<string>()
  first(duplicates).settle('broken', false)
  expect(first(duplicates).idReused).toBe(false)
})

test('a delivery that reuses an id with another body is forwarded and marked as idReused', () => {
  const duplicates = new Duplicates<string>()
  const admitted = first(duplicates)
  expect(first(duplicates, '1', other).idReused).toBe(true)
  admitted.settle('done', true)
  expect(duplicates.admit('1', one).kind).toBe('done')
})

test('the given number of ids is remembered, and at most twice as many', () => {
  const duplicates = new Duplicates<string>(2)
  const ids = ['1', '2', '3', '4', '5']
  for (const id of ids) first(duplicates, id).settle('done', true)
  expect(ids.slice(2).map((id) => duplicates.admit(id, one).kind)).toEqual(['done', 'done', 'done'])
  expect(duplicates.admit('1', one).kind).toBe('first')
})

test('a body is forwarded only while it is neither done nor in flight, in every interleaving', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.constantFrom('1', '2'), body: fc.constantFrom(one, other), act: fc.nat(2) })),
      (steps) => {
        const duplicates = new Duplicates<string>()
        const flying = new Map<string, FirstDelivery<string>>()
        const answered = new Set<string>()
        const seen = new Map<string, Set<Buffer>>()
        for (const { id, body, act } of steps) {
          const key = `${id} ${body}`
          const admitted = flying.get(key)
          if (act > 0) {
            admitted?.settle('', act === 1)
            if (admitted !== undefined && act === 1) answered.add(key)
            flying.delete(key)
            continue
          }
          const admission = duplicates.admit(id, body)
          expect(admission.kind).toBe(answered.has(key) ? 'done' : admitted === undefined ? 'first' : 'in_flight')
          if (admission.kind !== 'first') continue
          const bodies = seen.get(id) ?? new Set()
          expect(admission.idReused).toBe([...bodies].some((it) => it !== body))
          seen.set(id, bodies.add(body))
          flying.set(key, admission)
        }
      },
    ),
    { seed: 1 },
  )
})
