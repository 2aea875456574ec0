/** For the operator's list of the bots of all accounts. */
export const botsByAge = 'create index bots_by_age on bots (created_at, id);'
