// A program of four calls for P19, which continues after each failure, so that every disturbed run is as long as another.
import process from 'node:process'

const { VOUCHERCTL_BASE_URL: base, VOUCHERCTL_TOKEN: token, VOUCHERCTL_CODE: code } = process.env
const vouchers = `${base}/api/v1/open-platform/vouchers`
const credential = { type: 'redeem_code', value: code }

async function call(path, body, key) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key }
  const method = body === undefined ? 'GET' : 'POST'
  const response = await fetch(`${vouchers}/${path}`, { method, headers, body: body && JSON.stringify(body) })
  return response.json()
}

const failed = () => undefined
await call('verify', { credential }, 'verify').catch(failed)
const redeemed = await call('redeem', { credential, reference: 'order-1' }, 'redeem').catch(failed)
await call(`redemptions/${redeemed?.data?.id}`, undefined, 'read').catch(failed)
await call(`redemptions/${redeemed?.data?.id}/reverse`, {}, 'reverse').catch(failed)
