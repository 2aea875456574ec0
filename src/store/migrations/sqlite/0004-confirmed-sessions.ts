/** A step of PostgreSQL alone, in its place so that versions agree: sessions of SQLite are kept in memory. */
export const confirmedSessions = 'select 1;'
