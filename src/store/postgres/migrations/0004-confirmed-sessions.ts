/** Marks sessions in which a call has succeeded; they are evicted last. */
export const confirmedSessions = `
alter table secure_sessions add column confirmed integer not null default 0 check (confirmed in (0, 1));
`
