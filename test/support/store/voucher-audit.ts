import { DAY, type VoucherModel } from './voucher-model.js'
import { Command, expectCounts, make, type Real } from './voucher-steps.js'

/** At the end of a run, reads every voucher and redemption, repeats every write and compares with the model. */
export async function audit(model: VoucherModel, real: Real): Promise<void> {
  await expectCounts(model, real)
  if (model.isTokenRevoked) await new Command({ do: 'token' }).run(model, real)
  if (model.isApplicationDisabled) await new Command({ do: 'application' }).run(model, real)
  await verifyAll(model, real)
  for (const redemption of model.redemptions.keys()) {
    await new Command({ do: 'read', redemption, way: 'plain' }).run(model, real)
  }
  for (const { call, key } of real.history) await make(call, key, 'plain', model, real)
  await verifyAtExpiry(model, real)
  await new Command({ do: 'advance', ms: 400 * DAY }).run(model, real)
  await verifyAll(model, real)
  await expectCounts(model, real)
}

/** Verifies every voucher in its last valid ms and the next one, times that random sequences rarely reach. */
async function verifyAtExpiry(model: VoucherModel, real: Real): Promise<void> {
  const byEnd = [...model.vouchers.entries()].sort(([, a], [, b]) => a.until - b.until)
  for (const [voucher, { until }] of byEnd) {
    for (const at of [until - 1, until]) {
      if (at < model.now) continue
      await new Command({ do: 'advance', ms: at - model.now }).run(model, real)
      await verify(voucher, model, real)
    }
  }
}

async function verifyAll(model: VoucherModel, real: Real): Promise<void> {
  for (const voucher of model.vouchers.keys()) await verify(voucher, model, real)
}

function verify(voucher: number, model: VoucherModel, real: Real): Promise<void> {
  const type = voucher % 2 === 0 ? 'redeem_code' : 'qr_token'
  return new Command({ do: 'verify', voucher, type, to: undefined, way: 'plain' }).run(model, real)
}
