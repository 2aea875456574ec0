import { shellWord } from '../../../contract/values/shell-word.js'
import { commandLine, type PlannedCall } from './planned-call.js'

const API = '/_platform/v1'

export const showCredentials = (voucherId: string): PlannedCall => ({
  endpoint: 'platform.showCredentials',
  method: 'POST',
  route: `${API}/vouchers/:voucherId/credentials`,
  params: { voucherId },
  status: 200,
})

export const setClock = (now: string): PlannedCall => ({
  endpoint: 'platform.setClock',
  method: 'PUT',
  route: `${API}/clock`,
  params: {},
  body: { now },
  status: 200,
  command: commandLine(`platform clock set ${now}`),
})

export const plantExample = (): PlannedCall => ({
  endpoint: 'platform.seedStore',
  method: 'POST',
  route: `${API}/seed`,
  params: {},
  body: {},
  status: 200,
})

export type Kind = 'template' | 'bot'

const endpoints = {
  template: ['approveTemplate', 'rejectTemplate', 'templateId'],
  bot: ['approveBot', 'rejectBot', 'botId'],
} as const

export function approve(kind: Kind, id: string): PlannedCall {
  const [endpoint, , name] = endpoints[kind]
  return {
    endpoint: `platform.${endpoint}`,
    method: 'POST',
    route: `${API}/${kind}s/:${name}/approve`,
    params: { [name]: id },
    status: 200,
    command: commandLine(`platform ${kind}s approve ${shellWord(id)}`),
  }
}

/** @param body code and reason of a template, or the note on a bot */
export function reject(kind: Kind, id: string, body: Readonly<Record<string, string>>): PlannedCall {
  const [, endpoint, name] = endpoints[kind]
  return {
    endpoint: `platform.${endpoint}`,
    method: 'POST',
    route: `${API}/${kind}s/:${name}/reject`,
    params: { [name]: id },
    body,
    status: 200,
    command: commandLine(`platform ${kind}s reject ${shellWord(id)}`, body),
  }
}
