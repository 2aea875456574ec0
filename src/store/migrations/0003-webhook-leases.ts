import type { Dialect } from './0001-initial.js'

/**
 * A webhook that a listener borrows (rules/webhooks.md#borrowed-webhooks). `lease` is JSON with the lease id, its
 * holder and the settings of the owner; `lease_until` is system time.
 */
export const webhookLeases = ({ int64 }: Dialect): string => `
alter table webhooks add column lease text;
alter table webhooks add column lease_until ${int64};
create index webhooks_leased on webhooks (lease_until) where lease_until is not null;
`
