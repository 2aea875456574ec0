import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../../support/cli/cli.js'
import { leafCalls } from '../../../support/cli/samples.js'

test.each(['list', 'save seeded', 'restore seeded', 'remove seeded'])(
  'platform snapshots %s -q prints only the name',
  async (args) => {
    const { baseUrl } = await stub(({ method }) =>
      success(leafCalls[`platform snapshots ${method === 'GET' ? 'list' : 'save'}`]?.data),
    )
    const ran = await cli(`platform snapshots ${args} -q --yes --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stdout]).toEqual([0, 'seeded\n'])
  },
)
