import type { Delivery, Digest, Resolved } from '../../model/delivery.ts'
import { DEAD_REASONS } from '../../store/lanes/ack-script.ts'
import { dropDeadLetters, retryDeadLetters } from '../../store/lanes/dead-letter-actions.ts'
import {
  type DeadLetterFilter,
  type DeadLetterGroup,
  deadLettersByAge,
  findDeadLetter,
  groupDeadLetters,
  listDeadLetters,
  type StoredDeadLetter,
} from '../../store/lanes/dead-letters.ts'
import { readLedger } from '../../store/ledger.ts'
import { objectTitle } from '../../text/object-title.ts'
import { printableJson } from '../../text/printable.ts'
import { counted, relative } from '../../text/quantities.ts'
import { invocation } from '../environment.ts'
import { dataText, type OutputOptions, recordText, table } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { requireKnown, UsageError } from '../usage-error.ts'
import { type OpenQueue, openQueue, type QueueOptions } from './open-queue.ts'

interface FilterOptions extends QueueOptions {
  sink?: string
  rule?: string
  reason?: string
}

interface ListOptions extends FilterOptions, OutputOptions {
  limit: number
  group?: boolean
}

/** Newest first. */
export async function list(options: ListOptions): Promise<number> {
  await using queue = await openQueue(options)
  const filter = await filterOf(queue, options)
  if (options.group) return await listGroups(queue, filter, options)
  const { output } = options
  // Not the letters: their objects may be of megabytes.
  const rows: string[][] = []
  const records: string[] = []
  let more = 0
  for await (const letter of listDeadLetters(queue.redis, queue.keys, filter)) {
    if (rows.length + records.length === options.limit) more++
    else if (output === 'table') rows.push(rowOf(letter))
    else records.push(recordText(summaryOf(letter), output))
  }
  process.stdout.write(output === 'table' ? asTable(rows, more) : records.join(''))
  if (output !== 'table' && more > 0) note(`note: there are ${more} older ones (--limit)\n`)
  return 0
}

function rowOf(it: StoredDeadLetter): string[] {
  const { id, atMs, sink, rule, reason, detail } = it
  return [id, relative(atMs, Date.now()), sink, rule || '-', describeObject(it), reason, detail.slice(0, 80)]
}

function asTable(rows: readonly string[][], more: number): string {
  if (rows.length === 0) return 'no dead letters\n'
  const hint = more > 0 ? `and ${more} older ones (--limit)\n` : ''
  return table([['ID', 'WHEN', 'SINK', 'RULE', 'OBJECT', 'REASON', 'DETAIL'], ...rows]) + hint
}

/** Prints how many there are of each sink and reason. */
async function listGroups(
  { redis, keys }: OpenQueue,
  filter: DeadLetterFilter,
  { output }: OutputOptions,
): Promise<number> {
  const groups = await groupDeadLetters(redis, keys, filter)
  process.stdout.write(
    output === 'table' ? asGroups(groups) : groups.map((it) => recordText(groupData(it), output)).join(''),
  )
  return 0
}

function asGroups(groups: readonly DeadLetterGroup[]): string {
  if (groups.length === 0) return 'no dead letters\n'
  const ago = (ms: number) => relative(ms, Date.now())
  const rows = groups.map(({ sink, reason, count, oldestMs, newestMs, detail }) => [
    ...[sink, reason, String(count), ago(oldestMs), ago(newestMs), detail.slice(0, 80)],
  ])
  return table([['SINK', 'REASON', 'COUNT', 'OLDEST', 'NEWEST', 'DETAIL OF THE NEWEST'], ...rows])
}

function groupData({ oldestMs, newestMs, detail, ...group }: DeadLetterGroup) {
  const timeOf = (ms: number) => new Date(ms).toISOString()
  return { ...group, oldest: timeOf(oldestMs), newest: timeOf(newestMs), detail }
}

/** Prints one with all details. */
export async function show(id: string, options: QueueOptions & OutputOptions): Promise<number> {
  await using queue = await openQueue(options)
  const letter = await find(queue, id)
  if (!letter.delivery) return showUnreadable(letter, options)
  const object = objectIn(letter.delivery)
  const { event, notice, suppressed, logs, truncated } = letter.delivery
  if (options.output !== 'table') {
    const all = { ...summaryOf(letter), event, notice, suppressed, logs, truncated, object }
    process.stdout.write(dataText(all, options.output))
    return 0
  }
  const { sink, rule, reason, detail, atMs } = letter
  const rows = [
    ['id', id],
    ['sink', sink],
    ['rule', rule],
    ['given up', new Date(atMs).toISOString()],
    ['reason', reason],
    ['detail', detail],
    ['event', event.id],
    ['object', event.path],
    ...(notice ? [['notice', describeNotice(notice)]] : []),
    ...(suppressed ? [['suppressed before', `${suppressed.count} since ${suppressed.since}`]] : []),
    ...(truncated ? [['truncated', 'the object waited for a limit, and lacks parts']] : []),
  ]
  const log = logs ? `${printableJson(logs, 2)}\n` : ''
  process.stdout.write(`${table(rows)}\n${printableJson(object, 2)}\n${log}`)
  return 0
}

