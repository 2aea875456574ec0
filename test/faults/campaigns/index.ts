import type { Campaign } from '../campaign.js'
import { clockJumps } from './clock-jumps.js'
import { damagedFiles } from './damaged-files.js'
import { damagedSnapshots } from './damaged-snapshots.js'
import { databaseAway, pooledDatabaseAway } from './database-away.js'
import { droppedResponses } from './dropped-responses.js'
import { failingFsync } from './failing-fsync.js'
import { failover } from './failover.js'
import { fullDisk } from './full-disk.js'
import { kill } from './kill.js'
import { largeSnapshots } from './large-snapshots.js'
import { longLists } from './long-lists.js'
import { overload } from './overload.js'
import { pageOpen } from './page-open.js'
import { powerLoss } from './power-loss.js'
import { properties } from './properties.js'
import { races } from './races.js'
import { sigterm } from './sigterm.js'
import { slowClients } from './slow-clients.js'

/** Fault campaigns in execution order. */
export const campaigns: readonly Campaign[] = [
  kill,
  races,
  droppedResponses,
  databaseAway,
  pooledDatabaseAway,
  failover,
  fullDisk,
  failingFsync,
  damagedFiles,
  damagedSnapshots,
  largeSnapshots,
  powerLoss,
  clockJumps,
  sigterm,
  slowClients,
  overload,
  pageOpen,
  longLists,
  ...properties,
]
