import { failures } from '../../contract/errors.js'
import { explanationOf } from '../failures/codes.js'
import { localFailures } from '../failures/local-failures.js'
import { formats } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { credentialNames, credentialVariables } from '../host/secrets.js'
import { explanationText } from '../output/failure-text.js'
import { wrapMarkdown } from '../output/markdown.js'
import { rows, wrap } from '../output/text.js'
import { RULES, rulesText } from './rules.js'

/** Content of a help topic: a text for people, and data for scripts. */
interface TopicText {
  readonly text: string
  readonly data: unknown
}

/** Meaning of each exit code; the failure tables map failure codes to exit codes. */
export const exitMeanings: Readonly<Record<number, string>> = {
  0: 'done',
  1: 'unexpected; also a failed check, a specified difference that `conform` found, a failed `load`, findings of `prove`',
  2: 'wrong usage, local validation; also an unusable template or bot of `conform`',
  3: 'input or confirmation needed, none possible',
  4: 'not authenticated or not allowed (401, 403); also `conform` without an accepted credential',
  5: 'not found',
  6: 'conflict (409); also `vouchers verify --check` of a voucher that is not redeemable',
  7: 'rate limited, retries spent',
  8: 'any other refusal (4xx)',
  9: 'network, timeout, 5xx; also a `conform` that could not test some probes',
  10: 'signature invalid; encrypted transport refused',
  11: 'finished, but some rows failed or some steps of a scenario were not run',
  12: '`conform`: differences from decisions only',
  124: '`--expect` ran out of time',
  129: 'its terminal was closed (SIGHUP)',
  130: 'interrupted (SIGINT)',
  143: 'terminated (SIGTERM); a server or listener that stops cleanly exits with 0',
}

const variables: Readonly<Record<string, string>> = {
  VOUCHERCTL_BASE_URL: 'address of the server',
  VOUCHERCTL_PROFILE: 'name of the profile to use',
  VOUCHERCTL_CONFIG_DIR: 'folder of the profile file, else $XDG_CONFIG_HOME/voucherctl',
  VOUCHERCTL_OUTPUT: `format of results: ${formats.join(', ')}`,
  [credentialVariables.token]: `${credentialNames.token} (sop_…) for vouchers and templates`,
  [credentialVariables.jwt]: `${credentialNames.jwt} for applications and tokens`,
  [credentialVariables.bot]: `${credentialNames.bot} (sbot_…) for what a bot does`,
  [credentialVariables.operator]: `${credentialNames.operator} (opk_…) for platform commands`,
  VOUCHERCTL_SECURE: 'off, auto or required, as --secure',
  VOUCHERCTL_ORIGIN: 'origin that encrypted sessions are bound to, as --origin',
  VOUCHERCTL_WEBHOOK_SECRET: 'secret of webhook deliveries, where no --secret-file is given',
  VOUCHERCTL_COMPLETION_TIMEOUT: 'how long completion waits for ids, default 250ms; 0 asks no server',
  VOUCHERCTL_DATABASE_URL:
    'PostgreSQL of `server start`, `migrate`, `export` and `import`, as --database-url; it may hold a password',
  XDG_DATA_HOME: 'its folder voucherctl holds the data of the local server',
  PAGER: 'command that shows a help topic on a terminal, default less -FRX; empty or cat for none',
  HTTPS_PROXY: 'proxy of https servers on other machines; also HTTP_PROXY, NO_PROXY and the lower-case names',
  NODE_EXTRA_CA_CERTS: 'file of certificates to trust besides those of Node, which reads it at the start',
  AI_AGENT: 'ends the first help page with lines for agents; also CLAUDECODE and CURSOR_AGENT',
  NO_COLOR: 'no colour; also TERM=dumb and --no-color. FORCE_COLOR=1 colours without a terminal',
}

/** Texts of the help topics, as functions, so that help builds only the text that it prints. */
const topicTexts = {
  'exit-codes': exitCodes,
  environment,
  output,
  config,
  rules: guide(RULES, rulesText),
  'first-steps': guide('src/guides/first-steps.md'),
  'local-webhooks': guide('src/guides/local-webhooks.md'),
  page: guide('src/guides/page.md'),
  'webhook-library': guide('src/guides/webhook-library.md'),
  'client-library': guide('src/guides/client-library.md'),
  'client-methods': guide('src/guides/client-methods.md'),
  testing: guide('src/guides/testing.md'),
  proving: guide('src/guides/proving.md'),
  encryption: guide('src/guides/encryption.md'),
  agents: guide('src/guides/agents.md'),
  'quickstart.yaml': guide('src/guides/quickstart.yaml'),
  'scenario-files': guide('src/guides/scenario-files.md'),
  'reference-server': guide('src/guides/reference-server.md'),
  running: guide('src/guides/running.md'),
  evidence: guide('dist/evidence.md'),
  conformance: guide('src/guides/conformance.md'),
  'load-tests': guide('src/guides/load-tests.md'),
}
/** The topic `flags` has no document: help renders it from the global flags. */
export type Topic = keyof typeof topicTexts | 'flags'

