import type { MakeHandlers } from '../handler.js'
import { notYet } from './not-yet.js'

type Console =
  | 'apply'
  | 'list'
  | 'get'
  | 'update'
  | 'regenerateToken'
  | 'metrics'
  | 'templates'
  | 'createTemplate'
  | 'submitTemplate'

/** What the owner of a bot does in the console (interface.md, D). */
export const botConsoleHandlers: (
  deps: Parameters<MakeHandlers<'bots'>>[0],
) => Pick<ReturnType<MakeHandlers<'bots'>>, Console> = () => ({
  apply: notYet,
  list: notYet,
  get: notYet,
  update: notYet,
  regenerateToken: notYet,
  metrics: notYet,
  templates: notYet,
  createTemplate: notYet,
  submitTemplate: notYet,
})
