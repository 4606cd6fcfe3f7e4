import type { Incident } from '../../model/control.ts'
import { acknowledgeIncident, findIncidents, listIncidents } from '../../store/control/incidents.ts'
import { ruleOfOwn, ruleOfShared } from '../../store/limits/limit-states.ts'
import { printable } from '../../text/printable.ts'
import { relative } from '../../text/quantities.ts'
import { invocation } from '../environment.ts'
import { type OutputOptions, recordText, table } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { pastTarget } from '../queue/past-target.ts'
import { UsageError } from '../usage-error.ts'
import { cliActor } from './current-user.ts'

/** Lists the open incidents, the oldest first. */
export async function showIncidents(
  options: QueueOptions & OutputOptions & { rule?: string },
): Promise<number> {
  await using queue = await openQueue(options)
  const { items, isComplete } = await listIncidents(queue.redis, queue.keys)
  const shown = items.filter(({ rule }) => rule === (options.rule ?? rule))
  const { output } = options
  process.stdout.write(
    output === 'table' ? asTable(shown) : shown.map((it) => recordText(it, output)).join(''),
  )
  if (!isComplete) note('note: there are more states of limits than were read\n')
  return 0
}

function asTable(incidents: readonly Incident[]): string {
  if (incidents.length === 0) return 'no open incidents\n'
  const nowMs = Date.now()
  const rows = incidents.map(({ rule, object = '-', sinceMs, notifications, acknowledged, key }) => [
    rule,
    object,
    relative(sinceMs, nowMs),
    String(notifications),
    acknowledged ? `by ${acknowledged.by}${acknowledged.reason ? `: ${acknowledged.reason}` : ''}` : '-',
    key,
  ])
  return table([['RULE', 'OBJECT', 'SINCE', 'NOTIFICATIONS', 'ACKNOWLEDGED', 'ID'], ...rows])
}

interface AcknowledgeOptions extends QueueOptions {
  rule?: string
  by?: string
  reason?: string
}

const MAX_REASON = 500

/** Acknowledges an incident by its id, or the one of an object by a rule. */
export async function acknowledge(incident: string, options: AcknowledgeOptions): Promise<number> {
  const { rule, reason } = options
  const by = cliActor(options.by)
  if (reason !== undefined && reason.length > MAX_REASON)
    throw new UsageError(`--reason takes up to ${MAX_REASON} characters`)
  const target = rule === undefined ? undefined : pastTarget(incident)
  await using queue = await openQueue(options)
  const { redis, keys } = queue
  const chosen =
    rule === undefined || !target
      ? await withId(queue, incident)
      : await findIncidents(redis, keys, { rule, isAbout: target.isObject })
  const now = { by, atMs: Date.now(), ...(reason !== undefined && { reason }) }
  let isDone = false
  for (const it of chosen) {
    if (!(await acknowledgeIncident(redis, keys, it, now))) continue
    isDone = true
    process.stdout.write(
      printable(
        `acknowledged ${it.rule} of ${it.object ?? it.key} by ${by}: it sends nothing more until it ends`,
      ) + '\n',
    )
  }
  if (isDone) return 0
  const what = rule === undefined ? `with the id ${incident}` : `of ${rule} for ${incident}`
  throw new UsageError(
    printable(`there is no open incident ${what}; "${invocation(process.env)} incidents list" shows them`),
  )
}

/** Returns the incident with an id; without the name of its object if the list is not complete. */
async function withId(
  { redis, keys }: OpenQueue,
  key: string,
): Promise<Pick<Incident, 'rule' | 'key' | 'object'>[]> {
  const { items, isComplete } = await listIncidents(redis, keys)
  const listed = items.filter((it) => it.key === key)
  if (listed.length > 0 || isComplete) return listed
  return [ruleOfShared(key), ruleOfOwn(key)].map((rule) => ({ rule, key }))
}
