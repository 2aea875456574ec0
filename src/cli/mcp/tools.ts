import type { Tool as ListedTool } from '@modelcontextprotocol/server'
import { platformActing } from '../../contract/platform/acting.js'
import { platformControls as controls } from '../../contract/platform/controls.js'
import { type ReadSchema, type Schema, Type } from '../../contract/schema.js'
import { callEndpoint, changeFaults, plantSeed, runScenario, testRules, triggerUpdate } from './act.js'
import { explainDelivery, replayDelivery } from './delivery-tools.js'
import { describeEndpoint, explainCode, explainRefusal, readRule } from './explain.js'
import { readActivity, readState, readVoucher } from './observe.js'
import { proveProgram } from './prove-tool.js'
import { endpointTool, suggest, type Tool } from './tool.js'

/** Every tool (rules/cli.md#tools-for-models). Few and broad: a model reads all of them at the start of a session. */
export const tools: readonly Tool[] = [
  readState,
  endpointTool(platformActing.find, {
    name: 'find',
    title: 'Find records',
    description:
      'Use it when you have a code, an id, an own id, a user, a username or the start of a name, and need the record. Returns kind, id and name of at most 20 records.',
  }),
  describeEndpoint,
  callEndpoint,
  readVoucher,
  readActivity,
  explainRefusal,
  explainCode,
  explainDelivery,
  replayDelivery,
  triggerUpdate,
  changeFaults,
  endpointTool(controls.forecast, {
    name: 'clock_forecast',
    title: 'Forecast of the test clock',
    description:
      'Use it before clock_advance. Returns what would happen: deliveries due, vouchers and tokens that expire.',
  }),
  endpointTool(controls.advanceClock, {
    name: 'clock_advance',
    title: 'Advance the test clock',
    description:
      'Moves the test clock of the server forward, never back. Returns the new time. snapshot_restore returns to an earlier time.',
    effect: 'changes',
    next: suggest('activity', { only: 'deliveries', wait_seconds: 5 }, 'deliveries that fell due'),
  }),
  plantSeed,
  endpointTool(controls.saveSnapshot, {
    name: 'snapshot_save',
    title: 'Save a snapshot',
    description:
      'Saves the state of the server under a name, before an experiment. Replaces a snapshot of the same name.',
    effect: 'changes',
    isIdempotent: true,
  }),
  endpointTool(controls.restoreSnapshot, {
    name: 'snapshot_restore',
    title: 'Restore a snapshot',
    description: 'Returns the server to a snapshot: what happened since is lost.',
    effect: 'replaces',
    isIdempotent: true,
  }),
  runScenario,
  testRules,
  proveProgram,
  readRule,
]

/**
 * The tool as a client lists it. A model reads the list at the start of a session, so the schema of the output only
 * outlines `data`; its results are checked against the whole schema.
 */
export function listed({ name, title, description, input, output, effect, isIdempotent }: Tool): ListedTool {
  const annotations = {
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'replaces' || effect === 'either',
    idempotentHint: isIdempotent,
    openWorldHint: false,
  }
  const schemas = { inputSchema: input, outputSchema: Type.Object({ data: outline(output) }) }
  return { name, title, description, annotations, ...(schemas as object as Pick<ListedTool, 'inputSchema'>) }
}

/** Names the members of a schema of an object, with their types and descriptions. */
function outline(schema: Schema): Schema {
  const { properties = {} } = schema as ReadSchema
  const members = Object.entries(properties).map(([name, { type, description }]) => [name, { type, description }])
  return Type.Unsafe({ type: 'object', properties: Object.fromEntries(members) })
}
