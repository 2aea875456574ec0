import type { BotScope } from '../../contract/endpoint.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import type { Template } from '../../contract/templates.js'
import { refuseTemplateCall } from '../../domain/bot/bot.js'
import type { BotRow } from '../../domain/bot/rows.js'
import type { TemplateDraft } from '../../domain/template.js'
import type { Page } from '../list-page.js'
import type { Op } from '../operation.js'
import * as templates from '../templates.js'
import { owned } from './bots.js'

/**
 * Template calls of a bot in the console (rules/vouchers.md#bot-side-templates). They use the templates of the linked
 * application, or the bot's own templates if the bot is not linked.
 */
type TemplateCallRefusal = Refusal<'BOT_NOT_FOUND' | 'BOT_NOT_APPROVED' | 'BOT_DISABLED' | 'INSUFFICIENT_SCOPE'>

function* permittedBot(accountId: string, botId: string, scope: BotScope): Op<BotRow | TemplateCallRefusal> {
  const row = yield* owned(accountId, botId)
  return row === undefined ? refuse('BOT_NOT_FOUND') : (refuseTemplateCall(row, scope) ?? row)
}

function ownerOf({ id, application_id }: BotRow): templates.TemplateOwner {
  return application_id === null ? { botId: id } : { applicationId: application_id }
}

export function* list(
  accountId: string,
  botId: string,
  filter: templates.TemplateFilter,
): Op<Page<Template> | TemplateCallRefusal> {
  const bot = yield* permittedBot(accountId, botId, 'vouchers:read')
  return 'ok' in bot ? bot : yield* templates.list(ownerOf(bot), filter)
}

export function* create(
  accountId: string,
  botId: string,
  draft: TemplateDraft,
): Op<Template | TemplateCallRefusal | Refusal<'EXTERNAL_TEMPLATE_ID_EXISTS'>> {
  const bot = yield* permittedBot(accountId, botId, 'vouchers:templates:write')
  if ('ok' in bot) return bot
  const owner = { application_id: bot.application_id ?? '', account_id: accountId, bot_id: botId }
  return yield* templates.create({ ...owner, ...draft })
}

export function* submit(
  accountId: string,
  botId: string,
  templateId: string,
  now: number,
  autoApprove: boolean,
): Op<
  | Template
  | TemplateCallRefusal
  | Refusal<'TEMPLATE_NOT_FOUND' | 'TEMPLATE_STATE_CONFLICT' | 'EXTERNAL_TEMPLATE_ID_EXISTS'>
> {
  const bot = yield* permittedBot(accountId, botId, 'vouchers:templates:write')
  return 'ok' in bot ? bot : yield* templates.submit(ownerOf(bot), templateId, now, autoApprove)
}