/** Returns the text of a help topic or of a known failure code. @param width columns of the terminal, if there is one */
export function topicText(name: string, host: Host, width?: number): TopicText {
  const found = explanationOf(name, host.env)
  const { text, data } =
    found === undefined
      ? topicTexts[name as keyof typeof topicTexts](host, width)
      : { text: explanationText(found), data: found }
  const shown =
    width === undefined || name.endsWith('.yaml') ? text : wrapMarkdown(text, width, (it) => it in topicTexts)
  return { text: shown, data }
}

function guide(path: string, read = (host: Host) => host.document(path)): (host: Host, width?: number) => TopicText {
  return (host, width) => {
    const text = read(host)
    const isWrapped = width === undefined && path.endsWith('.md')
    return { text: isWrapped ? wrapMarkdown(text.trimEnd()) : text.trimEnd(), data: { path, text } }
  }
}

function exitCodes(): TopicText {
  const codes = new Map<number, string[]>()
  for (const [code, { exit }] of Object.entries({ ...failures, ...localFailures }))
    codes.set(exit, [...(codes.get(exit) ?? []), code])
  const rows = Object.entries(exitMeanings).map(([exit, meaning]) => ({
    exit: Number(exit),
    meaning,
    codes: codes.get(Number(exit)) ?? [],
  }))
  const text = rows.flatMap(({ exit, meaning, codes: names }) => [
    ...wrap(meaning, 72).map((line, i) => `${(i === 0 ? String(exit) : '').padStart(4)}  ${line}`),
    ...(names.length === 0 ? [] : wrap(names.join(', '), 72).map((line) => `      ${line}`)),
  ])
  return {
    text: ['Exit codes are stable; the names below them are the codes of the error object.', '', ...text].join('\n'),
    data: rows,
  }
}

function environment(): TopicText {
  const data = Object.entries(variables).map(([name, meaning]) => ({ name, meaning }))
  return {
    text: ['Variables that are read:', '', ...rows(Object.entries(variables)), '', 'A flag wins over a variable.'].join(
      '\n',
    ),
    data,
  }
}

function output(): TopicText {
  const meanings: Record<(typeof formats)[number], string> = {
    table: 'for people; the default, also in a pipe',
    json: 'one JSON document: the data of the response. --json is the same',
    jsonl: 'one JSON document a line: the items of a list, or the record',
    yaml: 'one YAML document',
    csv: 'one row for each item; members of members read validity.type',
  }
  const notes = [
    '--fields a,b.c shows only these members, in this order, in every format. A name that neither the response nor the contract has is exit 2; a command that changes something refuses it before it sends anything.',
    '--jq EXPR filters what --json would print, after --fields, with jq 1.8. Each result is a line: strings as they are, anything else as JSON. With -o jsonl, and in streams, each line is filtered separately. An invalid filter is exit 2 before anything is sent. A filter that fails is exit 1, although the command has done its work.',
    '--all prints a list page by page with little memory. A single document (json, yaml, csv) appears when all pages have arrived, so that a failure leaves stdout empty; tables and jsonl appear immediately, and a failure follows them. --jq filters that single document and holds it in memory: some 30,000 items fit, more end with exit 1; `-o jsonl --jq EXPR` filters item by item, with little memory.',
    'stdout carries the result and nothing else. Errors, prompts, progress and hints go to stderr.',
    'With --json a failure is one line on stderr: { "error": { code, message, status, retryable, hint, request_id, details } }.',
    'CSV is for machines: lines end with LF, values are exact, and those with a comma, a quote or a line end are quoted (RFC 4180). Nothing is done to values that begin with = + - or @: a spreadsheet takes them for formulas, so import such columns as text.',
    'What arrives bit by bit (server logs, bots updates --follow, webhook listen) is one JSON object a line.',
    'The format never depends on whether stdout is a terminal; colour and width do.',
  ]
  const text = ['Formats of --output/-o:', '', ...rows(Object.entries(meanings)), '', paragraphs(notes)]
  return { text: text.join('\n'), data: formats.map((format) => ({ format, meaning: meanings[format] })) }
}

function config(): TopicText {
  const order = ['flag', 'environment', 'profile', 'default']
  const notes = [
    'Profiles are kept in config.json, mode 0600, in the folder that `voucherctl help environment` names. A credential in a profile is sent only to the server that it was stored for.',
    'For one folder, set VOUCHERCTL_BASE_URL or VOUCHERCTL_PROFILE in an .envrc. A voucherctl.json is no longer read.',
  ]
  const text = [
    `What wins: ${order.join(' > ')}.`,
    '`voucherctl profiles show --explain` says where each value came from.',
    '',
    paragraphs(notes),
  ]
  return { text: text.join('\n'), data: { precedence: order } }
}

const paragraphs = (texts: readonly string[]) => texts.map((it) => wrap(it, 80).join('\n')).join('\n\n')
