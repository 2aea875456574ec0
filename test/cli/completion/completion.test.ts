import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { globalFlags } from '../../../src/cli/flags/globals.js'
import { entries } from '../../../src/cli/program.js'
import { kindOfFlag, kindOfPositional } from '../../../src/cli/records/words.js'
import { InboxWriter } from '../../../src/workbench/inbox-writer.js'
import { temporaryDir } from '../../support/cli/cli.js'
import { ask, complete } from '../../support/cli/completion.js'
import { homeWithProfiles, profileFile } from '../../support/cli/profiles.js'

const leaves = (await leavesOfEntries(entries)).map(([path, leaf]) => ({ path, leaf }))

test('completion offers the name of every command within its group and after help', async () => {
  expect((await complete('')).values).toEqual([...entries.map((it) => it.name), 'help'])
  const names = leaves.flatMap(({ path }) => path.map((name, i) => [path.slice(0, i).join(' '), name] as const))
  for (const group of new Set(names.map(([of]) => of))) {
    const expected = names.flatMap(([of, name]) => (of === group ? [name] : []))
    for (const line of [group, `help ${group}`])
      expect((await complete(`${line.trim()} `.trimStart())).values, line).toEqual(expect.arrayContaining(expected))
  }
})

test('completion offers every flag of every command, with its summary', async () => {
  for (const { path, leaf } of leaves) {
    const { values, summaries } = await complete(`${path.join(' ')} --`)
    const names = [...Object.keys(leaf.flags ?? {}), ...Object.keys(globalFlags)]
    expect([...values].sort()).toEqual(
      names
        .filter((it) => it !== 'idempotency-key' || leaf.idempotent)
        .map((it) => `--${it}`)
        .sort(),
    )
    expect(summaries).not.toContain('')
  }
})

/** Id values without completion, because no API call lists them. */
const unlistedIds = ['--external-id', '--recipient', '--user', '--update-id', '--redemption', 'REDEMPTION_ID']

test('completion offers ids, files or folders for every flag and argument that takes them', async () => {
  for (const { path, leaf } of leaves) {
    const values = [
      ...Object.entries(leaf.flags ?? {}).map(([name, it]) => [`--${name}`, it.value ?? '', kindOfFlag(it)]),
      ...[leaf.positional, leaf.second]
        .filter((it) => it !== undefined)
        .map((it) => [it.name, it.name, kindOfPositional(it)]),
    ]
    const uncompleted = values.filter(
      ([name = '', value = '', kind]) =>
        kind === 'free' && /(?:^|_)ID$|FILE|DIR/.test(value) && !unlistedIds.includes(name),
    )
    expect(uncompleted, path.join(' ')).toEqual([])
  }
})

