import type { Field } from '../../sink/index.ts'
import { changeAt } from './changes.ts'
import { kubectl, previousLogs, quoted, targetOf } from './command.ts'
import { conditionOf, flipOf } from './conditions.ts'
import { type Container, containersOf, containerTrouble, exitOf, lastWords } from './containers.ts'
import { field, isEnding, isSettled } from './meta.ts'
import { list, text } from './read.ts'
import { schedulingClause } from './scheduling.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, counted, listed } from './wording.ts'

export const pod: Teller = {
  trouble: (told) => failed(told) ?? worstOfContainers(told) ?? unschedulable(told),
  wanted(told, changes) {
    const node = text(changes.find(({ path }) => path === 'spec.nodeName')?.new)
    if (node === '') return undefined
    const waited = changeAt(told, 'status.conditions[type=PodScheduled].status')?.old === 'False'
    return {
      severity: waited ? 'resolved' : 'info',
      says: ` was scheduled on node ${node}${waited ? ' after all' : ''}`,
    }
  },
  state: (told) => readiness(told) ?? phase(told),
  created(told) {
    const images = imagesOf(told)
    return images === '' ? '' : `Runs ${images}.`
  },
  fields,
  command: logsOfCulprit,
}

function logsOfCulprit(told: Told): string {
  const ended = text(told.object, 'status', 'phase') === 'Failed'
  const culprit = containersOf(told).find((it) => {
    if (it.waiting === 'CrashLoopBackOff') return true
    const end = it.ended ?? (it.waiting === '' ? it.endedBefore : undefined)
    return end !== undefined && end.exitCode !== 0
  })
  if (!culprit) return ''
  const { name } = told.event
  return ended
    ? kubectl(targetOf(told), 'logs', quoted(name), '-c', quoted(culprit.name))
    : previousLogs(targetOf(told), culprit.name)
}

function worstOfContainers(told: Told): Draft | undefined {
  const troubles = containersOf(told).flatMap((it) => containerTrouble(told, it) ?? [])
  return troubles.find(({ severity }) => severity === 'error') ?? troubles[0]
}

/** Failed for good: evicted, or ended without a restart. */
function failed(told: Told): Draft | undefined {
  const { object } = told
  if (text(object, 'status', 'phase') !== 'Failed') return undefined
  const reason = text(object, 'status', 'reason')
  const quote = text(object, 'status', 'message')
  if (reason === 'Evicted')
    return { severity: 'warning', says: ` was evicted${because(evictedFor(quote))}`, quote }
  if (reason !== '') {
    const refused = /^(?:OutOf|UnexpectedAdmissionError|NodeAffinity)/.test(reason)
    const why = quote.replace(/^Pod was rejected: /, '') || reason
    const says = `${refused ? ' was refused by its node' : ' failed'}${because(why)}`
    return { severity: 'warning', says, quote, fields: [field('Reason', reason)] }
  }
  if (isEnding(told)) return undefined
  const culprit = containersOf(told).find((it) => it.ended && it.ended.exitCode !== 0)
  const retried = list(object, 'metadata', 'ownerReferences').some((it) => text(it, 'kind') === 'Job')
  const severity = retried ? 'warning' : 'error'
  if (!culprit?.ended) return { severity, says: ` failed${because(quote)}`, quote }
  const trouble = containerTrouble(told, culprit)
  const says = ` failed: container ${culprit.name} ended with ${exitOf(culprit.ended)}`
  if (culprit.ended.reason === 'OOMKilled' && trouble) return { ...trouble, severity: 'error' }
  return { severity, says, text: lastWords(culprit.ended), quote }
}

/** `the node was low on memory`. */
export function evictedFor(message: string): string {
  const [, resource] = /low on resource: ([\w-]+)/.exec(message) ?? []
  return resource ? `the node was low on ${resource}` : message
}

function unschedulable(told: Told): Draft | undefined {
  const scheduled = conditionOf(told, 'PodScheduled')
  if (scheduled?.status !== 'False' || scheduled.reason === 'SchedulingGated') return undefined
  const says = ` cannot be scheduled${because(schedulingClause(scheduled.message))}`
  return { severity: 'warning', says, quote: scheduled.message, fields: [field('Since', scheduled.since)] }
}

function readiness(told: Told): Draft | undefined {
  const ready = conditionOf(told, 'Ready')
  if (!ready || !flipOf(told, 'Ready')) return undefined
  const restarts = restartsOf(containersOf(told))
  if (ready.status === 'True') {
    const after = restarts > 0 ? ` after ${counted(restarts, 'restart')}` : ''
    const again = restarts > 0 || isSettled(told)
    return again
      ? { severity: 'resolved', says: ` is ready again${after}` }
      : { severity: 'info', says: ' is ready' }
  }
  if (text(told.object, 'status', 'phase') === 'Succeeded') return undefined
  if (text(told.object, 'status', 'phase') === 'Pending' || (!isSettled(told) && restarts === 0)) {
    return starting(told)
  }
  const unready = containersOf(told).filter((it) => !it.ready && !it.init)
  const which = unready.length > 0 ? `: ${listed(unready.map(({ name }) => `container ${name}`))}` : ''
  return {
    severity: 'warning',
    says: ` is not ready any more${which}`,
    quote: ready.message,
    fields: since(ready.since),
  }
}

function since(time: string): Field[] {
  return [field('Since', time)]
}

function phase(told: Told): Draft {
  const { object } = told
  const now = text(object, 'status', 'phase')
  const containers = containersOf(told).filter((it) => !it.init)
  if (now === 'Succeeded') return { severity: 'info', says: ' completed' }
  const ready = containers.filter((it) => it.ready).length
  if (now === 'Running' && containers.length > 0) {
    if (ready < containers.length && changeAt(told, 'status.phase')) return starting(told)
    return {
      severity: 'info',
      says: ` is running, ${ready} of ${counted(containers.length, 'container')} ready`,
    }
  }
  return starting(told)
}

function starting(told: Told): Draft {
  const node = text(told.object, 'spec', 'nodeName')
  const gated = conditionOf(told, 'PodScheduled')?.reason === 'SchedulingGated'
  if (gated) return { severity: 'info', says: ' is held back by a scheduling gate' }
  return { severity: 'info', says: node === '' ? ' waits for a node' : ` is starting on node ${node}` }
}

function restartsOf(containers: readonly Container[]): number {
  return containers.reduce((sum, it) => sum + it.restarts, 0)
}

function imagesOf({ object }: Told): string {
  return listed(
    list(object, 'spec', 'containers')
      .map((it) => text(it, 'image'))
      .filter((it) => it !== ''),
    3,
  )
}

function fields(told: Told): Field[] {
  const { object } = told
  const restarts = restartsOf(containersOf(told))
  return [
    field('Node', text(object, 'spec', 'nodeName')),
    field('Image', imagesOf(told)),
    field('Restarts', restarts > 0 ? restarts : ''),
  ]
}