/** The object, or its text where that is not JSON. */
function objectIn({ objectJson }: Delivery): unknown {
  const text = objectJson.toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Prints one that cannot be decoded: its metadata and bytes. */
function showUnreadable(letter: StoredDeadLetter, { output }: OutputOptions): number {
  const { id, sink, lane, reason, detail, atMs, count } = letter
  const payload = letter.payload.toString('base64')
  if (output !== 'table') {
    process.stdout.write(dataText({ ...summaryOf(letter), lane, payload }, output))
    return 0
  }
  const rows = [
    ['id', id],
    ['sink', sink],
    ['lane', lane],
    ['given up', new Date(atMs).toISOString()],
    ['reason', reason],
    ['detail', detail],
    ['deliveries', String(count)],
    ['bytes (base64)', payload],
  ]
  process.stdout.write(table(rows))
  return 0
}

/** Puts dead letters back into their lanes; a delivering process takes them within seconds. */
export async function retry(ids: readonly string[], options: Choice): Promise<number> {
  requireOneChoice('retry', ids, options)
  await using queue = await openQueue(options)
  const letters = chosen(queue, ids, options)
  const { count, sinks, refused } = await retryDeadLetters(queue.redis, queue.keys, letters)
  process.stdout.write(
    `${count} ${count === 1 ? 'dead letter goes on its' : 'dead letters go on their'} way again\n`,
  )
  for (const id of refused)
    process.stderr.write(`warning: dead letter ${id} does not name its lane: it can only be dropped\n`)
  const gone = new Set([...sinks].filter((name) => !queue.configuredSinks.includes(name)))
  if (queue.configuredSinks.length > 0 && gone.size > 0)
    process.stderr.write(
      `warning: the configuration has no sink ${[...gone].join(', ')} (any more): what goes there waits until it has\n`,
    )
  return 0
}

interface Choice extends FilterOptions {
  all?: boolean
}

function requireOneChoice(
  command: string,
  ids: readonly string[],
  { all, sink, rule, reason }: Choice,
): void {
  const filter = Object.entries({ sink, rule, reason }).find(([, value]) => value !== undefined)
  if (ids.length === 0 && !all && !filter)
    throw new UsageError(
      `name some: dead-letters ${command} ID…, or those of --sink, --reason and --rule, or --all`,
    )
  if (ids.length > 0 && all) throw new UsageError(`${command} takes IDs or --all, not both`)
  if (ids.length > 0 && filter)
    throw new UsageError(
      `${command} takes IDs or --${filter[0]}, not both: an ID names its dead letter already`,
    )
}

/** The oldest first. Throws where an id is not found, before any is given. */
async function* chosen(
  queue: OpenQueue,
  ids: readonly string[],
  options: Choice,
): AsyncGenerator<StoredDeadLetter> {
  if (ids.length === 0)
    return yield* deadLettersByAge(queue.redis, queue.keys, await filterOf(queue, options))
  const letters: StoredDeadLetter[] = []
  for (const id of ids) letters.push(await find(queue, id))
  yield* letters.toSorted((a, b) => compareIds(a.id, b.id))
}

/** Deletes dead letters for good. */
export async function drop(ids: readonly string[], options: Choice): Promise<number> {
  requireOneChoice('drop', ids, options)
  await using queue = await openQueue(options)
  const count = await dropDeadLetters(queue.redis, queue.keys, chosen(queue, ids, options))
  process.stdout.write(`${counted(count, 'dead letter')} dropped\n`)
  return 0
}

/** Throws `UsageError` for a sink or reason that cannot have dead letters. The rule may be of an earlier configuration. */
async function filterOf(queue: OpenQueue, { sink, rule, reason }: FilterOptions): Promise<DeadLetterFilter> {
  await requireSink(queue, sink)
  requireKnown('reason', reason, DEAD_REASONS)
  return { sink, rule, reason }
}

/** Accepts sinks of the configuration and of the ledger. */
async function requireSink({ redis, keys, configuredSinks }: OpenQueue, sink?: string): Promise<void> {
  if (sink === undefined) return
  const { sinks } = await readLedger(redis, keys, { verify: false })
  const known = [...new Set([...configuredSinks, ...Object.keys(sinks)])]
  requireKnown('sink', sink, known)
}

async function find({ redis, keys }: OpenQueue, id: string): Promise<StoredDeadLetter> {
  const letter = /^\d+-\d+$/.test(id) ? await findDeadLetter(redis, keys, id) : undefined
  if (!letter)
    throw new UsageError(
      `there is no dead letter ${id}; "${invocation(process.env)} dead-letters list" shows them`,
    )
  return letter
}

function compareIds(a: string, b: string): number {
  const [aMs = 0, aSequence = 0] = a.split('-').map(Number)
  const [bMs = 0, bSequence = 0] = b.split('-').map(Number)
  return aMs - bMs || aSequence - bSequence
}

function describeObject({ delivery, count, payload }: StoredDeadLetter): string {
  if (!delivery) return `${counted(payload.length, 'byte')} for ${counted(count, 'delivery', 'deliveries')}`
  const { event, notice } = delivery
  const named = objectTitle(event)
  return notice ? `${describeNotice(notice)}: ${named}` : named
}

function describeNotice(notice: Digest | Resolved): string {
  return notice.kind === 'digest' ? `digest of ${notice.count}` : `resolved (${notice.why})`
}

function summaryOf({ id, sink, rule, reason, detail, atMs, count, delivery }: StoredDeadLetter) {
  const about = { id, at: new Date(atMs).toISOString(), sink, rule, reason, detail }
  if (!delivery) return { ...about, deliveries: count }
  const { kind, namespace, name, id: eventId } = delivery.event
  return {
    ...about,
    kind,
    namespace,
    name,
    event: eventId,
    ...(delivery.notice && { notice: delivery.notice.kind }),
  }
}
