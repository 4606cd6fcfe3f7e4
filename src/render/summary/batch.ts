import type { FieldChange } from '../../model/event.ts'
import { counted } from '../../text/quantities.ts'
import { changeAt, changedBelow, conditionOf, imagesIn, imagesReplaced } from './changes.ts'
import { because, duration, kubectl, listed, ordinal, quoted, targetOf } from './phrasing.ts'
import {
  at,
  type Draft,
  field,
  list,
  number,
  type Summarizer,
  type SummaryInput,
  text,
  timeMs,
} from './summarizer.ts'
export const job: Summarizer = {
  trouble(input) {
    const failed = conditionOf(input, 'Failed')
    if (failed?.status !== 'True') return undefined
    const tries = number(input.object, 'status', 'failed') ?? 0
    const fields = [field('Reason', failed.reason), field('Since', failed.since)]
    const command = kubectl(targetOf(input), 'logs', quoted(`job/${input.event.name}`), '--all-containers')
    return {
      severity: 'error',
      phrase: ` failed${failure(input, failed.reason, failed.message, tries)}`,
      quote: failed.message,
      fields,
      command,
    }
  },
  wanted(_input, changes) {
    const suspend = changes.find(({ path }) => path === 'spec.suspend')
    if (!suspend) return undefined
    return { severity: 'info', phrase: suspend.new === true ? ' was suspended' : ' was resumed' }
  },
  state: jobState,
  created: ({ object }) => {
    const images = imagesIn(at(object, 'spec', 'template'))
    return images && `Runs ${images}.`
  },
  fields({ object }) {
    return [
      field('Image', imagesIn(at(object, 'spec', 'template'))),
      field('Failed tries', number(object, 'status', 'failed')),
      field('Started', text(object, 'status', 'startTime')),
    ]
  },
}

function failure(input: SummaryInput, reason: string, message: string, tries: number): string {
  if (reason === 'DeadlineExceeded') {
    const seconds = number(input.object, 'spec', 'activeDeadlineSeconds')
    return seconds ? `: it took longer than ${duration(seconds * 1_000)}` : ': it took too long'
  }
  if (reason === 'BackoffLimitExceeded' || message === '')
    return tries > 0 ? ` after ${counted(tries, 'try', 'tries')}` : ''
  return because(message)
}

function jobState(input: SummaryInput): Draft {
  const { object } = input
  const tries = number(object, 'status', 'failed') ?? 0
  const complete = conditionOf(input, 'Complete')
  if (complete?.status === 'True') {
    const start = timeMs(object, 'status', 'startTime')
    const end = timeMs(object, 'status', 'completionTime') ?? timeMs(complete.since)
    const took =
      start !== undefined && end !== undefined && end >= start ? ` in ${duration(end - start)}` : ''
    const after = tries > 0 ? `, after ${counted(tries, 'failed try', 'failed tries')}` : ''
    return { severity: tries > 0 ? 'resolved' : 'info', phrase: ` completed${took}${after}` }
  }
  if (conditionOf(input, 'Suspended')?.status === 'True') return { severity: 'info', phrase: ' is suspended' }
  const failed = changeAt(input, 'status.failed')
  if (failed && tries > (typeof failed.old === 'number' ? failed.old : 0)) {
    const limit = number(object, 'spec', 'backoffLimit')
    // With a limit for each index, the API server sets that of the Job to the largest integer.
    const isPerIndex = at(object, 'spec', 'backoffLimitPerIndex') !== undefined
    const left =
      limit === undefined || isPerIndex ? '' : `It is given up after ${counted(limit + 1, 'try', 'tries')}.`
    const command = kubectl(targetOf(input), 'logs', quoted(`job/${input.event.name}`), '--all-containers')
    return { severity: 'warning', phrase: `: its ${ordinal(tries)} try failed`, text: left, command }
  }
  const active = number(object, 'status', 'active') ?? 0
  const done = number(object, 'status', 'succeeded') ?? 0
  const of = number(object, 'spec', 'completions') ?? 1
  const parts = [
    of > 1 ? `${done} of ${of} done` : '',
    tries > 0 ? `${counted(tries, 'failed try', 'failed tries')}` : '',
  ].filter((it) => it !== '')
  const phrase =
    active > 0 ? ` is running${active > 1 ? ` in ${counted(active, 'pod')}` : ''}` : ' has no running pod'
  return { severity: 'info', phrase: [phrase, ...parts].join(', ') }
}

export const cronJob: Summarizer = {
  wanted: cronWanted,
  state: cronState,
  created: ({ object }) => {
    const schedule = text(object, 'spec', 'schedule')
    return schedule && `Runs at ${schedule}${zone(object)}.`
  },
  fields({ object }) {
    return [
      field('Schedule', `${text(object, 'spec', 'schedule')}${zone(object)}`),
      field('Last run', text(object, 'status', 'lastScheduleTime')),
      field('Last success', text(object, 'status', 'lastSuccessfulTime')),
      field('Image', imagesIn(at(object, 'spec', 'jobTemplate', 'spec', 'template'))),
    ]
  },
}

function zone(object: SummaryInput['object']): string {
  const name = text(object, 'spec', 'timeZone')
  return name && ` (${name})`
}

function cronWanted(input: SummaryInput, changes: readonly FieldChange[]): Draft | undefined {
  const images = imagesReplaced(input, 'spec.jobTemplate.spec.template')
  const parts = images.length > 0 ? [`will run ${listed(images, 2)}`] : []
  for (const { path, old, new: now } of changes) {
    if (path === 'spec.suspend')
      parts.push(now === true ? 'was suspended: no runs until it is resumed' : 'was resumed')
    if (path === 'spec.schedule') parts.push(`now runs at ${text(now)}, before: ${text(old)}`)
  }
  return parts.length > 0 ? { severity: 'info', phrase: ` ${parts.join(' and ')}` } : undefined
}

function cronState(input: SummaryInput): Draft | undefined {
  const { object } = input
  if (changeAt(input, 'status.lastSuccessfulTime'))
    return { severity: 'info', phrase: ' had a successful run' }
  if (changeAt(input, 'status.lastScheduleTime')) {
    const jobs = list(object, 'status', 'active')
    const name = text(jobs.at(-1), 'name')
    return { severity: 'info', phrase: ` started a run${name && `, Job ${name}`}` }
  }
  const running = list(object, 'status', 'active').length
  if (changedBelow(input, 'status.active') && running === 0)
    return { severity: 'info', phrase: ' ended a run' }
  if (at(object, 'spec', 'suspend') === true) return { severity: 'info', phrase: ' is suspended' }
  const phrase = running > 0 ? ` has ${counted(running, 'active run')}` : ' waits for its next run'
  return { severity: 'info', phrase }
}
