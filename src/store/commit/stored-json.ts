import type { Checkpoint, ClusterIdentity, Source } from '../../model/change.ts'
import { isMap } from '../../text/plain-data.ts'
import type { InstanceReport } from '../process-reports.ts'

/** A checkpoint cannot be read: its source waits until an operator repairs or deletes it. */
export class UnreadableCheckpointError extends Error {
  override name = 'UnreadableCheckpointError'

  constructor(key: string) {
    super(unreadableCheckpoint(key))
  }
}

/** Returns the message for a stored checkpoint that is not valid JSON of the expected form. */
export function unreadableCheckpoint(key: string): string {
  return (
    `the checkpoint ${key} cannot be read: it is damaged, or another program wrote it. Restore it, or delete it ` +
    `with redis-cli DEL "${key}": then the watch starts again from now`
  )
}

const PHASES: readonly unknown[] = [
  'seeding',
  'listing',
  'watching',
  'absent',
] satisfies Checkpoint['phase'][]

/** Returns a checkpoint as stored; undefined if the text is not a valid one. */
export function readCheckpoint(text: string | null): Checkpoint | undefined {
  const { phase, resourceVersion, sequence, holder, atMs, instance, ...more } = objectIn(text) ?? {}
  const isWhole =
    PHASES.includes(phase) &&
    typeof resourceVersion === 'string' &&
    Number.isSafeInteger(sequence) &&
    typeof holder === 'string' &&
    typeof atMs === 'number' &&
    (instance === undefined || typeof instance === 'string')
  if (!isWhole) return undefined
  return {
    ...more,
    phase,
    resourceVersion,
    sequence,
    holder,
    atMs,
    ...(instance && { instance }),
  } as Checkpoint
}

/** Returns a source as `describe` stored it; undefined if the text is not a valid one. */
export function readSource(key: string, text: string): Source | undefined {
  const source = objectIn(text)
  const resource = isMap(source?.['resource']) ? source['resource'] : {}
  const isWhole =
    typeof source?.['title'] === 'string' &&
    ['group', 'version', 'kind', 'plural'].every((field) => typeof resource[field] === 'string')
  return isWhole ? ({ ...source, key } as unknown as Source) : undefined
}

/** Returns the title of a source as stored; undefined if it has none. */
export function titleIn(text: string): string | undefined {
  const title = objectIn(text)?.['title']
  return typeof title === 'string' ? title : undefined
}

export function readIdentity(text: string | null): ClusterIdentity | undefined {
  const identity = objectIn(text)
  return typeof identity?.['uid'] === 'string' ? (identity as unknown as ClusterIdentity) : undefined
}

const ROLES: readonly unknown[] = ['all', 'watch', 'deliver'] satisfies InstanceReport['role'][]
const REPORT_TEXTS = ['id', 'version', 'host'] as const
const REPORT_NUMBERS = ['pid', 'startedMs', 'atMs'] as const
const REPORT_LISTS = ['watches', 'sinks'] as const

/** What a process stored of itself; undefined when it is no report. */
export function readReport(text: string | null): InstanceReport | undefined {
  const report = objectIn(text)
  if (!report || !ROLES.includes(report['role'])) return undefined
  const isWhole =
    REPORT_TEXTS.every((field) => typeof report[field] === 'string') &&
    REPORT_NUMBERS.every((field) => Number.isFinite(report[field])) &&
    REPORT_LISTS.every((field) => isListOfObjects(report[field])) &&
    (report['metadata'] === undefined || isListOfObjects(report['metadata']))
  return isWhole ? (report as unknown as InstanceReport) : undefined
}

/** Returns the rules that a process stored with its report; undefined if they are invalid. */
export function readRules(text: string | null | undefined): InstanceReport['rules'] {
  const rules = parsed(text ?? null)
  return isListOfObjects(rules) ? (rules as unknown as InstanceReport['rules']) : undefined
}

function objectIn(text: string | null): Record<string, unknown> | undefined {
  const value = parsed(text)
  return isMap(value) ? value : undefined
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isMap)
}
