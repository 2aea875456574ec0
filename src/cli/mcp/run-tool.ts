import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import type { Members } from '../../values/json.js'
import { withLocalAdvice } from '../command/local-advice.js'
import { type Failure, fail } from '../failures/failure.js'
import { untilAborted } from '../host/files.js'
import { scrubAll } from '../host/secrets.js'
import { bounded, failureText, isSafe, textOf } from './present.js'
import { limited, openCall, type Session } from './session.js'
import { otherForm, type Tool, type ToolCall, type ToolResult } from './tool.js'

/** A request of the client, which can cancel it and ask for progress. */
type Request = ServerContext['mcpReq']

/** Runs a tool; every failure is a result that a model can read. */
export async function runTool(session: Session, tool: Tool, input: Members, request: Request): Promise<CallToolResult> {
  const { context } = session
  const { signal, end } = limited(tool.msMax, request.signal, context.host.signal)
  const endProgress = reportProgress(request, tool)
  let source: string | undefined = 'this machine'
  try {
    const call = openCall(session, signal)
    if ('code' in call) return await failed(session, call, source)
    source = tool.isOwn ? undefined : (call.context.settings.baseUrl.value ?? source)
    const result = await untilAborted(tracked(session, run(call, tool, input)), signal)
    if (result === undefined || signal.aborted) return await failed(session, tooLong(tool), source)
    return result.ok ? succeeded(session, result, source) : await failed(session, result, source)
  } catch (error) {
    if (context.globals.debug && error instanceof Error) context.output.trace(error.stack ?? error.message)
    // A TypeError comes from data without the members that the contract promises; any other error is a bug.
    const bug = fail('UNEXPECTED', `${tool.name} failed unexpectedly.`)
    return await failed(session, error instanceof TypeError ? otherForm : bug, source)
  } finally {
    end()
    endProgress()
  }
}

type Result = ToolResult & { readonly isCut: boolean }

/** Runs a tool whose input fits. The data of its result is hidden where it is secret, and cut to the bounds. */
async function run(call: ToolCall, tool: Tool, input: Members): Promise<Result | Failure> {
  const { lazyValidator } = await import('../../server/http/schema-validator.js')
  const issues = lazyValidator(tool.input)(input)
  const errors = issues?.map(({ pointer, message }) => ({ pointer, message }))
  if (errors) return fail('INVALID_INPUT', `The input does not fit the tool ${tool.name}.`, null, { errors })
  const refused = tool.effect === 'reads' || tool.effect === 'either' ? undefined : call.refuseWrite()
  if (refused !== undefined) return refused
  const result = await tool.run(call, input as never)
  if (!result.ok) return result
  const { value, isCut } = bounded(result.showsCodes ? result.data : scrubAll(call.context.host, result.data))
  return lazyValidator(tool.output)(value) === null ? { ...result, data: value, isCut } : otherForm
}

const tooLong = ({ name, msMax }: Tool) =>
  fail('TIMEOUT', `${name} ended at its time limit of ${msMax / 1000} s. It may have done a part.`)

function succeeded({ context }: Session, result: Result, source: string | undefined): CallToolResult {
  const { text, data, isCut } = result
  const next = result.next.filter(isSafe)
  return {
    content: [{ type: 'text', text: textOf({ text, data, next, source }, context.host.newId()) }],
    structuredContent: { third_party: source !== undefined, source: source ?? 'voucherctl', cut: isCut, data, next },
  }
}

/** Keeps the work of a tool among those that run until it has ended, also after the client has its result. */
function tracked<T>({ running }: Session, work: Promise<T>): Promise<T> {
  const forget = () => void running.delete(work)
  running.add(work)
  work.then(forget, forget)
  return work
}

const PROGRESS_MS = 1_000

/** Reports each second of a long call, if the client wants to know. Returns a function that ends the reports. */
function reportProgress({ _meta, notify }: Request, { name, msMax }: Tool): () => void {
  const { progressToken } = _meta ?? {}
  if (progressToken === undefined) return () => {}
  let progress = 0
  const report = () => {
    progress += 1
    const params = { progressToken, progress, total: msMax / 1000, message: `${name} runs for ${progress} s` }
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  const timer = setInterval(report, PROGRESS_MS)
  return () => clearInterval(timer)
}

const START = 'Start one: `voucherctl server start --detach`, or for this session `voucherctl mcp serve --seed FILE`.'

/** Failures that say that no server runs. */
const withoutServer = ['BASE_URL_REQUIRED', 'LOCAL_SERVER_NOT_RUNNING', 'NETWORK_ERROR']

async function failed({ context }: Session, failure: Failure, source: string | undefined): Promise<CallToolResult> {
  const advised = await withLocalAdvice(context, failure)
  const hint = withoutServer.includes(failure.code) ? [advised.hint ?? [], START].flat().join(' ') : advised.hint
  const shown = scrubAll(context.host, { ...advised, hint }) as Failure
  return { isError: true, content: [{ type: 'text', text: failureText(shown, source, context.host) }] }
}
