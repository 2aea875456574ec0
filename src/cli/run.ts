import { CommandLine } from './command-line.js'
import { execute, storedFormat } from './execute.js'
import { type Failure, fail, suggestionsOf } from './failures/failure.js'
import { formatIn, type Globals, globalFlags, hasPlainErrors, knownFormat, readGlobals } from './flags/globals.js'
import type { Host } from './host/host.js'
import type { JqFilter } from './output/jq.js'
import { Output } from './output/output.js'
import { agentVariables, entries, topics } from './program.js'

export async function run(argv: readonly string[], host: Host): Promise<number> {
  const line = new CommandLine()
  try {
    return await dispatch(line, await line.parse(argv), host)
  } catch (error) {
    // This error is a bug: print its text only with --debug, because it may contain secrets.
    const { globals } = readGlobals(line.given)
    const output = outputOf(line, host, () => formatOf(line, globals, host))
    const hint = 'Run it again with --debug to see where, and report it.'
    await output.fail(fail('UNEXPECTED', 'voucherctl failed unexpectedly.', globals.debug ? null : hint))
    if (globals.debug) output.trace(error instanceof Error ? (error.stack ?? error.message) : String(error))
    return 1
  }
}

async function dispatch(line: CommandLine, mistake: Failure | undefined, host: Host): Promise<number> {
  const { globals, failure } = readGlobals(line.given)
  const format = formatOf(line, globals, host)
  let refused = mistake ?? failure
  const filter = refused !== undefined || globals.jq === undefined ? undefined : await openFilter(globals.jq, host)
  refused ??= await filter?.check()
  if (refused === undefined && line.shows !== undefined) {
    const output = outputOf(line, host, () => format, filter)
    return show(line, output)
  }
  // Once the flags are valid, the settings determine the format.
  const output = outputOf(line, host, () => format ?? storedFormat(host, globals.profile))
  return refused === undefined ? execute(line, globals, filter, output) : output.fail(refused)
}

/** @param formatOf called when the output prints */
const outputOf = ({ given }: CommandLine, host: Host, formatOf: () => unknown, filter?: JqFilter) =>
  new Output(host, {
    get format() {
      return knownFormat(formatOf())
    },
    filter,
    plainErrors: hasPlainErrors(given, host),
    suggest: suggestionsOf(host.env, given),
  })

/** Prints help or the version; as a JSON document if a flag or the environment requests JSON. */
async function show(line: CommandLine, output: Output): Promise<number> {
  const isText = output.options.format === 'table'
  const content = await pageOf(line, isText, output)
  if (isText && line.topic !== undefined) await output.page(String(content))
  else if (isText) output.say(String(content))
  else await output.print(content)
  return output.filterError === undefined ? 0 : output.fail(output.filterError)
}

/** Returns the page that the line asks for: a text for people, or data for scripts. */
async function pageOf({ shows, topic, node, path }: CommandLine, isText: boolean, output: Output): Promise<unknown> {
  const { host } = output
  if (shows === 'version') return isText ? host.version() : { version: host.version() }
  const isFlags = topic === 'flags'
  if (topic !== undefined && !isFlags) {
    const page = (await import('./command/topics.js')).topicText(topic, host, output.width)
    return isText ? page.text : page.data
  }
  if (isText) {
    const { helpOf, helpOfFlags } = await import('./command/help.js')
    const isAgent = agentVariables.some((it) => host.env[it])
    return isFlags ? helpOfFlags() : helpOf(node, path, entries, Object.keys(topics), isAgent)
  }
  const { describe, describeFlags } = await import('./commands/reference/commands.js')
  return isFlags ? describeFlags(globalFlags) : describe(node, path, entries)
}

/** Loads jq on demand, because jq takes as long to start as a whole command. */
async function openFilter(expression: string, { signal }: Host): Promise<JqFilter> {
  const { JqFilter } = await import('./output/jq.js')
  return new JqFilter(expression, signal)
}

/** Output format from flags or environment. --jq implies JSON, even if the filter is invalid. */
function formatOf({ given }: CommandLine, globals: Globals, { env }: Host): string | undefined {
  return formatIn(globals) ?? (given.has('jq') ? 'json' : env.VOUCHERCTL_OUTPUT || undefined)
}
