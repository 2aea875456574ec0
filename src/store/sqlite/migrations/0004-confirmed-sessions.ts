/** Changes nothing: only PostgreSQL stores sessions. It keeps the version numbers of both engines equal. */
export const confirmedSessions = 'select 1;'
