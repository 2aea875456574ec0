import { application } from '../apps.js'
import { bot, botDetail, botMetrics, deliveredVoucher } from '../bots.js'
import { chat, message, transcriptMessage } from '../chats.js'
import { type FailureCode, failures } from '../errors.js'
import { requestId as idOfRequest } from '../fields.js'
import { activityLine, requestLogEntry } from '../platform/activity.js'
import { fault, forecast, snapshot } from '../platform/controls.js'
import { listedApplication, listedBot, listedTemplate, review, secureKey, shownBot } from '../platform/platform.js'
import { voucherEvent, voucherHistory } from '../platform/voucher-history.js'
import { exampleOf, type Schema } from '../schema.js'
import { template, validity } from '../templates.js'
import { createdToken, token } from '../tokens.js'
import { updateExample, updateSchema } from '../update-payloads.js'
import { type UpdateType, update, updateTypes } from '../updates.js'
import { credential, issuedVoucher, redemption, verification, voucher } from '../vouchers.js'
import { delivery, deliveryMode, webhookInfo } from '../webhook.js'
import type { Json, JsonObject } from './examples.js'

/** Records that the OpenAPI document defines once and refers to by name. */
const records: Readonly<Record<string, Schema>> = {
  Application: application,
  Token: token,
  CreatedToken: createdToken,
  Template: template,
  Validity: validity,
  Credential: credential,
  Voucher: voucher,
  IssuedVoucher: issuedVoucher,
  Verification: verification,
  Redemption: redemption,
  Bot: bot,
  BotDetail: botDetail,
  BotMetrics: botMetrics,
  DeliveredVoucher: deliveredVoucher,
  Chat: chat,
  Message: message,
  TranscriptMessage: transcriptMessage,
  Update: update,
  DeliveryMode: deliveryMode,
  WebhookInfo: webhookInfo,
  Delivery: delivery,
  Review: review,
  SecureKey: secureKey,
  Snapshot: snapshot,
  Fault: fault,
  Forecast: forecast,
  ListedTemplate: listedTemplate,
  ListedApplication: listedApplication,
  ListedBot: listedBot,
  ShownBot: shownBot,
  RequestLogEntry: requestLogEntry,
  ActivityLine: activityLine,
  VoucherEvent: voucherEvent,
  VoucherHistory: voucherHistory,
}
const names = new Map<unknown, string>(Object.entries(records).map(([name, schema]) => [schema, name]))

/** Returns the name of a record in the OpenAPI document; undefined for a schema that is not a record. */
export const nameOf = (schema: unknown) => names.get(schema)

const refTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })

/**
 * Converts a schema of the contract to JSON Schema 2020-12: named records become references, `x-expected` the
 * description, `x-secret` the format `password`, and `x-openapi` the constraints that the server checks outside of the
 * schema.
 */
export function schemaOf(schema: unknown): Json {
  const name = nameOf(schema)
  return name === undefined ? inlineSchemaOf(schema) : refTo(name)
}

function inlineSchemaOf(schema: unknown): Json {
  if (Array.isArray(schema)) return schema.map(schemaOf)
  if (typeof schema !== 'object' || schema === null) return schema as Json
  const members = Object.entries(schema).map(([name, value]) => [name, schemaOf(value)] as const)
  const {
    'x-expected': expected,
    'x-openapi': more,
    'x-secret': isSecret,
    'x-unique': _unique,
    ...rest
  } = Object.fromEntries(members)
  const described = expected === undefined ? {} : { description: expected }
  return { ...described, ...rest, ...(isSecret ? { format: 'password' } : {}), ...(more as JsonObject) }
}

const PascalCase = (text: string) => text.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
const updateName = (type: UpdateType) => `${PascalCase(type)}Update`

/** Text that explains how to verify the signature of a delivery without this package. */
const SIGNATURE = [
  'HMAC-SHA256 as 64 lower-case hex digits. The key is the bytes of the secret as it was set, without decoding.',
  'The message is the value of X-Platform-Timestamp, a dot, and the raw bytes of the body.',
  'While a replaced secret is in its grace period there are two, of the new secret and of the old one, joined by a comma.',
  'Compare in constant time, before the body is parsed.',
].join(' ')