test.each([
  ['vou', ['vouchers']],
  ['voucher redem', ['redemption']],
  ['platform clock s', ['show', 'set']],
  ['--profile shop vouchers redem', ['redemption']],
  ['-q --output json apps up', ['update']],
  ['help exit', ['exit-codes']],
  ['help first', ['first-steps']],
  ['help vouchers red', ['redeem-many', 'redeem', 'redemption']],
  ['apps create --na', ['--name']],
  ['templates list --status ', ['draft', 'reviewing', 'active', 'rejected']],
  ['templates list --status=a', ['--status=active']],
  ['apps list -o js', ['json', 'jsonl']],
  ['apps list -ojs', ['-ojson', '-ojsonl']],
  ['apps list -qo js', ['json', 'jsonl']],
  ['secure call ', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']],
  ['webhook trigger pi', ['ping']],
  ['api ', ['routes', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE']],
  ['api POST x --raw', ['--raw-field']],
  ['api PUT /open', ['/open-platform/applications/:appId/bots/:botId']],
  ['api put /api/v1/open', ['/api/v1/open-platform/applications/:appId/bots/:botId']],
  ['secure call PUT /api', ['/api/v1/open-platform/applications/:appId/bots/:botId']],
  ['api GET /h', ['/healthz']],
  ['platform faults add --endpoint vouchers.re', ['vouchers.redeem', 'vouchers.redemption', 'vouchers.reverse']],
  ['apps list --fields na', ['name']],
  ['apps list --fields=id,status,na', ['--fields=id,status,name']],
  ['apps list --fields name,na', []],
  ['webhook listen --fields=ver', ['--fields=verdict']],
])('completion of the line "%s" offers the values %j', async (line, values) => {
  expect((await complete(line)).values).toEqual(values)
})

test.each([
  ['vouchers issue --qr-file=', 'files'],
  ['apps list --token-file ', 'files'],
  ['server start --data ', 'folders'],
  ['server start --data=/', 'folders'],
])('completion of the line "%s" offers %s', async (line, kind) => {
  expect((await complete(line)).kind).toBe(kind)
})

test.each([
  'nonsense ',
  'nonsense --',
  'apps nonsense ',
  'apps create --name ',
  'apps create --nonsense=',
  'apps list --json=',
  'help apps create ',
  'help exit-codes ',
  'apps --nonsense ',
  'vouchers issue -- --',
  'apps get app_01 extra ',
])('completion of the line "%s" offers nothing', async (line) => {
  expect(await complete(line)).toEqual({ kind: 'words', values: [], summaries: [] })
})

test('completion of webhook commands offers the ids of recorded deliveries, newest first', async () => {
  const home = temporaryDir()
  const writer = new InboxWriter(join(home, 'inbox'))
  const request = { at: 0, method: 'POST', url: '/', headers: [], body: Buffer.from('x') }
  await writer.recordDelivery({ ...request, verdict: 'ok', reason: null, update_id: '7', type: 'message' })
  await writer.recordDelivery({ ...request, verdict: 'refused', reason: 'stale', update_id: null, type: null })
  await writer.close()
  for (const line of ['inbox show --inbox inbox ', 'replay --inbox=inbox --id ', 'verify --inbox inbox --id ']) {
    const { values, summaries } = await complete(`webhook ${line}`, { home })
    expect(values, line).toEqual(['1-2', '1-1'])
    expect(summaries).toEqual(['stale, refused, 1970-01-01 00:00:00Z', 'message #7, ok, 1970-01-01 00:00:00Z'])
  }
  expect((await complete('webhook inbox show ', { home })).values).toEqual([])
})

test('completion does not offer a flag that the line already has, unless it is repeatable', async () => {
  const { values } = await complete('-ojson tokens create --name till --scope vouchers:read --')
  expect(values).not.toContain('--name')
  expect(values).not.toContain('--output')
  expect(values).toContain('--scope')
  const scopes = (await complete('tokens create --scope vouchers:read --scope ')).values
  expect(scopes).toContain('vouchers:issue')
  expect(scopes).not.toContain('vouchers:read')
})

test('completion offers required flags first, even before a dash is typed', async () => {
  expect((await complete('vouchers issue ')).values.slice(0, 3)).toEqual(['--template', '--external-id', '--recipient'])
  expect((await complete('vouchers issue --chat chat_01 --')).values).not.toContain('--recipient')
  expect((await complete('apps list ')).values).toEqual(['--page', '--limit', '--all'])
})

test('completion reads profile names from the profile file', async () => {
  const home = homeWithProfiles({ a: { base_url: 'http://x' }, 'my shop': {} })
  expect(await complete('-p ', { home })).toEqual({
    kind: 'words',
    values: ['a', 'my\\ shop'],
    summaries: ['http://x', ''],
  })
  expect((await complete('profiles use a', { home })).values).toEqual(['a'])
  writeFileSync(profileFile(home), '{')
  expect((await complete('-p ', { home })).values).toEqual([])
  expect((await complete('apps get ', { home })).values).toEqual([])
})

const breaks = ' \t\n"\'><=;|&(:'

test.each([
  ['voucherctl vou', ['vouchers']],
  ['voucherctl ', entries.map((it) => it.name).concat('help')],
  ['voucherctl   apps  cre', ['create']],
  ['voucherctl "apps" cre', ['create']],
  ['voucherctl apps list --output=js', ['json', 'jsonl']],
  ['voucherctl apps list --output="js', ['json', 'jsonl']],
  ["voucherctl apps list --output 'js", ['json', 'jsonl']],
  ['voucherctl apps create --name "a b" --secure-t', ['--secure-transport']],
  ['voucherctl apps create --name a\\ b --secure-t', ['--secure-transport']],
  ['voucherctl tokens create --scope vouchers:r', ['read', 'redeem', 'reverse']],
  ['voucherctl apps list 2>/dev/null --p', ['--page', '--profile']],
])('bash completion splits the line %s into words as bash does and offers %j', async (line, values) => {
  const lines = (await ask(['bash', line, breaks])).trimEnd().split('\n').slice(1)
  expect(lines.map((it) => it.split('\t')[0])).toEqual(values)
})

test('bash completion offers files after a redirection', async () => {
  expect(await ask(['bash', 'voucherctl apps list > fi', breaks])).toBe('files\n')
})

test.each([
  ['bash', ['voucherctl -p ', breaks], "my\\ shop\\ \\$\\(id\\)\\;\\ it\\'s"],
  ['bash', ['voucherctl -p "my', breaks], "my shop \\$(id); it's"],
  ['bash', ["voucherctl -p 'my", breaks], "my shop $(id); it'\\''s"],
  ['bash', ['voucherctl -p my\\ sh', breaks], "my\\ shop\\ \\$\\(id\\)\\;\\ it\\'s"],
  ['zsh', ['-p', ''], "my shop $(id); it's"],
  ['zsh', ['--profile=my'], "my shop $(id); it's"],
  ['fish', ['--profile=my'], "--profile=my shop $(id); it's"],
])('completion for %s of the words %j quotes a profile name for that shell', async (shell, args, value) => {
  const home = homeWithProfiles({ "my shop $(id); it's": {} })
  expect(await ask([shell, ...args], { home })).toBe(`words\n${value}\t\n`)
})

test('bash completion omits values that cannot stand within the open quotes', async () => {
  const home = homeWithProfiles({ 'a!': {}, 'a"': {}, "a'": {} })
  expect(await ask(['bash', 'voucherctl -p "a', breaks], { home })).toBe("words\na'\t\n")
  expect(await ask(['bash', "voucherctl -p 'a", breaks], { home })).toBe('words\na!\t\na"\t\n')
  expect(await ask(['bash', 'voucherctl -p a', breaks], { home })).toBe('words\na\\!\t\na\\"\t\na\\\'\t\n')
})

test('powershell completion reads the words from an environment variable and quotes values', async () => {
  const home = homeWithProfiles({ "it's": {}, plain: {} })
  const env = { VOUCHERCTL_COMPLETE_WORDS: '-p\n' }
  expect(await ask(['powershell'], { home, env })).toBe("words\n'it''s'\t\nplain\t\n")
})

test('completion prints nothing for an unknown shell', async () => {
  expect(await ask(['tcsh', ''])).toBe('')
  expect(await ask([])).toBe('')
})
