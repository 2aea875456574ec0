export const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }

const scenario = 'name: x\nsteps:\n  - name: clock\n    call: platform.getClock\n'

/** Input of each tool with which it succeeds, in this order, on a server with the seed. */
export const toolSuccesses: readonly (readonly [tool: string, input: Record<string, unknown>])[] = [
  ['server_state', {}],
  ['find', { text: 'Coffee' }],
  ['describe_endpoint', { endpoint: 'vouchers.redeem' }],
  ['snapshot_save', { name: 'before' }],
  ['call', { endpoint: 'vouchers.issue', application_id: 'app_coffee', input: order }],
  ['activity', { bodies: true }],
  ['explain_code', { code: 'voucher_expired' }],
  ['trigger_update', { bot_id: 'bot_coffee', type: 'ping' }],
  ['faults', { action: 'add', fault: { endpoint: 'vouchers.redeem', kind: 'status', status: 503, times: 1 } }],
  ['faults', { action: 'clear' }],
  ['clock_forecast', { seconds: 3600 }],
  ['clock_advance', { seconds: 3600 }],
  ['snapshot_restore', { name: 'before' }],
  ['run_scenario', { yaml: scenario }],
  ['conform', { group: 'lists' }],
  ['rule', { anchor: 'retry-schedule' }],
]
