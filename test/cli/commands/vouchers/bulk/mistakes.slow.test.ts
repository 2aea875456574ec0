import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../../../../support/cli/built-cli.js'
import { secrets, temporaryDir } from '../../../../support/cli/cli.js'

/** Invalid input files, each with the message and the hint that the built command must print. */
const mistakes: [what: string, name: string, contents: string | Buffer, message: RegExp, hint: RegExp][] = [
  ['an unknown column', 'in.csv', 'id,user\n1,2\n', /in\.csv: The header has an unknown column "id"/, /metadata\.id/],
  [
    'semicolons between the columns',
    'in.csv',
    'external_issue_id;recipient_user_id\n1;2\n',
    /in\.csv: The columns of the header are not separated by commas/,
    /external_issue_id,recipient_user_id/,
  ],
  ['no content', 'in.csv', '', /in\.csv: The input has no header line/, /external_issue_id,recipient_user_id/],
  [
    'UTF-16',
    'in.csv',
    Buffer.from('\ufeffexternal_issue_id,recipient_user_id\n', 'utf16le'),
    /in\.csv: The input is UTF-16/,
    /UTF-8/,
  ],
  [
    'NDJSON that is not JSON',
    'in.ndjson',
    '{"external_issue_id"\n',
    /1 row cannot be sent of 1 in in\.ndjson/,
    /errors/,
  ],
  [
    'an NDJSON member that is unknown',
    'in.ndjson',
    '{"external_issue_id":"1","recipient":"2"}\n',
    /1 row cannot be sent of 1 in in\.ndjson/,
    /errors/,
  ],
]

function run(home: string, name: string) {
  const args = ['vouchers', 'issue-many', name, '--template', 'tpl_1', '--out', 'out.csv', '--errors', 'errors.csv']
  // Nothing listens on this port, so a command that sent a row would exit 9 instead of 2.
  return built.run([...args, '--base-url', 'http://127.0.0.1:1', '--json'], home, secrets)
}

test.each(mistakes)(
  'issue-many exits 2 with a message and a hint for an input file with this fault: %s',
  async (_what, name, contents, message, hint) => {
    const home = temporaryDir()
    writeFileSync(join(home, name), contents)
    const { exit, stdout, stderr } = await run(home, name)
    expect([exit, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    })
  },
)

test('issue-many lists the line number and fault of each invalid NDJSON row', async () => {
  const home = temporaryDir()
  writeFileSync(join(home, 'in.ndjson'), '[]\nno\n{"external_issue_id":"1","recipient":"2"}\n')
  const { details } = JSON.parse((await run(home, 'in.ndjson')).stderr).error
  expect(details.errors).toEqual([
    { pointer: 'line 1', code: 'MALFORMED', message: 'must be a JSON object' },
    { pointer: 'line 2', code: 'MALFORMED', message: 'is not JSON' },
    {
      pointer: 'line 3',
      code: 'MEMBER_UNKNOWN',
      message: '"recipient" is no member of a row, did you mean recipient_user_id?',
    },
  ])
})

test('issue-many exits 2 if FILE is missing or is a folder', async () => {
  const home = temporaryDir()
  mkdirSync(join(home, 'folder'))
  for (const [name, message] of [
    ['missing.csv', 'There is no file missing.csv.'],
    ['folder', 'folder is a folder.'],
  ] as const) {
    const { exit, stderr } = await run(home, name)
    expect([exit, JSON.parse(stderr).error]).toEqual([
      2,
      expect.objectContaining({ code: 'FILE_UNREADABLE', message, hint: expect.any(String) }),
    ])
  }
})
