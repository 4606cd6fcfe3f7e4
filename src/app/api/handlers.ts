import type { Redis } from 'ioredis'
import { journalExtent } from '../../store/commit/journal.ts'
import { titleIn } from '../../store/commit/stored-json.ts'
import { historyExtent } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'
import { readStatus } from '../../store/ledger.ts'
import { readHash } from '../../store/redis/scan.ts'
import { version } from '../../version.ts'
import { type ConfigInForce, configInForce } from './config-in-force.ts'
import { acknowledge, endSilence, incidentsOf, silenceOf, silencesOf } from './control.ts'
import { CHANGES, changeDeadLetters, deadLetterOf, deadLettersPage } from './dead-letters.ts'
import { eventStoryOf } from './event.ts'
import { historyPage } from './history.ts'
import { kept } from './kept.ts'
import { lanesOf } from './lanes.ts'
import { findObjects } from './objects.ts'
import { ApiError, type Handlers } from './routes.ts'
import { ledgerOf, rulesOf } from './rules.ts'
import { overviewOf, sinksOf, watchesOf } from './status.ts'
import { storyOf } from './story.ts'

interface HandlerParts extends ConfigInForce {
  redis(): Redis
  keys: Keys
  cluster: string
  salt: Buffer
}

const STATUS_MS = 1_000
const EVENT_MS = 2_000

/** Returns the functions behind the operations. State, silences and incidents, which pages poll, are read from Redis once a second. */
export function createHandlers(parts: HandlerParts): Handlers {
  const { keys, cluster, salt } = parts
  const redis = () => parts.redis()
  const queue = () => ({ redis: redis(), keys })
  const inForce = configInForce(parts)
  const config = () => parts.config()
  const report = kept(() => readStatus(redis(), keys, { verify: false, now: Date.now() }), {
    forMs: STATUS_MS,
  })
  const sources = kept(() => readHash(redis(), keys.sources), { forMs: STATUS_MS })
  const watches = async () => watchesOf(await report(), await sources())
  const sinks = async () => sinksOf(await report(), config().sinks)
  /** Changes of this process: what was read before one of them is not used after it. */
  let changes = 0
  const silencesAfter = kept((_changes: number) => silencesOf(queue()), { forMs: STATUS_MS, most: 1 })
  const silences = () => silencesAfter(changes)
  const incidentsAfter = kept((_changes: number) => incidentsOf(queue()), { forMs: STATUS_MS, most: 1 })
  const changed = async <T>(change: Promise<T>): Promise<T> => {
    try {
      return await change
    } finally {
      changes++
    }
  }
  const extents = kept(
    async () => {
      const [history, journal] = await Promise.all([
        historyExtent(redis(), keys),
        journalExtent(redis(), keys),
      ])
      return {
        ...(history.oldestMs !== undefined && { historyFromMs: history.oldestMs }),
        ...(journal.oldestMs !== undefined && { journalFromMs: journal.oldestMs }),
      }
    },
    { forMs: STATUS_MS },
  )
  const event = kept(
    async (id: string, namespaces: readonly string[] | undefined) => {
      const own = { ...queue(), cluster, salt, dryRun: inForce.dryRun }
      const story = await eventStoryOf(own, id, { namespaces }, AbortSignal.timeout(20_000))
      return inForce.hidden(story)
    },
    { forMs: EVENT_MS, most: 50 },
  )
  const historyFrom = async () => {
    const { historyFromMs } = await extents()
    return historyFromMs === undefined ? {} : { historyFromMs }
  }

  return {
    getAccess: async ({ caller: { name, role, namespaces } }) => ({
      name,
      role,
      cluster,
      version,
      ...(namespaces && { namespaces: [...namespaces] }),
      ...(await extents()),
    }),
    getOverview: async ({ caller: { role } }) =>
      overviewOf({
        report: await report(),
        watches: await watches(),
        sinks: await sinks(),
        cluster,
        version,
        access: role,
        silences: (await silences()).filter(({ state }) => state === 'active').length,
      }),
    listWatches: async () => ({ items: await watches() }),
    listSinks: async () => ({ items: await sinks() }),
    async listLanes({ params: { name = '' } }) {
      const isKnown = (await sinks()).some((sink) => sink.name === name)
      if (!isKnown) throw new ApiError(404, 'there is no such sink')
      return lanesOf(redis(), keys, name)
    },
    listRules: async () => ({ items: rulesOf(await report(), config(), inForce.hide()) }),
    async getLedger() {
      const stored = await sources()
      return ledgerOf(await report(), (key) => titleIn(stored.get(key) ?? '') ?? key)
    },
    async findObjects({ query: { q }, caller }) {
      const found = await findObjects(queue(), q, caller)
      const watched = caller.namespaces ? [] : (await watches()).map(({ title }) => title)
      return { ...found, ...(await historyFrom()), watched }
    },
    async getStory({ params: { kind = '', namespace, name = '' }, query, caller, signal }) {
      const object = { kind, name, ...(namespace !== '_' && { namespace }) }
      return { ...(await storyOf(queue(), object, query, caller, signal)), ...(await historyFrom()) }
    },
    getEvent: ({ params: { id = '' }, caller }) => event(id, caller.namespaces),
    listHistory: ({ query, caller, signal }) => historyPage(queue(), query, caller, signal),
    listDeadLetters: ({ query, caller }) => deadLettersPage(queue(), query, caller),
    getDeadLetter: ({ params: { id = '' }, caller }) => deadLetterOf(queue(), id, caller),
    retryDeadLetters: ({ body, caller }) => changeDeadLetters(queue(), body, CHANGES.retry, caller),
    dropDeadLetters: ({ body, caller }) => changeDeadLetters(queue(), body, CHANGES.drop, caller),
    listSilences: async () => ({ items: await silences() }),
    addSilence: ({ body, caller }) => changed(silenceOf(queue(), body, caller.name, config())),
    async expireSilence({ params: { id = '' } }) {
      await changed(endSilence(queue(), id))
      return {}
    },
    listIncidents: () => incidentsAfter(changes),
    acknowledgeIncident: ({ body, caller }) => changed(acknowledge(queue(), body, caller.name)),
  }
}
