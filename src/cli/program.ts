import type { Entry, Node } from './command/leaf.js'
import type { Topic } from './command/topics.js'

/** Loads a node once. Nodes that list all commands take `entries` as an argument: an import would be circular. */
function once(make: () => Promise<Node>): () => Promise<Node> {
  let node: Promise<Node> | undefined
  return () => (node ??= make())
}

/** Groups and commands by the sections of the first help page, in its order. */
const sections: Readonly<Record<string, readonly Omit<Entry, 'section'>[]>> = {
  'Start here': [
    {
      name: 'quickstart',
      summary: 'Issue, verify, redeem and reverse a voucher on a temporary server',
      load: once(async () => (await import('./commands/quickstart/quickstart.js')).quickstart(entries)),
    },
    {
      name: 'doctor',
      summary: 'Check machine, configuration, server and credentials',
      load: async () => (await import('./commands/doctor/doctor.js')).doctor,
    },
  ],
  'Accounts and apps': [
    {
      name: 'login',
      summary: 'Store a credential in a profile',
      load: async () => (await import('./commands/account/login.js')).login,
    },
    {
      name: 'logout',
      summary: 'Remove the credentials of a profile',
      load: async () => (await import('./commands/account/logout.js')).logout,
    },
    {
      name: 'whoami',
      summary: 'Show who the stored credentials are',
      load: async () => (await import('./commands/account/whoami.js')).whoami,
    },
    {
      name: 'profiles',
      alias: 'profile',
      summary: 'Servers and credentials under a name: list, use, show, set, remove',
      load: async () => (await import('./commands/account/profiles.js')).profiles,
    },
    {
      name: 'apps',
      alias: 'app',
      summary: 'Applications: list, create, get, update, link-bot, unlink-bot',
      load: async () => (await import('./commands/apps/apps.js')).apps,
    },
    {
      name: 'tokens',
      alias: 'token',
      summary: 'Application tokens: list, create, revoke',
      load: async () => (await import('./commands/apps/tokens.js')).tokens,
    },
  ],
  'Vouchers and bots': [
    {
      name: 'templates',
      alias: 'template',
      summary: 'Voucher templates: list, create, submit',
      load: async () => (await import('./commands/templates/templates.js')).templates,
    },
    {
      name: 'vouchers',
      alias: 'voucher',
      summary: 'Issue one or many, verify, redeem, reverse',
      load: async () => (await import('./commands/vouchers/vouchers.js')).vouchers,
    },
    {
      name: 'bots',
      alias: 'bot',
      summary: 'Bots: apply, token, profile, metrics, send, updates',
      load: async () => (await import('./commands/bots/bots.js')).bots,
    },
    {
      name: 'webhook',
      alias: 'webhooks',
      summary: 'Of a bot: set, deliveries, retry; local: listen, replay, trigger …',
      load: async () => (await import('./commands/webhook/webhook.js')).webhook,
    },
  ],
  'Server and platform': [
    {
      name: 'secure',
      summary: 'The encrypted transport: bootstrap, session, call, check, pin',
      load: async () => (await import('./commands/secure/secure.js')).secure,
    },
    {
      name: 'conform',
      summary: 'Whether a platform behaves like the reference, rule by rule',
      load: async () => (await import('./commands/conform/conform.js')).conform,
    },
    {
      name: 'prove',
      summary: 'Whether a program redeems twice, loses a voucher or gives goods away',
      load: async () => (await import('./commands/prove/prove.js')).prove,
    },
    {
      name: 'load',
      summary: 'Calls at a rate against a platform: latencies, errors, assertions',
      load: async () => (await import('./commands/load/load.js')).load,
    },
    {
      name: 'server',
      alias: 'servers',
      summary: 'The bundled reference server: start, status, stop, logs, openapi',
      load: async () => (await import('./commands/server/server.js')).server,
    },
    {
      name: 'open',
      summary: 'The page of a local server, in the browser',
      load: async () => (await import('./commands/open/open.js')).open,
    },
    {
      name: 'platform',
      summary: "The operator's side: reviews, approvals, chats, clock, faults",
      load: async () => (await import('./commands/platform/platform.js')).platform,
    },
  ],
  'Scripts and shells': [
    {
      name: 'api',
      summary: 'Any route by method and path, as JSON or as curl; api routes lists them',
      load: once(async () => (await import('./commands/api/api.js')).api(entries)),
    },
    {
      name: 'scenario',
      alias: 'scenarios',
      summary: 'Scenarios: calls in YAML files, run and checked: run, init, record',
      load: async () => (await import('./commands/scenario/scenario.js')).scenario,
    },
    {
      name: 'mcp',
      summary: 'Tools for models over the Model Context Protocol: serve, install, tools',
      load: once(async () => (await import('./commands/mcp/mcp.js')).mcp(guides)),
    },
    {
      name: 'evidence',
      summary: 'What proves each rule',
      load: async () => (await import('./commands/reference/evidence.js')).evidence,
    },
    {
      name: 'explain',
      summary: 'What a failure code means, its causes, what to do',
      load: async () => (await import('./commands/reference/explain.js')).explain,
    },
    {
      name: 'commands',
      summary: 'List every command with its flags; --json for scripts',
      load: once(async () => (await import('./commands/reference/commands.js')).commands(entries)),
    },
    {
      name: 'completion',
      summary: 'Completion of the shell: bash, zsh, fish, powershell, install',
      load: once(async () => (await import('./commands/completion/completion.js')).completion(entries)),
    },
  ],
}

export const entries: readonly Entry[] = Object.entries(sections).flatMap(([section, all]) =>
  all.map((it) => ({ ...it, section })),
)

/** Texts of `voucherctl help TOPIC`. */
export const topics: Readonly<Record<Topic, string>> = {
  flags: 'Flags of every command',
  'exit-codes': 'What the exit code says',
  environment: 'Variables that are read',
  output: 'Formats, fields, colour',
  config: 'Profiles, and what wins',
  rules: 'The rules of the platform, which conform tests',
  'first-steps': 'Guide: a first voucher, many vouchers, a bot, scripts, CI, completion',
  'local-webhooks': 'Guide: receive, inspect, replay and forward deliveries on this machine',
  page: 'Guide: the page of a local server or a listener, in the browser',
  'webhook-library': 'Guide: verify deliveries in node:http, Express or Fastify',
  'client-library': 'Guide: make calls from a program',
  'client-methods': 'Guide: input, result and scope of client methods',
  testing: 'Guide: the server inside a test, on node:test, Vitest or Jest',
  proving: 'Guide: what a program does when calls fail',
  encryption: 'Guide: the encrypted transport',
  agents: 'Guide: for agents that build or test with voucherctl',
  'quickstart.yaml': 'The steps of quickstart as a scenario file, to copy',
  'scenario-files': 'Guide: test files for CI',
  'reference-server': 'Guide: seeds, test clock, faults, snapshots, limits',
  running: 'Guide: service, nginx, alerts, backups, PostgreSQL, poolers',
  evidence: 'What proves each rule',
  conformance: 'Guide: whether a platform behaves like the reference',
  'load-tests': 'Guide: load, latencies, assertions for CI',
}

/** Variables that coding agents set for the commands that they run. */
export const agentVariables = ['AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT']

const guides = Object.keys(topics).filter((name) => topics[name as Topic].startsWith('Guide'))
