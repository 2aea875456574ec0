import { initLeaf } from '../../command/new-file.js'
import { suggested } from '../../failures/failure.js'

const example = `name: A voucher cannot be redeemed after its days
server: { auto_approve: true }
steps:
  - call: apps.create
    with: { name: Coffee shop }
    capture: { app: .id }
  - call: tokens.create
    with:
      appId: \${app}
      name: scenario
      scopes: ["vouchers:templates:write", "vouchers:issue", "vouchers:verify", "vouchers:redeem"]
    capture: { token: .token }
    use: { token: "\${token}" }
  - call: templates.create
    with:
      external_template_id: coffee-\${run}
      name: One free coffee
      type: gift
      issuer_name: Coffee shop
      fulfiller_name: Coffee shop
      fulfillment_category: offline_service
      acquisition_source: free_claim
      validity: { type: relative, duration_days: 30 }
      issue_limit: 10
    capture: { template: .id }
  - call: templates.submit
    with: { templateId: "\${template}" }
  - call: vouchers.issue
    with: { template_id: "\${template}", external_issue_id: "order-\${run}", recipient_user_id: user-1 }
    expect: { status: 201, data: { status: issued } }
    capture:
      code: .credentials[] | select(.type == "redeem_code").value
  - advance: 31d
  - call: vouchers.redeem
    with: { credential: { type: redeem_code, value: "\${code}" } }
    expect: { status: 409, code: VOUCHER_EXPIRED }
`

export const init = initLeaf({
  schema: 'scenario',
  what: 'a scenario file',
  defaultFile: 'scenario.yaml',
  example,
  examples: ['voucherctl scenario init', 'voucherctl scenario init scenarios/expiry.yaml'],
  next: (file) => suggested`scenario run ${file}`,
})
