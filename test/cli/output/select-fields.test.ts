import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { refuseUnknownInContract } from '../../../src/cli/output/select-fields.js'
import { entries } from '../../../src/cli/program.js'
import { cli, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { app, leafCalls, pageOf, template, update, verification } from '../../support/cli/samples.js'

async function against(args: string, data: unknown) {
  const { baseUrl, received } = await stub(() => success(data))
  return { ...(await cli(`${args} --base-url ${baseUrl}`, { env: secrets })), received }
}

const fieldsOf = (data: unknown) => Object.keys((data as { items?: readonly object[] }).items?.[0] ?? (data as object))

const changing = Object.entries(leafCalls).filter(([path, { changes }]) => changes && path !== 'secure call')

test.each(changing)('command %s exits 2 for an unknown --fields name', { tags: 'results/1' }, async (path, call) => {
  const ran = await against(`${path} ${call.args} --json --fields nonsense`, call.data)
  expect([ran.exit, ran.stdout, ran.received]).toEqual([2, '', []])
  const { code, details } = JSON.parse(ran.stderr).error
  expect(code).toBe('UNKNOWN_FIELD')
  expect(details.fields).toEqual(expect.arrayContaining(fieldsOf(call.data).slice(0, 2)))
})

test('the output schema of each command has every member of its sample response', async () => {
  for (const [names, { output }] of await leavesOfEntries(entries)) {
    const path = names.join(' ')
    const data = leafCalls[path]?.data
    if (output === undefined || data === undefined) continue
    expect([path, refuseUnknownInContract(fieldsOf(data), output)]).toEqual([path, undefined])
  }
})

test('templates list exits 2 for a name in --fields that neither response nor contract has', async () => {
  const ran = await against('templates list --fields name,nam,validity.typ', pageOf(template))
  expect([ran.exit, ran.stdout]).toEqual([2, ''])
  expect(ran.stderr).toMatch(
    /^error: Unknown fields "nam", "validity.typ" in --fields\. \(UNKNOWN_FIELD\)\nhint: Fields: id, /,
  )
})

test('--fields accepts a member of the response that the contract does not have', async () => {
  const ran = await against('apps get app_01 --json --fields id,colour.tone', { ...app, colour: { tone: 'warm' } })
  expect(JSON.parse(ran.stdout)).toEqual({ id: 'app_01', 'colour.tone': 'warm' })
})

test('--fields prints null for an optional member that is missing in the response', async () => {
  const { name: _name, ...nameless } = app
  expect(JSON.parse((await against('apps get app_01 --json --fields name', nameless)).stdout)).toEqual({ name: null })
  const unknown = { ...verification, voucher: null }
  const verify = `vouchers verify ${leafCalls['vouchers verify']?.args} --json --fields voucher.status`
  expect(JSON.parse((await against(verify, unknown)).stdout)).toEqual({ 'voucher.status': null })
  expect((await against('bots updates --json --fields friend_request.id', { items: [update] })).exit).toBe(0)
})

test('bots updates --fields accepts the name of every update type and refuses other names', async () => {
  expect((await against('bots updates --json --fields update_idd', { items: [update] })).exit).toBe(2)
  expect((await against('bots updates --json --fields ping', { items: [update] })).exit).toBe(0)
  expect(await against('bots updates --follow --json --fields update_idd', {})).toMatchObject({ exit: 2, received: [] })
})

test('--fields on an empty list refuses only names that the contract does not have', async () => {
  expect(await against('templates list -o csv --fields nam', pageOf())).toMatchObject({ exit: 2, stdout: '' })
  expect(await against('templates list -o csv --fields name', pageOf())).toMatchObject({ exit: 0, stdout: 'name\n' })
})

/** A folder with the log of a server and a file with a secret. */
function withLog(): string {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 's.txt'), 'whsec')
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data', 'server.log'), '{"time":"T","msg":"stopped","pid":1}\n')
  return cwd
}

test.each(['webhook listen --secret-file s.txt', 'server logs --data data', 'bots updates --follow'])(
  'the command %s exits 2 for a mistyped --fields before it prints a line',
  async (command) => {
    const ran = await cli(`${command} --fields time,nonsense`, { cwd: withLog(), env: secrets })
    expect(ran).toMatchObject({ exit: 2, stdout: '', stderr: expect.stringContaining('"nonsense"') })
  },
)

test('server logs --fields accepts members of log lines and of request entries', async () => {
  const ran = await cli('server logs --data data --fields pid,status', { cwd: withLog() })
  expect(ran).toMatchObject({ exit: 0, stdout: '{"pid":1,"status":null}\n' })
})
