import type { Workload } from '../workload.js'
import { inbox } from './inbox.js'
import { issueMany } from './issue-many.js'
import { move } from './move.js'
import { profile } from './profile.js'
import { server } from './server.js'
import { snapshots } from './snapshots.js'

export const workloads: readonly Workload[] = [server, issueMany, inbox, profile, move, snapshots]
