import { type IdPrefix, newId } from '../domain/ids.js'
import { BotCalls } from './background/bot-calls.js'
import { TokenUses } from './background/token-uses.js'
import { AttemptLog } from './delivery/attempt-log.js'
import type { Deps } from './deps.js'
import { Faults } from './faults.js'
import { Gate } from './gate.js'
import { Activity } from './observe/activity.js'
import { RequestLog } from './observe/request-log.js'
import { Polls } from './polls.js'

type Derived =
  | 'newId'
  | 'faults'
  | 'requestLog'
  | 'activity'
  | 'tokenUses'
  | 'botCalls'
  | 'polls'
  | 'attempts'
  | 'gate'
  | 'instanceId'

/** Creates the dependencies that follow from others, except those that are given. */
export function createDeps(
  given: Omit<Deps, Derived | 'snapshots'> & Partial<Pick<Deps, Derived>>,
): Omit<Deps, 'snapshots'> {
  const { store, clock, random, newId: newIdOf = (prefix: IdPrefix) => newId(prefix, clock.now(), random) } = given
  return {
    newId: newIdOf,
    faults: new Faults({ newId: newIdOf, random }),
    requestLog: given.requestLog ?? new RequestLog(clock.now()),
    activity: new Activity({ now: () => clock.now() }),
    tokenUses: new TokenUses(store),
    botCalls: new BotCalls(store),
    polls: new Polls({ across: store.name === 'postgres' }),
    attempts: new AttemptLog(),
    gate: new Gate(),
    instanceId: given.instanceId ?? Buffer.from(random(16)).toString('hex'),
    ...given,
  }
}
