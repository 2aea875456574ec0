import { expect, test } from 'vitest'
import { membersOf, pathParameters } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { kindOfMember, recordKinds } from '../../src/contract/record-kinds.js'

/** Members for ids that the platform does not make. */
const foreign = ['accountId', 'leaseId', 'external_issue_id', 'external_template_id', 'recipient_user_id', 'user_id']

test('every member that holds an id has a kind, and every member of a kind occurs in a call', () => {
  const members = endpoints.flatMap(({ path, query, body }) => [
    ...pathParameters(path),
    ...Object.keys({ ...membersOf(query), ...membersOf(body) }),
  ])
  const withId = [...new Set(members)].filter((it) => /(?:Id|_id)$/.test(it))
  expect(withId.filter((it) => kindOfMember(it) === undefined).sort()).toEqual([...foreign, 'update_id'].sort())
  const named: readonly string[] = Object.values(recordKinds).flatMap((it) => it.members)
  expect(named.filter((it) => !members.includes(it))).toEqual([])
})