const requestId = exampleOf(idOfRequest)

/** Returns `webhooks` of the OpenAPI document: the request that the server sends to a bot's URL, by update type. */
export function webhookOperations(): JsonObject {
  const header = (name: string, description: string, schema: JsonObject, example: string) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string', ...schema },
    example,
  })
  const parameters = [
    header(
      'X-Platform-Signature-V2',
      SIGNATURE,
      { pattern: '^[0-9a-f]{64}(,[0-9a-f]{64})?$' },
      '5d41402abc4b2a76b9719d911017c592ae2b7a1f0c3e4d5f60718293a4b5c6d7',
    ),
    header(
      'X-Platform-Timestamp',
      'Unix seconds of this attempt. Refuse one that is more than 300 s in the past or in the future.',
      { pattern: '^[0-9]+$' },
      '1795255200',
    ),
    header(
      'X-Platform-Update-Id',
      'The update_id of the body; a retry has the same one. It is not signed: compare it with the body.',
      { pattern: '^[0-9]+$' },
      '17',
    ),
  ]
  const operation = (type: UpdateType): JsonObject => ({
    operationId: `update.${type}`,
    summary: `A ${type} update is delivered`,
    description:
      'A 2xx status within 15 s accepts the delivery. Otherwise the server retries after 1, 5, 15 and 60 minutes.',
    tags: ['webhook'],
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: refTo(updateName(type)), example: updateExample(type) as JsonObject } },
    },
    responses: {
      '2XX': { description: 'Accepted' },
      '4XX': { description: 'Rejected, with 401 for an invalid signature; the server retries the delivery' },
    },
  })
  return Object.fromEntries(updateTypes.map((type) => [type, { post: operation(type) }]))
}

/** Returns `components.schemas` of the OpenAPI document: the records, the envelopes and the failure table. */
export function componentSchemas(): JsonObject {
  const requestIdSchema: JsonObject = { type: 'string', description: 'also in the header X-Request-Id' }
  return {
    ...Object.fromEntries(Object.entries(records).map(([name, schema]) => [name, inlineSchemaOf(schema)])),
    ...Object.fromEntries(updateTypes.map((type) => [updateName(type), inlineSchemaOf(updateSchema(type))])),
    Update: { oneOf: updateTypes.map((type) => refTo(updateName(type))) },
    FailureCode: {
      type: 'string',
      enum: Object.keys(failures),
      description: Object.entries(failures)
        .map(([code, { status, message, fix }]) => `- \`${code}\` (${status}): ${message} ${fix}`)
        .join('\n'),
    },
    Failure: {
      type: 'object',
      required: ['success', 'code', 'message', 'retryable', 'requestId'],
      properties: {
        success: { const: false },
        code: refTo('FailureCode'),
        message: { type: 'string' },
        retryable: { type: 'boolean', description: 'whether a retry of the unchanged call may succeed' },
        details: { type: 'object', description: 'data specific to the code; VALIDATION_FAILED lists `errors`' },
        requestId: requestIdSchema,
      },
    },
    RequestId: requestIdSchema,
  }
}

/** Returns the schema of a success body. @param data schema of the member `data` */
export function successEnvelope(data: Json): JsonObject {
  return {
    type: 'object',
    required: ['success', 'data', 'requestId'],
    properties: { success: { const: true }, data, requestId: refTo('RequestId') },
  }
}

export const successExample = (data: Json): JsonObject => ({ success: true, data, requestId })

/** Returns the schema of a failure body with the given codes. */
export function failureEnvelope(codes: readonly FailureCode[]): JsonObject {
  return { allOf: [refTo('Failure'), { type: 'object', properties: { code: { enum: codes } } }] }
}

/** Returns `components.examples` of the OpenAPI document: an example of each failure, by code. */
export function componentExamples(): JsonObject {
  return Object.fromEntries(
    Object.entries(failures).map(([code, { message, retryable }]) => [
      code,
      { value: { success: false, code, message, retryable, requestId } },
    ]),
  )
}

/** Returns the examples of a failure response, as references to `components.examples`. */
export function failureExamples(codes: readonly FailureCode[]): JsonObject {
  return Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
}
