import { leaf } from '../../command/leaf.js'
import { tools } from '../../mcp/tools.js'
import type { Outcome } from '../../output/outcome.js'

export const list = leaf({
  name: 'tools',
  summary: 'List the tools that `mcp serve` offers',
  examples: [{ command: 'voucherctl mcp tools' }, { command: 'voucherctl mcp tools --json', comment: 'With schemas' }],
  view: { members: ['name', 'effect', 'title'] },
  run: async (): Promise<Outcome<unknown>> => {
    const items = tools.map(({ name, title, effect, isIdempotent, description, input, output }) => {
      return { name, title, effect, idempotent: isIdempotent, description, input, output }
    })
    return { ok: true, data: { items } }
  },
})
