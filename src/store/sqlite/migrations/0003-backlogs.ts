/** Markers of changes to pending updates that are too many for one transaction (store/backlog.ts). */
export const backlogs = `
alter table update_queues add column confirmed_to integer;
alter table update_queues add column dropped_to integer;
alter table update_queues add column switched_to integer;
create index update_queues_unsettled on update_queues (bot_id)
  where coalesce(confirmed_to, switched_to) is not null;
create index deliveries_by_hand on deliveries (bot_id) where resume_status is not null;
`
